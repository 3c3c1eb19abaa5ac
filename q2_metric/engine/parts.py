"""Finished blocks of a run, kept until the output is complete, and what they belong to.

While ``scores.jsonl`` is not complete, ``scores.jsonl.parts`` holds a file for each finished
block and ``manifest.json``, which says from which files and settings they come. A file there
is complete or not there at all, so that a run that was killed at any moment goes on after
its last finished block; with another input or setting it is refused. At the end the
manifest lies beside the output as ``scores.jsonl.manifest.json``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from q2_metric.engine.manifest import (
    Manifest,
    beside,
    difference,
    parts_folder,
    read_manifest,
    write_manifest,
)
from q2_metric.errors import InputError
from q2_metric.files import fingerprint, replacing
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.writers import json_line

_IN_FOLDER = 1000
"""Parts of one folder: listing a folder of a million files is slow."""


class Parts:
    """Output rows by file and block, each block a jsonl file.

    Args:
        folder: that holds them; it must be there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, file: int, block: int) -> Path:
        """Of the part, which may not be there."""
        return self.folder / f"{file}-{block // _IN_FOLDER}" / f"{block % _IN_FOLDER}.jsonl"

    def done(self) -> set[tuple[int, int]]:
        """(file, block) of the parts that are there."""
        found = set()
        for path in self.folder.glob("*-*/*.jsonl"):
            file, thousand = path.parent.name.split("-")
            found.add((int(file), int(thousand) * _IN_FOLDER + int(path.stem)))
        return found

    def read(self, file: int, block: int, rows: int) -> list[OutputRow] | None:
        """The rows of a part; ``None`` where it is missing or damaged.

        Args:
            file, block: numbers from 0.
            rows: that the part must have.
        """
        try:
            with open(self.path(file, block), "rb") as lines:
                found = [json.loads(line) for line in lines]
        except (OSError, ValueError):
            return None
        return found if len(found) == rows else None

    def write(self, file: int, block: int, lines: bytes) -> None:
        """Keeps a finished block: its rows as :func:`encoded`.

        Raises:
            InputError: it cannot be written (the disk is full); what is there stays.
        """
        path = self.path(file, block)
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error
        with replacing(path) as unfinished, open(unfinished, "wb") as out:
            out.write(lines)

    def damaged(self, file: int, block: int) -> InputError:
        """Removes a part that cannot be read, so that its block is missing; the error to raise."""
        path = self.path(file, block)
        path.unlink(missing_ok=True)
        return InputError(f"{path}: was damaged; the same command scores its rows anew")

    def copy(self, blocks: Iterable[tuple[int, int]], out: IO[bytes]) -> None:
        """Writes the parts of these (file, block) one after the other."""
        for file, block in blocks:
            with open(self.path(file, block), "rb") as lines:
                shutil.copyfileobj(lines, out)

    def remove(self) -> None:
        """Removes the folder; a kill in between leaves none that looks unfinished."""
        old = self.folder.with_name(self.folder.name + ".old")
        shutil.rmtree(old, ignore_errors=True)
        os.replace(self.folder, old)
        shutil.rmtree(old, ignore_errors=True)


def encoded(rows: Sequence[OutputRow]) -> bytes:
    """Output rows as lines of jsonl."""
    # Lone surrogates of a file's name become JSON escapes.
    return "".join(json_line(row) for row in rows).encode("utf-8", errors="backslashreplace")


@contextmanager
def open_parts(out: str | Path, now: Manifest, *, restart: bool = False) -> Iterator[Parts]:
    """The parts of a run that writes ``out``: those of one that was broken off, or none.

    The folder stays unless :meth:`Parts.remove` is called or it holds no part.

    Args:
        out: the output.
        now: the run's :func:`manifest`.
        restart: begin anew, whatever is there.

    Raises:
        InputError: another process is at it, the run that was broken off had another input
            or setting or read standard input, or the folder cannot be written.
    """
    folder = parts_folder(out)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from error
    with _locked(folder, out):
        parts, record = Parts(folder), folder / "manifest.json"
        begun = read_manifest(record)
        if restart or begun is None or not parts.done():
            _empty(folder)
            write_manifest(record, now)
        else:
            other = difference(begun, now)
            again = "run it as before, or start over with --restart"
            if other is None and any(one["sha256"] is None for one in now["files"]):
                other = "it read standard input or a pipe, which cannot be read again"
                again = "start over with --restart"
            if other is not None:
                raise InputError(
                    f"{out}: a run that was broken off left {folder}, but {other}; {again}"
                )
        try:
            yield parts
        finally:
            if folder.exists() and not parts.done():  # nothing to go on from
                parts.remove()


@contextmanager
def _locked(folder: Path, out: str | Path) -> Iterator[None]:
    """Keeps other processes from the folder; a kill ends this too.

    Raises:
        InputError: another process is at it.
    """
    try:
        import fcntl
    except ImportError:  # on Windows
        yield
        return
    with open(folder / "lock", "a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{out}: another process is writing it") from None
        except OSError:
            pass  # a file system without locks
        yield


def finish(
    out: str | Path, parts: Parts, begun: Manifest, results: Sequence[Mapping[str, Any]]
) -> None:
    """Puts the manifest beside the complete output and removes the parts.

    Args:
        out: the output.
        parts: of the run.
        begun: the run's manifest.
        results: of each file, as ``q2 score --json`` gives them.

    Raises:
        InputError: it cannot be written; the parts stay.
    """
    files = [
        {**one, **{name: result[name] for name in ("rows", "failed", "columns")}}
        for one, result in zip(begun["files"], results, strict=True)
    ]
    whole = {
        **begun, "complete": True, "files": files, "systems": list(results),
        "output": fingerprint(out),
    }
    write_manifest(beside(out), whole)
    parts.remove()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()
