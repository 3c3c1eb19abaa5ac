"""Texts in csv that no spreadsheet runs, and that come back as they were."""

from __future__ import annotations

import csv
import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from q2_metric.cli.main import main
from q2_metric.report.read import read_scores
from q2_metric.rows.writers import from_cell, to_cell

SIGNS = "=+-@\t\r\n'＝＋－＠a"
TEXTS = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx", "\r=x", "'=x", "''-", "'tis", "1=1",
         "－1"]


@given(st.one_of(st.text(), st.text(SIGNS, max_size=5)))
def test_every_text_comes_back(text: str) -> None:
    assert from_cell(to_cell(text)) == text
    assert not to_cell(text).startswith(tuple("=+-@\t\r\n＝＋－＠"))
    assert to_cell(text) in (text, f"'{text}")


@pytest.mark.parametrize("options", [[], ["--raw-csv"]])
def test_scores_in_csv(tmp_path: Path, options: list[str]) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.csv"
    rows.write_text("".join(
        json.dumps({"id": text, "response": f"{text} Rome", "knowledge": f"{text} Rome"}) + "\n"
        for text in TEXTS
    ))
    command = ["score", str(rows), "--metrics", "word_share", "--out", str(out),
               "--quiet", *options]
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with open(out, encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    wanted = [text if options else to_cell(text) for text in TEXTS]
    assert [cell["id"] for cell in cells] == wanted
    assert cells[0]["response"] == ("" if options else "'") + TEXTS[0] + " Rome"
    with ExitStack() as files:
        found = list(read_scores([out], files))
    assert [row["id"] for row in found] == TEXTS
    assert [row["response"] for row in found] == [f"{text} Rome" for text in TEXTS]


def test_a_report_in_csv(tmp_path: Path) -> None:
    labelled, out = tmp_path / "=lab.csv", tmp_path / "out.csv"
    labelled.write_text("grounding,generated_text,label\n" + "".join(
        f"r,{'r' if i % 2 else 's'}{i},{i % 2}\n" for i in range(10)))
    pytest.importorskip("scipy", reason="needs the extra meta")
    command = ["meta-eval", "true", str(labelled), "--metrics", "word_share",
               "--quiet", "--out", str(out)]
    assert CliRunner().invoke(main, command, catch_exceptions=False).exit_code == 0
    with open(out, encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=lab" in cells
    assert not any(cell.startswith("=") for cell in cells)
