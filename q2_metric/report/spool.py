"""Rows of the output on disk, while the page waits for the last of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from q2_metric.rows.fields import OutputRow


class Spool:
    """Rows of the output, in order, in a file that is open for writing and reading."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, rows: Iterable[OutputRow]) -> None:
        """Appends rows as :func:`q2_metric.rows.fields.output_row` makes them, with their texts."""
        self._file.writelines(json.dumps(row) + "\n" for row in rows)

    def __iter__(self) -> Iterator[OutputRow]:
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)


@contextmanager
def spool() -> Iterator[Spool]:
    """A spool in a temporary file."""
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        yield Spool(file)
