"""Stores the rows of a report page in a temporary file until all rows are known."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from q2_metric.errors import WriteError
from q2_metric.rows.fields import OutputRow


class Spool:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, rows: Iterable[OutputRow]) -> None:
        """Appends output rows (:func:`q2_metric.rows.fields.output_row`), which contain texts."""
        with _errors():
            self._file.writelines(json.dumps(row) + "\n" for row in rows)

    def __iter__(self) -> Iterator[OutputRow]:
        with _errors():
            self._file.seek(0)  # flushes the buffer
        for line in self._file:
            yield json.loads(line)


@contextmanager
def spool() -> Iterator[Spool]:
    """Opens a spool, which is removed when the context ends. Raises WriteError, also at later
    writes, if the folder for temporary files is full or cannot be written."""
    with ExitStack() as stack:
        with _errors():
            file = stack.enter_context(tempfile.TemporaryFile("w+", encoding="ascii"))
        stack.callback(_discard, file)
        yield Spool(file)


def _discard(file: IO[str]) -> None:
    """Ignores errors: one while writing was already reported."""
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
