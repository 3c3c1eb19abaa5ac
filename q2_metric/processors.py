"""The number of processors that this process may use."""

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
"""Where a container sees its own limits."""


def processors() -> int:
    """At most the container's CPU limit (``docker run --cpus``, Kubernetes' ``limits.cpu``),
    rounded up. More threads would only wait for each other."""
    may = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota()
    return may if quota is None else min(may, math.ceil(quota))


def _quota() -> float | None:
    """The container's CPU limit, in processors; ``None`` without a limit."""
    unified = CGROUP / "cpu.max"
    files = [unified] if unified.exists() else [
        CGROUP / "cpu" / f"cpu.cfs_{name}_us" for name in ("quota", "period")]
    try:
        quota, period = " ".join(file.read_text(encoding="ascii") for file in files).split()
        return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):  # "max", or there is no such file
        return None
