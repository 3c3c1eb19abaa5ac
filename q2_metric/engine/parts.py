"""Keeps the finished blocks of a run on disk until the output is complete.

While ``scores.jsonl`` is not complete, the folder ``scores.jsonl.parts`` contains a file for each
finished block, called a part, and ``manifest.json``, which records the run's files and settings.
Each part is either complete or missing, so a run that was killed resumes after its last finished
block. If the files or settings have changed, the new run stops with an error. It also stops if the
manifest cannot be read, because then nobody knows which run wrote the parts.

A part begins with a seal: the SHA-256 of its lines, its file and block index, and its run. If a
part was changed, or was moved from another block or run, its block is scored again.

A folder of parts contains a mark file (:data:`MARK`), which the writing process locks. A folder
without the mark is never changed. When a run ends, its manifest is renamed first (:data:`SWEPT`),
and the mark is removed last. So a killed process leaves either a run that can resume, or files that
the next run removes.
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
from q2_metric.errors import InputError, WriteError, machine_fault, unreadable
from q2_metric.files import PRIVATE, read_json, replacing
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.writers import json_line

MARK = ".q2-metric-parts"
"""Name of a file that every folder of parts contains. The process that writes parts locks it."""

SWEPT = "swept.json"
"""Name of the manifest while the parts are being removed."""

_IN_FOLDER = 1000
"""Maximum number of parts in one folder, because listing a folder of a million files is slow."""

_FOLDER = re.compile(r"(\d+)-(\d+)")
_PART = re.compile(r"(\d+)\.jsonl")
_UNFINISHED = re.compile(r"\.q2-[0-9a-f]+\.tmp")

_TRIES = 100
"""Number of attempts to open a folder that other processes may be removing at the same time."""

_LOOKS = 4
"""An error is raised when the mark file was missing in this many checks of the folder."""


class PartFiles:
    """The finished blocks of a run: for each block, a jsonl file with its output rows (a part).

    Args:
        folder: the folder of the parts. It must exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = ""
        """Random name of the run. It is included in each part's seal, a SHA-256."""

    def path(self, file: int, block: int) -> Path:
        """The path of the part for a file index and a block index. It may not exist yet."""
        return self.folder / f"{file}-{block // _IN_FOLDER}" / f"{block % _IN_FOLDER}.jsonl"

    def done(self) -> set[tuple[int, int]]:
        """(file index, block index) of each part in the folder. Symbolic links are ignored."""
        blocks = set()
        for folder in self._folders():
            file, thousand = map(int, folder.name.split("-"))
            for path in folder.iterdir():
                part = _PART.fullmatch(path.name)
                if part and not path.is_symlink():  # q2 creates no links, so a link is foreign
                    blocks.add((file, thousand * _IN_FOLDER + int(part[1])))
        return blocks

    def _folders(self) -> list[Path]:
        """The subfolders that contain the parts."""
        try:
            places = [*self.folder.iterdir()]
        except FileNotFoundError:
            return []
        return [path for path in places
                if _FOLDER.fullmatch(path.name) and path.is_dir() and not path.is_symlink()]

    def read(self, file: int, block: int, rows: int) -> list[OutputRow] | None:
        """Reads the output rows of a part. ``None`` if the part is missing or damaged.

        Args:
            file: index of the input file.
            block: index of the block of rows in this file.
            rows: the number of rows that the part must have.
        """
        try:
            lines = (self._lines(file, block) or b"").splitlines()
            part_rows = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            return None
        return part_rows if len(part_rows) == rows else None

    def _lines(self, file: int, block: int) -> bytes | None:
        """The jsonl lines of a part. ``None`` if it is missing or its SHA-256 does not match."""
        path = self.path(file, block)
        if _is_link(path):
            return None
        try:
            seal, _, lines = path.read_bytes().partition(b"\n")
        except OSError as error:
            if machine_fault(error):
                raise unreadable(path, error) from error  # the part may be intact
            return None
        return lines if seal == self._seal(file, block, lines) else None

    def _seal(self, file: int, block: int, lines: bytes) -> bytes:
        place = f"{self.run} {file} {block}\n".encode()
        return hashlib.sha256(place + lines).hexdigest().encode()

    def write(self, file: int, block: int, lines: bytes) -> None:
        """Writes the part of a finished block.

        Args:
            file: index of the input file.
            block: index of the block of rows in this file.
            lines: the block's output rows, as :func:`encoded` returns them.

        Raises:
            WriteError: the part cannot be written, for example because the disk is full.
        """
        path = self.path(file, block)
        try:
            if _is_link(path):
                raise FileExistsError(errno.EEXIST, "the file or its folder is a link")
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise WriteError(f"{path}: cannot be written: {error.strerror}") from error
        with replacing(path) as unfinished, open(unfinished, "wb") as out:
            out.write(self._seal(file, block, lines) + b"\n" + lines)

    def damaged(self, file: int, block: int) -> InputError:
        """Removes a damaged part, so that the next run scores its block again. Returns an error
        that says so, which the caller raises."""
        path = self.path(file, block)
        if not _is_link(path):
            path.unlink(missing_ok=True)
        return InputError(f"{path}: was damaged; the same command scores its rows again")

    def copy(self, blocks: Iterable[tuple[int, int]], out: IO[bytes]) -> None:
        """Copies the lines of parts to a file, one part after the other.

        Args:
            blocks: (file index, block index) of each part.
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
        """The path of the manifest, which records the files and settings of the parts' run."""
        return self.folder / "manifest.json"

    @property
    def swept(self) -> bool:
        """Whether the parts are partly removed, perhaps by a process that was then killed."""
        return (self.folder / SWEPT).exists()

    def clear(self) -> None:
        """Removes all files that a run wrote to the folder. Other files stay."""
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
            with suppress(OSError):  # it contains foreign files
                folder.rmdir()
        (self.folder / SWEPT).unlink(missing_ok=True)

    def remove(self) -> None:
        """Removes the parts, and the folder too unless it contains files that q2 did not write."""
        with suppress(FileNotFoundError):
            self.clear()
            (self.folder / MARK).unlink(missing_ok=True)
            with suppress(OSError):  # it contains foreign files, or another process has begun
                self.folder.rmdir()


