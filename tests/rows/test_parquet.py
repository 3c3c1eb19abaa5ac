"""Parquet files that nobody meant well: memory is bounded by the bytes of the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from q2_metric.cli.main import main
from q2_metric.errors import InputError
from q2_metric.rows import parquet as reader
from q2_metric.rows.formats import read_fields
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.types import Example

pa: Any = pytest.importorskip("pyarrow", reason="needs the extra parquet")
from pyarrow import parquet  # noqa: E402


def repeated(text: str, times: int) -> Any:
    """A column with one text, many times."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array([text]))


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    parquet.write_table(pa.table(columns), path, **{"compression": "zstd", **options})
    return path


MEMORY = """
import resource, sys
from q2_metric.errors import InputError
from q2_metric.rows.read import BadRow, read_rows
import pyarrow.compute, pyarrow.parquet

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows, bad = [], 0
try:
    for row in read_rows(sys.argv[1]):
        rows.append(row) if len(rows) < 2000 else None
        bad += isinstance(row, BadRow)
    print(len(rows), bad, end=" ")
except InputError as error:
    print("refused", end=" ")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize(("name", "rows"), [
    ("texts", "2000 0"), ("passages", "1 1"), ("page", "refused"), ("values", "refused")])
@pytest.mark.slow
def test_a_small_file_fills_no_memory(tmp_path: Path, name: str, rows: str) -> None:
    """Some KB that unpack to gigabytes, where one row or a batch holds them."""
    path = tmp_path / "rows.parquet"
    if name == "texts":
        many = 2000
        write(path, {"response": repeated("a" * 1_000_000, many), "knowledge": ["k"] * many})
    elif name == "page":
        text = pa.array(["a" * 100_000_000], pa.large_string())
        write(path, {"response": text, "knowledge": ["k"]}, use_dictionary=False,
              write_statistics=False)
    else:
        many = 1_500_000 if name == "passages" else 20_000_000
        items = repeated("x" * 1000, 1).take(pa.array(bytes(many), pa.uint8()))
        passages = pa.ListArray.from_arrays(pa.array([0, many], pa.int32()), items)
        write(path, {"response": ["r"], "knowledge": passages})
    assert path.stat().st_size < 20_000
    done = subprocess.run([sys.executable, "-c", MEMORY, str(path)], capture_output=True,
                          text=True, check=True)
    counted, memory = done.stdout.rsplit(" ", 1)
    assert counted == rows
    assert int(memory) < 250, "MB"


@pytest.mark.parametrize("large", [False, True])
def test_rows_are_the_same_however_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    """As dictionaries, or row by row where a column is large."""
    if large:
        monkeypatch.setattr(reader, "LONGEST_LINE", 4000)
        monkeypatch.setattr(reader, "_BATCH", 300)
    texts = [f"response {i % 7} {'é' * (i % 50)}" for i in range(500)]
    knowledge = [[text, "k"] if i % 3 else None for i, text in enumerate(texts)]
    given = {
        "response": pa.array(texts, pa.large_string()),
        "knowledge": pa.array(knowledge, pa.list_(pa.string())),
        "fixed": pa.array([["a", "b"]] * 500, pa.list_(pa.string(), 2)),
        "about": pa.array([{"s": text, "n": i} if i % 2 else None
                           for i, text in enumerate(texts)]),
        "bytes": pa.array([b"\xff"] * 500),
        "number": pa.array([i / 2 for i in range(500)]),
    }
    path = write(tmp_path / "rows.parquet", given, row_group_size=200)
    found = [fields for _, fields in read_fields(path)]
    assert {name: [row[name] for row in found] for name in given} == {
        name: column.to_pylist() for name, column in given.items()}


def test_a_large_file_that_is_packed_well_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LONGEST_LINE", 5000)
    text = ["the same text of a table that was written without a dictionary"] * 1000
    columns = {"response": text, "knowledge": ["k"] * 1000}
    with pytest.raises(InputError, match="write the file again with smaller row groups"):
        list(read_rows(write(tmp_path / "a.parquet", columns, use_dictionary=False)))
    path = write(tmp_path / "b.parquet", columns, use_dictionary=False, row_group_size=50)
    assert len(list(read_rows(path))) == 1000
    assert len(list(read_rows(write(tmp_path / "c.parquet", columns)))) == 1000


def test_bytes_that_are_no_text_hide_their_rows_alone(tmp_path: Path) -> None:
    texts = pa.array([b"a", b"\xff", b"c", b"\xff", b"", None]).view(pa.string())
    path = write(tmp_path / "rows.parquet", {"response": texts, "knowledge": ["k"] * 6})
    first, bad, third, again, empty, missing = read_rows(path)
    assert (first, third) == (Example("a", "k"), Example("c", "k"))
    for row in (empty, missing):
        assert isinstance(row, BadRow)
        assert row.error.endswith("the response (field 'response') is empty")
    assert isinstance(bad, BadRow)
    assert bad.error == (
        f"{path}, row 2: the response (field 'response') is not valid Unicode at character 1")
    assert isinstance(again, BadRow)


def test_a_column_that_is_there_twice_is_said(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([text]) for text in ("a", "b", "k")],
                                 names=["response", "response", "knowledge"])
    parquet.write_table(table, tmp_path / "rows.parquet")
    command = ["score", str(tmp_path / "rows.parquet"), "--metrics", "knowledge_f1", "--quiet",
               "--out", str(tmp_path / "out.jsonl")]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.stderr) == (
        0, f"q2: {tmp_path / 'rows.parquet'}, row 1: the file has the column 'response' twice; the "
        "last is read\n")
    assert json.loads((tmp_path / "out.jsonl").read_text())["response"] == "b"


@pytest.mark.parametrize("names", [("response", "response"), ("response", "context")])
@pytest.mark.parametrize("large", [
    [f"{i} {'a' * 98}" for i in range(200)],
    ["a" * 3000] * 200,  # short as a dictionary, which only the last column of a name can be
])
def test_a_large_column_is_read_in_parts_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str], large: list[str]
) -> None:
    monkeypatch.setattr(reader, "LONGEST_LINE", 4000)
    monkeypatch.setattr(reader, "_BATCH", 300)
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.Table.from_arrays([pa.array(large), pa.array(["b"] * 200)], names),
                        path)
    with path.open("rb") as file:
        batches = list(reader._batches(parquet, parquet.ParquetFile(file), file, "rows"))
    assert all(batch.num_rows <= 3 for batch in batches) or hasattr(batches[0][0], "dictionary")
    assert sum(batch.num_rows for batch in batches) == 200


def test_labels_of_a_table_with_gaps(tmp_path: Path) -> None:
    """pandas writes a column of 0 and 1 with a gap as numbers and NaN."""
    path = write(tmp_path / "rows.parquet", {
        "id": [1.0, float("nan")], "response": ["a", "b"], "knowledge": ["k", "k"],
        "label": [1.0, float("nan")]})
    first, second = read_rows(path)
    assert isinstance(first, Example)
    assert isinstance(second, Example)
    assert (first.label, second.label) == (True, None)
    assert (first.id, second.id) == ("1.0", "(row 2)")
