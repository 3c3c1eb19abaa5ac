"""Files: JSON read in one way, an output put in its place at once, and what is not overwritten.

A command never overwrites its inputs, and each output needs its own path, whatever the paths are
called (:func:`check_written`). A file that is there already stays (:func:`check_free`), unless
the command knows that it wrote the file itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import Any

from q2_metric.errors import InputError, Q2Error, WriteError

STDIN = "-"
"""The path that stands for standard input."""

# --- reading ---------------------------------------------------------------------------


def read_json(path: str | Path, wrong: type[Q2Error] = InputError) -> Any:
    """What a JSON file holds; UTF-8, with or without a byte order mark.

    Raises:
        Q2Error: ``wrong``: there is no such file, it cannot be read, or it is not JSON.
    """
    text = read_text(path, wrong)
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        raise wrong(f"{path}: is not JSON ({json_problem(error)})") from error


def parse_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """What a JSON text holds; whole numbers are such that a float can hold them.

    Args:
        text: of others, it may be anything.
        pairs: makes a value of an object's names and values, ``dict`` by default.

    Raises:
        ValueError: it is not JSON, or has a greater number.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_int=_whole, object_pairs_hook=pairs)


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


_DIGITS = 300
"""Of a whole number; a float has less than 309."""


def read_text(path: str | Path, wrong: type[Q2Error] = InputError) -> str:
    """What a UTF-8 file holds.

    Raises:
        Q2Error: ``wrong``: there is no such file, or it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise wrong(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise wrong(f"{path}: cannot be read: it is not UTF-8") from None
    except OSError as error:
        raise wrong(f"{path}: cannot be read: {error.strerror or error}") from error


def json_problem(error: Exception) -> str:
    """What is wrong with a text that is no JSON, in a few words."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def fingerprint(path: str | Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits; of a folder, that of its files' names and
    contents.

    Raises:
        InputError: it cannot be read.
    """
    try:
        if os.path.isdir(path):
            parts = [f"{one.name} {fingerprint(one)}" for one in _inside(path)]
            return hashlib.sha256("\n".join(parts).encode()).hexdigest()
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def state(path: str | Path) -> tuple[int, ...]:
    """What changes when a file, or a file of a folder, is written or replaced: device, inode,
    size, time in ns.

    Raises:
        InputError: it is not there.
    """
    try:
        there = [Path(path), *(_inside(path) if os.path.isdir(path) else ())]
        found = [os.stat(one) for one in there]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    return tuple(number for one in found
                 for number in (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns))


def _inside(folder: str | Path) -> list[Path]:
    """The files of a folder and of the folders in it."""
    return sorted(one for one in Path(folder).rglob("*") if one.is_file())


def rereadable(path: str | Path) -> bool:
    """Whether reading a file or a folder now leaves it there for later: not of stdin and pipes."""
    return str(path) != STDIN and (os.path.isfile(path) or os.path.isdir(path))


# --- what may be written -----------------------------------------------------------------


def check_written(
    outputs: Iterable[str | Path], inputs: Iterable[str | Path | None] = ()
) -> None:
    """Refuses outputs that would overwrite an input, one another, or no plain file.

    Paths are compared as they resolve, and files that are there by device and inode, so
    that symbolic and hard links count as what they lead to. A folder that is read, as a model's,
    stands for all that is in it, now and later: its files tell which model it is.

    Args:
        outputs: files and folders that will be written.
        inputs: files and folders that are read; ``-`` and ``None`` are none.

    Raises:
        InputError: an output is read too, is written twice, or is there and no plain file
            or folder.
    """
    written = [Path(item) for item in outputs]
    read = [Path(item) for item in inputs if item is not None and str(item) != STDIN]
    for path in written:
        if _is_stream(path) or (
            _is_there(path) and not path.is_file() and not path.is_dir()
        ):
            raise InputError(f"{path}: cannot be written: it is no plain file")
        _followed(path)
        for other in read:
            if _same(path, other):
                raise InputError(f"{path}: is read, so it cannot be written; choose another name")
            if other.is_dir() and within(path, other):
                raise InputError(f"{path}: lies in {other}, which is read; choose another folder")
    for path, other in combinations(written, 2):
        if _same(path, other):
            raise InputError(f"{path}: is written twice ({other}); choose another name")


def _is_stream(path: Path) -> bool:
    """Whether a path names an open file of a process, as ``/dev/stdout`` does.

    Such a link looks like a file where output goes to one; it would itself be replaced.
    """
    with suppress(OSError, RuntimeError):
        for _ in range(_LINKS):
            if _PROCESSES in path.parent.resolve().parents:
                return True
            if not path.is_symlink():
                break
            path = path.parent / os.readlink(path)
    return False


_PROCESSES = Path("/proc")
_LINKS = 40
"""That are followed, as by the kernel."""


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # a name that is too long
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        if one.samefile(other):
            return True
    try:
        return one.resolve() == other.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links
        raise InputError(f"{one}: cannot be written: {error}") from error


def _followed(path: Path) -> Path:
    """The file behind a link; the path itself where it is none.

    Raises:
        InputError: the link leads to nothing.
    """
    if not path.is_symlink():
        return path
    if not _is_there(path):
        raise InputError(
            f"{path}: cannot be written: it is a link to {os.readlink(path)}, which does not exist"
        )
    return path.resolve()


def is_taken(path: str | Path) -> bool:
    """Whether a path is a file with contents; an empty one, as ``mktemp`` makes it, is free."""
    try:
        return os.path.isfile(path) and os.path.getsize(path) > 0
    except OSError:
        return False


def check_free(path: str | Path, what: str = "") -> None:
    """Refuses the path of a file that has contents already.

    Args:
        path: of the file.
        what: what the file is not, in words, where a file of that kind would be replaced.

    Raises:
        InputError: there is such a file.
    """
    if is_taken(path):
        raise InputError(f"{path}: exists already{what and f' and is not {what}'}; {CHOOSE}")


def has_mark(path: str | Path, mark: bytes) -> bool:
    """Whether a file begins with something that has our mark in it."""
    try:
        with open(path, "rb") as file:
            return mark in file.read(_HEAD)
    except OSError:
        return False


_HEAD = 4096
"""Bytes among which a mark is."""

CHOOSE = "choose another name, or replace it with --overwrite"
"""What to do about an output that stays as it is."""


def within(path: str | Path, folder: str | Path) -> bool:
    """Whether a path lies in a folder, links followed."""
    return Path(folder).resolve() in Path(path).resolve().parents


def check_place(path: str | Path, suffixes: Iterable[str] = ()) -> None:
    """Refuses a path where no file can be written, without touching it.

    Args:
        path: of the file.
        suffixes: of which it must have one, unless there are none.

    Raises:
        InputError: another suffix, no such folder, or a folder has this name.
    """
    path, known = Path(path), tuple(suffixes)
    if known and path.suffix.lower() not in known:
        raise InputError(
            f"{path}: cannot tell the format from the suffix {path.suffix.lower()!r}; "
            f"use one of {', '.join(known)}"
        )
    if not path.parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise InputError(f"{path}: cannot be written: it is a folder")


# --- writing ---------------------------------------------------------------------------


@contextmanager
def replacing(path: Path, folder: Path | None = None, *, private: bool = False) -> Iterator[Path]:
    """A name to write to; what was written is ``path`` afterwards, on disk, or not at all.

    The unfinished file is new and of this call alone: it has a random name, in the folder of
    ``path`` unless another one on its disk is given, and is made in a way that follows no link.
    Where ``path`` is a link, the file behind it is replaced. The mode of a file that was there
    is kept.

    Args:
        path: of the file.
        folder: for the unfinished file.
        private: whether a new file can be read by its owner alone, as texts of users should.

    Raises:
        InputError: ``path`` is a stream, or a link that leads to nothing.
        WriteError: it cannot be written; what ``path`` held stays.
    """
    if _is_stream(path):
        raise InputError(f"{path}: cannot be written: it is no plain file")
    place = _followed(path)
    if folder is None or place != path:  # a link may lead to another disk
        folder = place.parent
    unfinished = folder / f".q2-{secrets.token_hex(8)}.tmp"
    mode = PRIVATE if private else 0o666
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        with suppress(FileNotFoundError):
            os.chmod(unfinished, stat.S_IMODE(os.stat(place).st_mode))
        yield unfinished
        _to_disk(unfinished)
        os.replace(unfinished, place)
        if os.name != "nt":  # where folders cannot be opened
            _to_disk(place.parent)
    except Q2Error:
        raise
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


PRIVATE = 0o600
"""The mode of a new file that holds texts of users: its owner reads and writes it."""


def write_text(path: str | Path, text: str) -> None:
    """Puts a UTF-8 file in its place; lone surrogates become escapes.

    Raises:
        WriteError: it cannot be written; what was there stays.
    """
    path = Path(path)
    check_place(path)
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
