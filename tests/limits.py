"""A disk that is really full: a small file system of its own, in memory."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A disk with room for so many bytes (in pages of 4096), in a new folder.

    Skips the test where this user may not mount one.
    """
    if shutil.which("mount") is None:
        pytest.skip("a full disk needs Linux's mount")
    disk = folder / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "q2", str(disk)],
                          capture_output=True, text=True, check=False)
    if made.returncode:
        disk.rmdir()
        pytest.skip(f"a full disk needs a user who may mount one: {made.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
        disk.rmdir()


def fill(disk: Path) -> Path:
    """Leaves no room on a small disk; to remove the file makes room again."""
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


def enlarge(disk: Path, size: int) -> None:
    """Gives a small disk so many bytes."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
