"""Inputs that cannot be read as they are: a message says what is wrong, where, and what to do."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from q2_metric.cli.main import main
from q2_metric.errors import InputError
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.types import Example

ROW = {"response": "Rome has hills.", "knowledge": "Rome has seven hills."}
LINE = json.dumps(ROW)
TABLE = "response,knowledge\nRome has hills.,Rome has seven hills.\n"


def q2(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments], prog_name="q2")


def said(path: Path) -> str:
    """The error about a file, or about its only row that cannot be read."""
    try:
        [problem] = [row.error for row in read_rows(path) if isinstance(row, BadRow)]
    except InputError as error:
        problem = str(error)
    return problem.replace(str(path), "FILE")


UTF16 = "FILE: is UTF-16 or UTF-32; save it as UTF-8"
RETURNS = "; lines end with CR alone: save the file with the line end LF or CR LF"
ONE_CELL = ("; the first line must name all columns: delete a title above it, and put a cell that "
            "contains the separator in quotation marks")


@pytest.mark.parametrize(("suffix", "content", "words"), [
    *((suffix, text.encode(encoding), UTF16)
      for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
      for suffix, text in (("csv", TABLE), ("jsonl", LINE + "\n"), ("json", f"[{LINE}]"),
                           ("tsv", TABLE.replace(",", "\t")))),
    ("csv", "回答,知识,response,knowledge\n".encode("utf-16-le"), UTF16),
    ("csv", TABLE.replace("\n", "\r").encode(),
     f"FILE, line 1: the header cannot be read{RETURNS}"),
    ("tsv", TABLE.replace("\n", "\r").replace(",", "\t").encode(),
     f"FILE, line 1: the header cannot be read{RETURNS}"),
    ("csv", TABLE.encode() + b"a,b\rc,d\r", f"FILE, line 3: cannot be read{RETURNS}"),
    ("jsonl", f"{LINE}\r{LINE}\r".encode(),
     f"FILE, line 1: is not JSON (Extra data at character {len(LINE) + 2})"),
    ("json", f"{LINE}\r{LINE}\r".encode(),
     f"FILE: is not JSON (Extra data at character {len(LINE) + 2})"),
    ("csv", b"Export of Monday\n" + TABLE.encode(),
     f"FILE, line 2: has 2 cells, but the header has one, 'Export of Monday'{ONE_CELL}"),
    ("csv", b"Export of Monday\n\n" + TABLE.encode(),
     f"FILE, line 3: has 2 cells, but the header has one, 'Export of Monday'{ONE_CELL}"),
    ("tsv", b"Export\n" + TABLE.replace(",", "\t").encode(),
     f"FILE, line 2: has 2 cells, but the header has one, 'Export'{ONE_CELL}"),
    ("jsonl", b'{"response": "a", "knowledge": ["b", NaN]}\n',
     "FILE, line 1: the knowledge (field 'knowledge') is a list with NaN in it, not a string or a "
     "list of strings"),
    ("jsonl", b'{"response": "a", "knowledge": ["b", -Infinity]}\n',
     "FILE, line 1: the knowledge (field 'knowledge') is a list with -Infinity in it, not a string "
     "or a list of strings"),
    ("jsonl", b'{"response": "a", "knowledge": "b", "history": ["c", NaN]}\n',
     "FILE, line 1: the history (field 'history') is a list with NaN in it, not a string or a list "
     "of strings"),
])
def test_the_message(tmp_path: Path, suffix: str, content: bytes, words: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    path.write_bytes(content)
    assert said(path) == words


@pytest.mark.parametrize(("suffix", "content"), [
    ("csv", TABLE.replace("\n", "\r\n")),
    ("csv", TABLE.replace("\n", "\r\r\n")),
    ("csv", TABLE.replace("Rome has hills.", '"Rome\rhas hills."')),
    ("csv", TABLE + "Yes\n"),  # a cell that is missing
    ("csv", TABLE.replace(",", "\t")),
    ("jsonl", LINE + "\r\n"),
    ("jsonl", json.dumps({**ROW, "note": "a\0b\r"}) + "\n"),
    ("json", f"[\r{LINE}\r]\r"),
])
def test_what_is_read_nevertheless(tmp_path: Path, suffix: str, content: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    path.write_bytes(content.encode())
    assert isinstance(next(read_rows(path, blank=True)), Example)


def test_a_column_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("response\na b c\n\"d, e\"\nf, g\n")
    rows = list(read_rows(path, aliases={"response": ["response"], "knowledge": ["response"],
                                         "id": [], "label": [], "history": [], "question": []}))
    assert [isinstance(row, BadRow) for row in rows] == [False, False, True]


def other(values: str, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{LINE[:-1]}, {values}}}\n")
    [row] = read_rows(path, group_by=["a"])
    assert isinstance(row, Example)
    return dict(row.other)


@pytest.mark.parametrize(("given", "kept"), [
    ("NaN", "NaN"), ("Infinity", "Infinity"), ("-1e999", "-Infinity"),
    ('[1.5, NaN, {"b": [-Infinity, null]}]', [1.5, "NaN", {"b": ["-Infinity", None]}]),
    ("2.5", 2.5), ("true", True), ('"NaN"', "NaN"), (json.dumps("猫" * 9_000), "猫" * 9_000),
])
def test_numbers_that_json_lacks_are_kept(tmp_path: Path, given: str, kept: object) -> None:
    assert other(f'"a": {given}', tmp_path) == {"a": kept}
    out = tmp_path / "out.jsonl"
    done = q2("score", str(tmp_path / "rows.jsonl"), "--metrics", "knowledge_f1", "--out", str(out))
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text())["other"] == {"a": kept}


def test_a_group_of_numbers_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{LINE[:-1]}, "cost": {cost}}}\n' for cost in ("1", "NaN", "NaN")))
    done = q2("score", str(path), "--metrics", "knowledge_f1", "--group-by", "cost", "--json")
    [found] = json.loads(done.stdout)["files"]
    counts = {cost: scores["knowledge_f1"]["n"] for cost, scores in found["groups"]["cost"].items()}
    assert counts == {"1": 1, "NaN": 2}


# --- names of files ----------------------------------------------------------------------

LOOP = "its symbolic links form a loop; name the file itself"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(LINE + "\n")
    (tmp_path / "loop.jsonl").symlink_to("back.jsonl")
    (tmp_path / "back.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "in").symlink_to("in")
    return tmp_path


@pytest.mark.parametrize(("arguments", "problem"), [
    (["loop.jsonl"], "loop.jsonl: cannot be read"),
    (["rows.jsonl", "loop.jsonl"], "loop.jsonl: cannot be read"),
    (["loop.jsonl", "--out", "out.jsonl"], "loop.jsonl: cannot be read"),
    (["in/rows.jsonl", "--out", "out.jsonl"], "in/rows.jsonl: cannot be read"),
    (["rows.jsonl", "--calibration", "loop.jsonl"], "loop.jsonl: cannot be read"),
    (["rows.jsonl", "--knowledge-pool", "loop.jsonl"], "loop.jsonl: cannot be read"),
    (["rows.jsonl", "--out", "loop.jsonl"], "loop.jsonl: cannot be written"),
    (["rows.jsonl", "--out", "in/out.jsonl"], "in/out.jsonl: cannot be written"),
    (["rows.jsonl", "--report", "loop.jsonl"], "loop.jsonl: cannot be written"),
    (["rows.jsonl", "--cache", "loop.jsonl"], "loop.jsonl: cannot be written"),
])
@pytest.mark.usefixtures("folder")
def test_links_that_form_a_loop(arguments: list[str], problem: str) -> None:
    done = q2("score", *arguments, "--metrics", "knowledge_f1")
    assert (done.exit_code, done.stderr) == (2, f"q2: error: {problem}: {LOOP}\n")


@pytest.mark.parametrize(("arguments", "name"), [
    ([""], "FILE..."), (["rows.jsonl", ""], "FILE..."),
    *((["rows.jsonl", option, ""], option)
      for option in ("--out", "--report", "--calibration", "--knowledge-pool", "--cache")),
])
@pytest.mark.usefixtures("folder")
def test_an_empty_name(arguments: list[str], name: str) -> None:
    done = q2("score", *arguments, "--metrics", "knowledge_f1")
    assert done.exit_code == 2
    assert f"{name}': is empty; name a file" in done.stderr


def test_an_empty_name_in_python() -> None:
    with pytest.raises(InputError, match="the name of a file to read is empty"):
        list(read_rows(""))


# --- many columns ------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_time_grows_with_the_number_of_columns(tmp_path: Path, suffix: str) -> None:
    """Each name was compared with all others: 40,000 columns took a minute."""
    names = [*(f"c{i}" for i in range(40_000)), *ROW]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "csv":
        path.write_text(f"{','.join(names)}\n{'1,' * 40_000}a b,c d\n")
    else:
        path.write_text(json.dumps(dict.fromkeys(names, "a b"))[:-1] + ', "c0": 1}\n')
    began = time.process_time()
    [row] = read_rows(path)
    assert time.process_time() - began < 10
    assert isinstance(row, Example)
    assert len(row.other) == 40_000
