"""Keeps the finished blocks of a run in ``scores.jsonl.unfinished`` until its output is complete.

The first line records the run's files and settings. Before each block stands a line with the number
of bytes and a check sum, the SHA-256 of the check sum before and the block: if a block is torn,
edited or moved, it and all that follow are scored again. The file is locked, so that no two runs
write the same output."""

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from q2_metric.engine.manifest import Manifest, check_replaceable, contents, difference, once
from q2_metric.errors import InputError, WriteError, unreadable
from q2_metric.files import PRIVATE

_FIRST = b"unfinished output of q2 score "
"""Begins the first line. A JSON object with the run's files and settings follows."""

_BEFORE_BLOCK = re.compile(rb"([0-9a-f]{64}) (\d{1,15})\n")
_TRIES = 100
"""Attempts to lock a file that other processes may be removing at the same time."""


def unfinished_path(out: str | Path) -> Path:
    return Path(f"{out}.unfinished")


class Unfinished:
    """The finished blocks of a run, in a file that this process has locked.
    Their number, ``done``, is known after :meth:`begin`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor
        self.done, self.removed = 0, False
        self._last = ""
        """Check sum of the last block or, without a block, of the first line."""

    @property
    def holds_blocks(self) -> bool:
        with self._open() as file:
            file.readline()
            return bool(file.read(1))

    def begin(self, out: str | Path, now: Manifest, *, overwrite: bool = False) -> str | None:
        """Prepares the file for this run, and keeps the intact blocks of an interrupted run.

        ``overwrite`` starts again, and replaces the output whatever file it is. Returns the SHA-256
        of the existing output that may be replaced; ``None`` if there is none. InputError: the
        interrupted run had other files or settings, read standard input, or is unknown; or the
        output was not written by the same command."""
        begun = self._begun(out, now) if not overwrite and self.holds_blocks else None
        held = contents(out)
        if not overwrite and (held is None or begun is None or held != begun.get("replaces")):
            check_replaceable(out, now)
        size = 0
        if begun is not None:
            for check_sum, _, end in self._walk():
                self._last, size, self.done = check_sum, end, self.done + 1
        os.ftruncate(self._descriptor, size)
        if not self.done:
            first = _FIRST + json.dumps({**now, "replaces": held}).encode() + b"\n"
            self._last = _check_sum("", first)
            self._write(first)
        return held

    def _begun(self, out: str | Path, now: Manifest) -> Manifest:
        with self._open() as file:
            first = file.readline()
        try:
            begun: Manifest = json.loads(first.removeprefix(_FIRST))
        except (ValueError, RecursionError):
            begun = {}
        other, again = difference(begun, now), "run it as before, or start over with --overwrite"
        if other is None and once(now):
            other = "it read standard input or a pipe, which cannot be read again"
            again = "start over with --overwrite"
        if other is not None:
            raise InputError(f"{out}: an interrupted run left {self.path}, but {other}; {again}")
        return begun

    def blocks(self) -> Iterator[bytes]:
        """Yields the lines of jsonl of each block. InputError: one was damaged meanwhile."""
        read = 0
        for _, lines, _ in self._walk():
            yield lines
            read += 1
        if read < self.done:
            raise InputError(f"{self.path}: was damaged; the same command scores its rows again")

    def _walk(self) -> Iterator[tuple[str, bytes, int]]:
        """Yields (check sum, lines, position of the end) of each block before a damaged one."""
        with self._open() as file:
            size = os.fstat(file.fileno()).st_size
            last = _check_sum("", file.readline())
            while before := _BEFORE_BLOCK.fullmatch(file.readline()):
                lines = file.read(min(int(before[2]), size))
                last = _check_sum(last, lines)
                if last.encode() != before[1]:
                    return
                yield last, lines, file.tell()

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        try:
            with open(self.path, "rb") as file:
                yield file
        except OSError as error:
            raise unreadable(self.path, error) from error

    def append(self, lines: bytes) -> None:
        """Writes the lines of jsonl of a block. WriteError: for example, the disk is full."""
        check_sum = _check_sum(self._last, lines)
        self._write(f"{check_sum} {len(lines)}\n".encode() + lines)
        self._last, self.done = check_sum, self.done + 1

    def _write(self, data: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._descriptor, left):]
        except OSError as error:
            os.ftruncate(self._descriptor, size)
            raise WriteError(f"{self.path}: cannot be written: {error.strerror}") from error

    def remove(self) -> None:
        """Removes the file, unless another file is at its path by now."""
        if _is_at(self._descriptor, self.path):
            self.removed = True
            if not _WINDOWS:  # which removes no open file
                self.path.unlink()


@contextmanager
def open_unfinished(out: str | Path) -> Iterator[Unfinished]:
    """Opens and locks the file for an output's blocks. If it has none at the end, it is removed.
    InputError: the existing file was not written by ``q2 score``. WriteError: another process uses
    the file, or it cannot be written."""
    path = unfinished_path(out)
    descriptor = _hold(path, out)
    unfinished = Unfinished(path, descriptor)
    try:
        yield unfinished
    finally:
        try:
            if _is_at(descriptor, path) and not unfinished.holds_blocks:
                unfinished.remove()
        finally:
            os.close(descriptor)
            if unfinished.removed and _WINDOWS:
                path.unlink(missing_ok=True)


def _check_sum(last: str, data: bytes) -> str:
    return hashlib.sha256(last.encode() + data).hexdigest()


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(
    os, "O_BINARY", 0)
"""Windows has no O_NOFOLLOW, and would change line ends without O_BINARY."""
_WINDOWS = os.name == "nt"


def _hold(path: Path, out: str | Path) -> int:
    """Opens or creates the file, and locks it until the returned descriptor is closed."""
    for _ in range(_TRIES):
        try:
            descriptor = os.open(path, _FLAGS, PRIVATE)
        except OSError as error:
            raise WriteError(f"{path}: cannot be written: {error.strerror or error}") from error
        with ExitStack() as closing:
            closing.callback(os.close, descriptor)
            _lock(descriptor, out)
            if _is_at(descriptor, path):  # otherwise, another process has just removed the file
                if not _FIRST.startswith(os.read(descriptor, len(_FIRST))):
                    raise InputError(f"{path}: was not written by q2 score, so it is not changed; "
                                     "move it, or choose another --out")
                closing.pop_all()  # it stays open
                return descriptor
    raise WriteError(f"{out}: other processes are writing it")


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
"""Error numbers that ``flock`` raises on file systems without locks."""


def _lock(descriptor: int, out: str | Path) -> None:
    try:
        import fcntl
    except ImportError:  # on Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise WriteError(f"{out}: another process is writing it") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise WriteError(f"{out}: cannot be locked: {error.strerror or error}") from error
