"""Stores the rows of a report page in a temporary file until all rows are known."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from q2_metric.errors import WriteError
from q2_metric.rows.fields import OutputRow


class Spool:
    """Output rows (:func:`q2_metric.rows.fields.output_row`) with texts. The file is removed when
    the context ends. Raises WriteError, also at later writes, if the folder for temporary files is
    full or cannot be written."""

    def __init__(self) -> None:
        with _errors():
            self._file = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError):  # an error while writing was already reported
            self._file.close()

    def write(self, rows: Iterable[OutputRow]) -> None:
        with _errors():
            self._file.writelines(json.dumps(row) + "\n" for row in rows)

    def __iter__(self) -> Iterator[OutputRow]:
        with _errors():
            self._file.seek(0)  # flushes the buffer
        for line in self._file:
            yield json.loads(line)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError("the folder for temporary files cannot be written: "
                         f"{error.strerror or error}; set TMPDIR to a writable folder") from error
