"""The number of processors that this process may use."""

import math
import os
from contextlib import suppress
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
"""Where a container sees its own limits."""


def processors() -> int:
    """At most the container's CPU limit (``docker run --cpus``, Kubernetes' ``limits.cpu``),
    rounded up. More threads would only wait for each other."""
    may = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    unified = CGROUP / "cpu.max"
    files = [unified] if unified.exists() else [
        CGROUP / "cpu" / f"cpu.cfs_{name}_us" for name in ("quota", "period")]
    with suppress(OSError, ValueError, ZeroDivisionError):  # "max", or there is no such file
        quota, period = " ".join(file.read_text(encoding="ascii") for file in files).split()
        if int(quota) > 0:
            return min(may, math.ceil(int(quota) / int(period)))
    return may
