"""Keeps the rows of a page on disk until the last one has arrived."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from q2_metric.errors import WriteError
from q2_metric.rows.fields import OutputRow


class Spool:
    """The rows of an output, in order, in a file that is open for writing and reading."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, rows: Iterable[OutputRow]) -> None:
        """Appends rows that :func:`q2_metric.rows.fields.output_row` returned, with their texts."""
        with _errors():
            self._file.writelines(json.dumps(row) + "\n" for row in rows)

    def __iter__(self) -> Iterator[OutputRow]:
        with _errors():
            self._file.seek(0)  # flushes the buffer
        for line in self._file:
            yield json.loads(line)


@contextmanager
def spool() -> Iterator[Spool]:
    """Yields a spool in a temporary file, which is removed at the end.

    Raises:
        WriteError: (also on writing) the folder for temporary files is full or cannot be
            written.
    """
    with ExitStack() as stack:
        with _errors():
            file = stack.enter_context(tempfile.TemporaryFile("w+", encoding="ascii"))
        stack.callback(_discard, file)
        yield Spool(file)


def _discard(file: IO[str]) -> None:
    """Closes the file and ignores errors, because the write error was already reported."""
    with suppress(OSError):
        file.close()


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"the folder for temporary files cannot be written: {error.strerror or error}; "
            "set TMPDIR to a writable folder"
        ) from error
