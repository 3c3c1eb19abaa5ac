"""Reads JSON and text files, writes outputs atomically, and protects existing files.

A command never overwrites its inputs. It replaces an existing file only with ``--overwrite``, or if
it recognises the file as its own output.
"""

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

from q2_metric.errors import InputError, Q2Error, WriteError, system_problem, unreadable

STDIN = "-"
"""Stands for standard input on the command line."""


def read_json(path: str | Path, wrong: type[Q2Error] = InputError) -> Any:
    """The value of a JSON file in UTF-8, with or without a byte order mark. Raises ``wrong`` if the
    file is missing, cannot be read, or is not JSON."""
    text = read_text(path, wrong)
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        raise wrong(f"{path}: is not JSON ({json_problem(error)})") from error


def parse_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Parses a JSON text; ``pairs`` builds the value of an object. Raises ValueError also if no
    float holds a whole number, and RecursionError if the text is nested too deeply."""
    return json.loads(text, parse_int=_whole, object_pairs_hook=pairs)


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


_DIGITS = 300
"""The largest float has 309 digits."""


def read_text(path: str | Path, wrong: type[Q2Error] = InputError) -> str:
    """The text of a UTF-8 file, without a byte order mark. Raises ``wrong`` if the file is missing
    or cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise wrong(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise wrong(f"{path}: cannot be read: it is not UTF-8") from None
    except OSError as error:
        raise unreadable(path, error, wrong) from error


def json_problem(error: Exception) -> str:
    """Why a text is not JSON; ``error`` is what :func:`parse_json` raised."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at character {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def fingerprint(path: str | Path) -> str:
    """The SHA-256 digest of a file, or of the names and contents of all files in a folder. Raises
    InputError if the path cannot be read."""
    try:
        if os.path.isdir(path):
            parts = [f"{file.name} {fingerprint(file)}" for file in _inside(path)]
            return hashlib.sha256("\n".join(parts).encode()).hexdigest()
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def state(path: str | Path) -> tuple[int, ...]:
    """Numbers that change when a file, or any file in a folder, is written or replaced. Raises
    InputError if the path does not exist."""
    try:
        there = [Path(path), *(_inside(path) if os.path.isdir(path) else ())]
        stats = [os.stat(file) for file in there]
    except OSError as error:
        raise unreadable(path, error) from error
    return tuple(number for stat in stats
                 for number in (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))


def _inside(folder: str | Path) -> list[Path]:
    return sorted(file for file in Path(folder).rglob("*") if file.is_file())


def rereadable(path: str | Path) -> bool:
    """Whether a path can be read more than once, unlike standard input and pipes."""
    return str(path) != STDIN and (os.path.isfile(path) or os.path.isdir(path))


def check_written(outputs: Iterable[str | Path], inputs: Iterable[str | Path | None] = ()) -> None:
    """Checks that no output overwrites an input or another output. Links count as their targets.

    Outputs must also be outside of input folders: a new file changes the fingerprint of a model.
    InputError: an output is also an input, is written twice, or exists and is neither a regular
    file nor a folder."""
    written = [Path(item) for item in outputs]
    read = [Path(item) for item in inputs if item is not None and str(item) != STDIN]
    for path in written:
        _target(path)
        for other in read:
            if _same(path, other):
                raise InputError(f"{path}: is an input, so it cannot be written; choose another "
                                 "name")
            if other.is_dir() and other.resolve() in path.resolve().parents:
                raise InputError(f"{path}: lies in the input folder {other}; choose another folder")
    for path, other in combinations(written, 2):
        if _same(path, other):
            raise InputError(f"{path}: two outputs have this path ({other}); choose another name")


def _is_stream(path: Path) -> bool:
    """Whether a path leads to an open file of a process, as ``/dev/stdout`` does. A replacement of
    the file would not reach the one that the shell has open."""
    with suppress(OSError, RuntimeError):  # links may form a loop
        return Path("/proc") in path.parent.resolve().parents or (
            path.is_symlink() and _is_stream(path.parent / os.readlink(path)))
    return False


def _target(path: Path) -> Path:
    """The path, or the target of a link. InputError: no regular file can be written there."""
    try:
        special = _is_stream(path) or stat.S_IFMT(os.stat(path).st_mode) not in _REPLACED
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise InputError(f"{path}: cannot be written: it is a link to {os.readlink(path)}, "
                             "which does not exist") from None
        return path
    except OSError as error:  # the name is too long, or links form a loop
        raise InputError(f"{path}: cannot be written: {system_problem(error)}") from error
    if special:
        raise InputError(f"{path}: cannot be written: it is not a regular file")
    return path.resolve()


_REPLACED = (stat.S_IFREG, stat.S_IFDIR)


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(other, one)
    return os.path.realpath(one) == os.path.realpath(other)


def is_taken(path: str | Path) -> bool:
    """Whether a non-empty file exists at a path. (``mktemp`` creates empty ones.)"""
    with suppress(OSError):
        return os.path.isfile(path) and os.path.getsize(path) > 0
    return False


def check_free(path: str | Path, what: str = "") -> None:
    """Raises InputError if a non-empty file exists at a path. ``what`` describes the files that the
    command does replace ("a report page of q2"); the caller has checked that it is not one."""
    if is_taken(path):
        raise InputError(f"{path}: already exists{what and f' and is not {what}'}; {CHOOSE}")


def has_mark(path: str | Path, mark: bytes) -> bool:
    """Whether a file begins with the mark by which our commands recognise their outputs."""
    with suppress(OSError), open(path, "rb") as file:
        return mark in file.read(4096)
    return False


CHOOSE = "choose another name, or replace it with --overwrite"


def check_place(path: str | Path, suffixes: Iterable[str] = ()) -> None:
    """Checks that a file can be written to a path. Empty ``suffixes`` allow any suffix. Raises
    InputError if the suffix is not allowed, the folder does not exist, or the path is a folder."""
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


@contextmanager
def replacing(path: Path, *, alone: bool = False, public: bool = False) -> Iterator[Path]:
    """Yields a temporary path to write to, and moves the file to ``path`` when the block ends.

    If the block fails, the file at ``path`` is unchanged. If ``path`` is a link, its target is
    replaced. An existing file keeps its permissions; a new one is private unless ``public``,
    because it may contain users' texts. With ``alone``, no other process writes to ``path`` now:
    the temporary file always has the same name, and one that a killed process left is removed.

    Raises:
        InputError: ``path`` is a device, an open stream such as ``/dev/stdout``, or a link to
            nothing.
        WriteError: the file cannot be written.
    """
    place = _target(path)
    always = hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]
    unfinished = place.parent / f".q2-{always if alone else secrets.token_hex(8)}.tmp"
    mode = 0o666 if public else PRIVATE
    try:
        if alone:
            unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        try:
            with suppress(FileNotFoundError):
                os.chmod(unfinished, stat.S_IMODE(os.stat(place).st_mode))
            yield unfinished
            _to_disk(unfinished)
            os.replace(unfinished, place)
            if os.name != "nt":  # Windows cannot open folders
                _to_disk(place.parent)
        finally:
            with suppress(OSError):
                unfinished.unlink()
    except Q2Error:
        raise
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror or error}") from error


PRIVATE = 0o600


def opener(path: str, flags: int) -> int:
    """The argument ``opener`` of :func:`open`, so that only its owner may read a new file."""
    return os.open(path, flags, PRIVATE)


def write_text(path: str | Path, text: str) -> None:
    """Writes a UTF-8 file without users' texts, atomically. Lone surrogates become backslash
    escapes. Raises WriteError if the file cannot be written; an existing file is then unchanged."""
    path = Path(path)
    check_place(path)
    with replacing(path, public=True) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _to_disk(path: Path) -> None:
    # Windows writes only what is open for writing to the disk.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
