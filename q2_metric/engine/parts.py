"""Keeps the finished blocks of a run until the output is complete, and records which run it is.

While ``scores.jsonl`` is not complete, the folder ``scores.jsonl.parts`` holds a file for each
finished block, called a part, and ``manifest.json``, which records the input files and settings.
Each part is either complete or missing, so a run that was killed resumes after its last finished
block. If the input or a setting has changed, the new run is refused. If the manifest cannot be
read, nobody knows which run wrote the parts: the parts are kept, and the new run is refused.

A part begins with a seal: the SHA-256 of its lines, its file and block number, and its run. A part
that was changed, or that was moved from another block or run, is scored again.

Our folders hold a mark file (:data:`MARK`). A folder without the mark is left alone. A working
process locks the mark. When a run ends, the manifest is renamed first (:data:`SWEPT`) and the mark
is removed last. A killed process therefore leaves either a run that can resume, or remains that the
next run removes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from q2_metric.engine.manifest import (
    Manifest,
    check_replaceable,
    contents,
    difference,
    once,
    write_manifest,
)
from q2_metric.errors import InputError, WriteError
from q2_metric.files import PRIVATE, read_json, replacing
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.writers import json_line

MARK = ".q2-metric-parts"
"""File that marks a folder of parts as ours; the process that writes there locks it."""

SWEPT = "swept.json"
"""Name of the manifest while the parts are removed."""

_IN_FOLDER = 1000
"""Maximum number of parts in one folder: listing a folder of a million files is slow."""

_FOLDER = re.compile(r"(\d+)-(\d+)")
_PART = re.compile(r"(\d+)\.jsonl")
_UNFINISHED = re.compile(r"\.q2-[0-9a-f]+\.tmp")

_TRIES = 100
"""Attempts to open a folder that other processes may be removing."""


_LOOKS = 4
"""How often a folder must look foreign before an error is raised."""


class PartFiles:
    """The parts of a run: jsonl files with output rows, one for each input file and block.

    Args:
        folder: the folder of the parts; it must exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = ""
        """Identifies the run in seals."""

    def path(self, file: int, block: int) -> Path:
        """The path of a part. The part may not exist."""
        return self.folder / f"{file}-{block // _IN_FOLDER}" / f"{block % _IN_FOLDER}.jsonl"

    def done(self) -> set[tuple[int, int]]:
        """(file, block) of each existing part. Links are ignored."""
        blocks = set()
        for folder in self._folders():
            file, thousand = map(int, folder.name.split("-"))
            for path in folder.iterdir():
                part = _PART.fullmatch(path.name)
                if part and not path.is_symlink():  # we create no links, so a link is not ours
                    blocks.add((file, thousand * _IN_FOLDER + int(part[1])))
        return blocks

    def _folders(self) -> list[Path]:
        """The folders that hold the parts."""
        try:
            places = [*self.folder.iterdir()]
        except FileNotFoundError:
            return []
        return [path for path in places
                if _FOLDER.fullmatch(path.name) and path.is_dir() and not path.is_symlink()]

    def read(self, file: int, block: int, rows: int) -> list[OutputRow] | None:
        """The rows of a part; ``None`` if the part is missing or damaged.

        Args:
            file, block: numbers from 0.
            rows: number of rows that the part must have.
        """
        try:
            lines = (self._lines(file, block) or b"").splitlines()
            part_rows = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            return None
        return part_rows if len(part_rows) == rows else None

    def _lines(self, file: int, block: int) -> bytes | None:
        """The lines of a part as they were written, without its seal."""
        path = self.path(file, block)
        if _is_link(path):
            return None
        try:
            seal, _, lines = path.read_bytes().partition(b"\n")
        except OSError:
            return None
        return lines if seal == self._seal(file, block, lines) else None

    def _seal(self, file: int, block: int, lines: bytes) -> bytes:
        place = f"{self.run} {file} {block}\n".encode()
        return hashlib.sha256(place + lines).hexdigest().encode()

    def write(self, file: int, block: int, lines: bytes) -> None:
        """Writes the part of a finished block.

        Args:
            file, block: numbers from 0.
            lines: the rows as :func:`encoded`.

        Raises:
            WriteError: the part cannot be written (the disk is full). Existing parts stay.
        """
        path = self.path(file, block)
        try:
            if _is_link(path):
                raise FileExistsError(errno.EEXIST, "the file or its folder is a link")
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise WriteError(f"{path}: cannot be written: {error.strerror}") from error
        with replacing(path, private=True) as unfinished, open(unfinished, "wb") as out:
            out.write(self._seal(file, block, lines) + b"\n" + lines)

    def damaged(self, file: int, block: int) -> InputError:
        """Removes an unreadable part, so that its block is scored again. Returns the error to
        raise."""
        path = self.path(file, block)
        if not _is_link(path):
            path.unlink(missing_ok=True)
        return InputError(f"{path}: was damaged; the same command scores its rows again")

    def copy(self, blocks: Iterable[tuple[int, int]], out: IO[bytes]) -> None:
        """Writes the lines of these parts to ``out``, one part after the other.

        Args:
            blocks: (file, block) of each part.
            out: a file that is open for writing.

        Raises:
            InputError: a part is damaged.
        """
        for file, block in blocks:
            lines = self._lines(file, block)
            if lines is None:
                raise self.damaged(file, block)
            out.write(lines)

    @property
    def manifest(self) -> Path:
        """The path of the manifest of the run that the parts belong to."""
        return self.folder / "manifest.json"

    @property
    def swept(self) -> bool:
        """Whether the removal of the parts has begun, perhaps in a process that was then killed."""
        return (self.folder / SWEPT).exists()

    def clear(self) -> None:
        """Removes the files of a run. Foreign files stay."""
        with suppress(FileNotFoundError):
            os.replace(self.manifest, self.folder / SWEPT)
        for file, block in self.done():
            self.path(file, block).unlink(missing_ok=True)
        folders = self._folders()
        for place in (self.folder, *folders):
            for path in place.iterdir():
                if _UNFINISHED.fullmatch(path.name):
                    path.unlink(missing_ok=True)
        for folder in folders:
            with suppress(OSError):  # it holds foreign files
                folder.rmdir()
        (self.folder / SWEPT).unlink(missing_ok=True)

    def remove(self) -> None:
        """Removes the parts. Removes the folder too, unless it holds foreign files."""
        with suppress(FileNotFoundError):
            self.clear()
            (self.folder / MARK).unlink(missing_ok=True)
            with suppress(OSError):  # it holds foreign files, or another process starts here
                self.folder.rmdir()


