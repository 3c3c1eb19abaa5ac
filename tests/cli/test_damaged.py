"""Files that look like ours and are not, and files whose names do not tell: a line each."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from limits import fill, small_disk

from q2_metric.cli.main import main
from q2_metric.errors import InputError, WriteError
from q2_metric.files import check_written, write_text
from q2_metric.metrics.calibration import FORMAT, Calibration
from q2_metric.report.read import Spool
from q2_metric.rows.read import read_rows

LARGE = "1" + "0" * 400
LONGER = "9" * 5000  # than Python reads at all
ROW = '{"response": "r", "knowledge": "k"}\n'
PLATT = json.dumps({
    "format": FORMAT, "name": "m", "metric": "knowledge_f1", "kind": "platt", "threshold": 0.5,
    "signature": "knowledge_f1|version:1", "slope": 2.0, "intercept": 0.0,
})
ISOTONIC = PLATT.replace("platt", "isotonic").replace(
    '"slope": 2.0, "intercept": 0.0', '"x": [0, 2.0], "y": [0, 1]')
SCORE = json.dumps(
    {"id": "1", "knowledge_f1": 2.0, "error": None, "response": "a", "knowledge": "b"})
DEEP = "[" * 900 + "]" * 900


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(ROW)
    return tmp_path


def run(words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, words.split(), input=stdin)


COMMANDS = {
    "score rows.jsonl --metrics knowledge_f1 --calibration FILE": (PLATT, ISOTONIC),
    "report FILE -o page.html": (SCORE,),
}


@pytest.mark.parametrize(("words", "text"), [
    (words, text) for words, texts in COMMANDS.items() for text in texts])
@pytest.mark.parametrize("number", [LARGE, LONGER, "1e999", "NaN", DEEP, '"\\ud800"', "{}"])
def test_numbers_that_are_none(folder: Path, words: str, text: str, number: str) -> None:
    pytest.importorskip("scipy", reason="needs the extra meta")
    name = "x.jsonl" if words.startswith("report") else "x.json"
    (folder / name).write_text(text.replace("2.0", number))
    result = run(words.replace("FILE", name))
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 200
    assert result.stderr.startswith(("q2: error: x.json", "q2: error: calibration 'm'"))


@pytest.mark.parametrize("name", ["\ud800", "a\x1b[31m", "a\nb"])
def test_names_that_cannot_be_shown(folder: Path, name: str) -> None:
    (folder / "x.json").write_text(PLATT.replace('"m"', json.dumps(name)))
    with pytest.raises(InputError, match="the field 'name' has a wrong value"):
        Calibration.load("x.json")


# --- names that do not tell ------------------------------------------------------------------


def test_a_format_for_what_has_no_suffix(folder: Path) -> None:
    (folder / "rows").write_text("response\tknowledge\nr\tk\n")
    refused = run("score rows --metrics knowledge_f1")
    assert refused.exit_code == 2
    assert "name it with --format" in refused.stderr
    command = "score rows --format tsv --metrics knowledge_f1 --out out.jsonl --quiet"
    assert run(command).exit_code == 0
    assert json.loads((folder / "out.jsonl").read_text())["response"] == "r"
    done = run("score - --format csv --metrics knowledge_f1 --json", "response,knowledge\nr,k\n")
    assert json.loads(done.stdout)["files"][0]["rows"] == 1
    assert len(list(read_rows(folder / "rows", form="tsv"))) == 1


@pytest.mark.parametrize(("text", "form", "said"), [
    (ROW + '{"response": "a", "response": "r", "knowledge": "k"}\n' * 2, "jsonl",
     "line 2: has the key 'response' twice; the last is read"),
    ("response,knowledge,response\na,k,r\na,k,r\n", "csv",
     "line 2: the header has the column 'response' twice; the last is read"),
])
def test_names_that_are_there_twice(folder: Path, text: str, form: str, said: str) -> None:
    (folder / "rows").write_text(text)
    result = run(f"score rows --format {form} --metrics knowledge_f1 --quiet --out out.jsonl")
    assert (result.exit_code, result.stderr) == (0, f"q2: rows, {said}\n")
    last = (folder / "out.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["response"] == "r"


@pytest.mark.parametrize("number", [LARGE, LONGER])
def test_a_large_number_in_a_row(folder: Path, number: str) -> None:
    (folder / "rows.jsonl").write_text(f'{ROW}{ROW[:-2]}, "id": {number}}}\n')
    result = run("score rows.jsonl --metrics knowledge_f1 --quiet")
    assert result.exit_code == 1
    assert f"line 2: is not JSON (a number has {len(number)} digits)" in result.stderr


# --- where nothing can be written ------------------------------------------------------------


def test_an_open_file_of_a_process_is_no_output(folder: Path) -> None:
    """``--report /dev/stdout`` put the page in the place of the link in /dev."""
    link = folder / "stdout.html"
    with open(folder / "target", "w") as open_file:
        link.symlink_to(f"/proc/self/fd/{open_file.fileno()}")
        for path in (link, Path(f"/proc/self/fd/{open_file.fileno()}")):
            with pytest.raises(InputError, match="cannot be written: it is not a regular file"):
                check_written([path])
            with pytest.raises(InputError, match="cannot be written: it is not a regular file"):
                write_text(path, "page")
    assert link.is_symlink()
    write_text(folder / "target", "page")


RUN = "score rows.jsonl --metrics knowledge_f1"


@pytest.mark.parametrize(("words", "closed", "code"), [
    (f"{RUN} --json", ">&-", 3), (RUN, ">&-", 3), (f"{RUN} --quiet", ">&-", 0),
    ("presets", ">&-", 3), ("--version", ">&-", 3), ("score --help", ">&-", 3),
    (RUN, "2>&-", 0), (f"{RUN} --json", "2>&- >&-", 3),
    (f"{RUN} --quiet --out out.jsonl", ">&- 2>&- <&-", 0),
])
def test_standard_streams_that_are_closed(
    folder: Path, words: str, closed: str, code: int
) -> None:
    """What cannot be printed is an error; nothing is printed into a file of ours."""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    command = f"exec {shlex.quote(sys.executable)} -m q2_metric {words} {closed}"
    done = subprocess.run(["sh", "-c", command], env={**os.environ, "PYTHONPATH": paths},
                          capture_output=True, text=True, check=False)
    assert done.returncode == code
    if code:
        said = "" if "2>&-" in closed else "q2: error: standard output: is closed\n"
        assert (done.stdout, done.stderr) == ("", said)
    if "--out" in words:
        (line,) = (folder / "out.jsonl").read_text().splitlines()
        assert json.loads(line)["knowledge_f1"] is not None


def test_no_room_for_temporary_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "temporary files cannot be written: .*No space left.*; set TMPDIR to a writable folder"
    with small_disk(folder, 65_536) as disk, monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(disk))
        fill(disk)
        with pytest.raises(WriteError, match=words), Spool() as rows:
            rows.write([{"id": "x" * 20_000}])

    def none(*_arguments: object, **_keywords: object) -> io.StringIO:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", none)
    result = run("score rows.jsonl --metrics knowledge_f1 --quiet --report page.html")
    assert result.exit_code == 3
    assert "No usable temporary directory found; set TMPDIR to a writable folder" in result.stderr
    assert not (folder / "page.html").exists()
