"""Fuzzes the readers: any bytes are rows or an error of ours, never another exception.

    pip install atheris
    python fuzz/readers.py [--suffix jsonl|csv|tsv|parquet] [CORPUS_FOLDER] [-max_total_time=120]

Options with a single dash are libFuzzer's. What it finds is written to ``crash-*``; put it
into ``tests/cli/test_hostile.py`` when it is mended.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["q2_metric"]):
    from q2_metric.errors import InputError
    from q2_metric.rows.fields import output_row
    from q2_metric.rows.formats import read_fields
    from q2_metric.rows.read import BadRow, read_rows

FOLDER = Path(tempfile.mkdtemp(prefix="q2-fuzz-", dir="/dev/shm" if os.name == "posix" else None))
SUFFIX = "jsonl"


def test_one(data: bytes) -> None:
    """Reads the bytes as a file, in both ways."""
    path = FOLDER / f"rows.{SUFFIX}"
    path.write_bytes(data)
    try:
        for index, row in enumerate(read_rows(path)):
            if isinstance(row, BadRow):
                assert row.index == index
            else:
                for text in (row.response, row.knowledge, *row.history):
                    text.encode("utf-8")
                assert row.response.strip()
                assert row.knowledge.strip()
            output_row(index, row, {}, ["f1"])
    except InputError:
        pass
    try:
        for _ in read_fields(path):
            pass
    except InputError:
        pass


def main() -> None:
    global SUFFIX
    arguments = sys.argv[1:]
    if "--suffix" in arguments:
        at = arguments.index("--suffix")
        SUFFIX = arguments[at + 1]
        del arguments[at : at + 2]
    atheris.Setup([sys.argv[0], *arguments], test_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