def _is_link(part: Path) -> bool:
    """Whether a part or its folder is a link. Links are never ours."""
    return part.is_symlink() or part.parent.is_symlink()


def encoded(rows: Sequence[OutputRow]) -> bytes:
    """Output rows as lines of jsonl."""
    # Lone surrogates in a file name become JSON escapes.
    return "".join(json_line(row) for row in rows).encode("utf-8", errors="backslashreplace")


def parts_folder(out: str | Path) -> Path:
    """The folder that keeps the finished blocks of an incomplete output: ``scores.jsonl.parts``."""
    return Path(f"{out}.parts")


@contextmanager
def open_parts(out: str | Path) -> Iterator[PartFiles]:
    """Opens the folder of an output's parts and locks it for this process.

    A folder that holds a part stays, unless :meth:`PartFiles.remove` is called.

    Raises:
        InputError: the folder exists and is not ours.
        WriteError: another process uses the folder, or the folder cannot be written.
    """
    folder = parts_folder(out)
    mark = _hold(folder, out)
    parts = PartFiles(folder)
    try:
        yield parts
    finally:
        try:
            # If our folder was removed, a folder at this path belongs to another process.
            if _is_at(mark, folder / MARK) and not parts.done():  # no part: nothing to resume
                parts.remove()
        finally:
            os.close(mark)


