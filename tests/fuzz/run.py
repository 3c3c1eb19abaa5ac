"""Fuzzes readers, calibrations, unfinished outputs and the cache, each for its share of the time.

    python tests/fuzz/run.py [--seconds 600] [--seed 0]

Prints how many files each was given; ends at the first exception that is none of ours, with
the bytes that made it, as small as they could be made.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from targets import TARGETS, damaged  # noqa: E402


def fuzz(name: str, seconds: float, first: int, folder: Path) -> int:
    """The number of files that the target was given."""
    target, whole = TARGETS[name]
    until, files, number = time.monotonic() + seconds, 0, first

    def some(data: bytes) -> None:
        nonlocal files
        files += 1
        target(data, folder)

    how = settings(max_examples=200, deadline=None, database=None, print_blob=True,
                   phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck))
    while time.monotonic() < until:
        seed(number)(how(given(damaged(whole))(some)))()
        number += 1
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    # In memory where there is such a folder: unfinished outputs and the cache wait for the disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="q2-fuzz-", dir=memory) as folder:
        for name in TARGETS:
            share = arguments.seconds / len(TARGETS)
            print(name, fuzz(name, share, arguments.seed, Path(folder)), "files", flush=True)


if __name__ == "__main__":
    main()
