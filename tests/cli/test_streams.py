"""Names, streams and terminals of every kind: a line, and never a traceback."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from q2_metric import __main__
from q2_metric.cli.main import main

ROW = json.dumps({"response": "Rome has 7 hills.", "knowledge": "Rome has 7 hills."}) + "\n"


def q2(words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """``q2 WORDS`` as a shell runs it."""
    command = f'"{sys.executable}" -m q2_metric {words}'
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, **environment},
        capture_output=True, check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text(ROW)
    return tmp_path


SCORE = "score rows.jsonl --metrics knowledge_f1"


@pytest.mark.parametrize(("words", "code", "said"), [
    (f"{SCORE} > /dev/full", 3, "q2: error: standard output: No space left on device"),
    ("score --help > /dev/full", 3, "q2: error: standard output: No space left on device"),
    ("score - --metrics knowledge_f1 <&-", 2, "q2: error: standard input: is closed"),
    ("calibrate labelled.jsonl --metric knowledge_f1 --out fitted.json 2>&-", 0, ""),
    ("score loop.jsonl --metrics knowledge_f1", 2, "q2: error: loop.jsonl: "),
    (f"{SCORE} --out loop.jsonl --quiet", 2, "q2: error: "),
    (f"score {'x' * 300}.jsonl --metrics knowledge_f1", 2, "File name too long"),
    (f"{SCORE} --out {'x' * 300}.jsonl", 2, "File name too long"),
    ("explain --knowledge k --response $'a\\xff'", 2,
     "q2: error: the response of this command is not valid Unicode at character 2"),
    ("score empty.jsonl --metrics knowledge_f1 --quiet", 2, "q2: error: empty.jsonl: has no rows"),
    ("score utf32.csv --metrics knowledge_f1", 2, "utf32.csv: is UTF-16 or UTF-32; save it"),
    ("score rows.jsonl.gz -m knowledge_f1", 2, "rows.jsonl.gz: is compressed; decompress it first"),
    ("score none.jsonl.gz -m knowledge_f1", 2, "none.jsonl.gz: there is no such file"),
    ("score zipped.csv -m knowledge_f1", 2, "zipped.csv: is compressed; decompress it first"),
])
def test_a_line_and_a_code(folder: Path, words: str, code: int, said: str) -> None:
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "empty.jsonl").touch()
    labelled = [{**json.loads(ROW), "label": label} for label in (0, 1) * 5]
    (folder / "labelled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labelled))
    (folder / "utf32.csv").write_text("response,knowledge\n", encoding="utf-32")
    for name in ("rows.jsonl.gz", "zipped.csv"):
        (folder / name).write_bytes(gzip.compress(ROW.encode()))
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    done = q2(words, folder)
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, len(lines)) == (code, 1 if said else len(lines)), lines
    assert "Traceback" not in done.stderr.decode()
    assert said in done.stderr.decode()
    assert (folder / "fitted.json").exists() is ("fitted.json" in words)


@pytest.mark.parametrize("environment", [
    {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
])
def test_terminals_without_all_signs(folder: Path, environment: dict[str, str]) -> None:
    row = {"id": "é", "response": "Ω ✓", "knowledge": "Ω ✓"}
    (folder / "ω.jsonl").write_text(json.dumps(row) + "\n")
    done = q2("score *.jsonl --metrics knowledge_f1", folder, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"token F1" in done.stdout
    explained = q2("presets", folder, **environment)
    assert (explained.returncode, explained.stderr) == (0, b"")


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_file_whose_name_is_no_text(folder: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jsonl")).write_text("{}\n" + ROW)
    except OSError:
        pytest.skip("names are text on this file system")
    words = (f"score $'\\xff.jsonl' rows.jsonl --metrics knowledge_f1 --quiet "
             f"--out $'out\\xfe.{suffix}'")
    done = q2(words, folder)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 2), done.stderr  # of {}
    assert (folder / os.fsdecode(b"out\xfe." + suffix.encode())).stat().st_size


def test_ctrl_c_before_there_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is imported; click alone says "Aborted!" with the code of rows that failed."""
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("q2_metric.cli.main.resolve_name", interrupted)
    done = CliRunner().invoke(main, ["score", "rows.jsonl"])
    assert (done.exit_code, done.stderr) == (130, "q2: error: stopped\n")


def test_ctrl_c_before_there_is_a_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second of imports on a busy machine, and then it was a traceback."""
    class Interrupting:
        @staticmethod
        def find_spec(name: str, *_more: object) -> None:
            if name == "q2_metric.cli.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "q2_metric.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "q2: error: stopped\n")