def begin(
    parts: PartFiles, out: str | Path, now: Manifest, *, overwrite: bool = False
) -> str | None:
    """Prepares the parts for this run. The parts of an interrupted run are kept if it can resume.

    Args:
        parts: parts of the output.
        out: the output.
        now: the run's :func:`~q2_metric.engine.manifest.manifest`.
        overwrite: start again and replace the output, whatever file it is.

    Returns:
        The SHA-256 of the existing output that may be replaced, if there is one.

    Raises:
        InputError: the interrupted run had another input or setting, read standard input, or is
            unknown; the output was not written by the same command; or the folder cannot be
            written.
    """
    begun = None
    if not overwrite and not parts.swept and (done := len(parts.done())):
        begun = _begun(parts, out, now, done)
    held = contents(out)
    if not overwrite and (held is None or begun is None or held != begun.get("replaces")):
        check_replaceable(out, now)
    if begun is None:
        parts.clear()
        begun = {**now, "run": secrets.token_hex(8), "replaces": held}
        write_manifest(parts.manifest, begun)
    parts.run = str(begun.get("run"))
    return held


def _begun(parts: PartFiles, out: str | Path, now: Manifest, done: int) -> Manifest:
    """The manifest of an interrupted run that this run may resume.

    Raises:
        InputError: the interrupted run had another input or setting, or its manifest cannot be
            read.
    """
    try:
        begun = read_json(parts.manifest)
    except InputError as error:
        raise InputError(
            f"{error}; without it, the origin of the {done} finished blocks in {parts.folder} is "
            "unknown, so they are kept; restore the file, move the folder, or start over with "
            "--overwrite"
        ) from error
    other = difference(begun, now)
    again = "run it as before, or start over with --overwrite"
    if other is None and once(now):
        other = "it read standard input or a pipe, which cannot be read again"
        again = "start over with --overwrite"
    if other is not None:
        raise InputError(
            f"{out}: an interrupted run left {parts.folder}, but {other}; {again}"
        )
    manifest: Manifest = begun
    return manifest


def ours(folder: Path) -> bool:
    """Whether a folder of parts is ours: it contains the mark, or it is empty.

    Raises:
        FileNotFoundError: the folder does not exist.
    """
    if folder.is_symlink() or not folder.is_dir():
        return False
    names = os.listdir(folder)
    return not names or MARK in names


def left_over(out: str | Path) -> bool:
    """Whether a folder of parts that is ours lies beside an output."""
    try:
        return ours(parts_folder(out))
    except OSError:
        return False


def _hold(folder: Path, out: str | Path) -> int:
    """Creates the folder with its mark, and locks the mark.

    Returns:
        The open mark. Closing it ends the lock; so does the end of the process.

    Raises:
        InputError: as :func:`open_parts`.
    """
    looks = 0
    for _ in range(_TRIES):
        try:
            with suppress(FileExistsError):
                folder.mkdir(0o700)
            if not ours(folder):
                # Check again: another process may be creating or removing the folder.
                looks += 1
                if looks < _LOOKS:
                    time.sleep(0.01)
                    continue
                raise InputError(
                    f"{folder}: this folder was not made by q2 score, so it is not changed; move "
                    "it, or choose another --out"
                )
            mark = os.open(folder / MARK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
        except FileNotFoundError:
            if folder.parent.is_dir():
                continue  # another process has just removed it
            raise InputError(f"{folder}: cannot be written: there is no such folder") from None
        except OSError as error:
            raise WriteError(f"{folder}: cannot be written: {error.strerror or error}") from error
        try:
            _lock(mark, out)
            if _is_at(mark, folder / MARK):
                return mark
        except BaseException:
            os.close(mark)
            raise
        os.close(mark)
    raise WriteError(f"{out}: other processes are writing it")


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the file at this path is still the file that is open."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
"""Error numbers of file systems without locks."""


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
            raise WriteError(
                f"{out}: cannot be locked: {error.strerror or error}"
            ) from error