def _is_link(part: Path) -> bool:
    """Whether a part or its folder is a symbolic link. q2 creates no such links."""
    return part.is_symlink() or part.parent.is_symlink()


def encoded(rows: Sequence[OutputRow]) -> bytes:
    """Converts output rows to lines of jsonl, as bytes."""
    # Lone surrogates in a file name become JSON escapes.
    return "".join(json_line(row) for row in rows).encode("utf-8", errors="backslashreplace")


def parts_folder(out: str | Path) -> Path:
    """The path of the folder with an output's finished blocks, such as ``scores.jsonl.parts``."""
    return Path(f"{out}.parts")


@contextmanager
def open_parts(out: str | Path) -> Iterator[PartFiles]:
    """Opens the folder for the finished blocks of an output, and locks it for this process.

    Afterwards, the folder is removed if it contains no finished block.

    Raises:
        InputError: a folder exists at the path, and ``q2 score`` did not create it.
        WriteError: another process uses the folder, or the folder cannot be written.
    """
    folder = parts_folder(out)
    mark = _hold(folder, out)
    parts = PartFiles(folder)
    try:
        yield parts
    finally:
        try:
            # If another mark is at the path by now, the folder belongs to another process.
            if _is_at(mark, folder / MARK) and not parts.done():
                parts.remove()
        finally:
            os.close(mark)


def begin(
    parts: PartFiles, out: str | Path, now: Manifest, *, overwrite: bool = False
) -> str | None:
    """Prepares the folder of finished blocks. Blocks of an interrupted run are kept if this run can
    resume that run; otherwise they are removed.

    Args:
        parts: the finished blocks of the output.
        out: path of the output.
        now: the manifest of this run.
        overwrite: if true, start again, and replace the output whatever file it is.

    Returns:
        The SHA-256 of the existing output that may be replaced; ``None`` if there is no output.

    Raises:
        InputError: the interrupted run had other files or settings, read standard input, or is
            unknown; or the output was not written by the same command.
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
    """The manifest of the interrupted run that left ``done`` finished blocks.

    Raises:
        InputError: this run cannot resume it, because its files or settings were different, or its
            manifest cannot be read.
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
    """Whether ``q2 score`` may use a folder for parts: it contains the mark file, or it is empty.

    Raises:
        FileNotFoundError: the folder does not exist.
    """
    if folder.is_symlink() or not folder.is_dir():
        return False
    names = os.listdir(folder)
    return not names or MARK in names


def left_over(out: str | Path) -> bool:
    """Whether a folder that ``q2 score`` may use for the parts of this output exists."""
    try:
        return ours(parts_folder(out))
    except OSError:
        return False


def _hold(folder: Path, out: str | Path) -> int:
    """Creates the folder and its mark file, and locks the mark file.

    Returns:
        The file descriptor of the mark file. The lock ends when it is closed.

    Raises:
        InputError, WriteError: as for :func:`open_parts`.
    """
    looks = 0
    for _ in range(_TRIES):
        try:
            with suppress(FileExistsError):
                folder.mkdir(0o700)
            if not ours(folder):
                # Check again, because another process may be creating or removing the folder.
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
                continue  # another process has just removed the folder
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
    """Whether the file at ``path`` is the open file with this descriptor."""
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
