"""A metric that was just added, by one file and its entry, is on the page by itself."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from q2_metric.cli.main import main
from q2_metric.metrics.registry import METRICS, Entry, MetricColumn

MODULE = '''
from q2_metric.metrics.signature import signature
from q2_metric.types import Question, Comparison, Score, Span


class Length:
    """Longer is better; asks one question, so that the page has something to explain."""

    name = "length"

    def __init__(self):
        self.signature = signature(self.name, {})

    def score(self, examples):
        return [self._score(example) for example in examples]

    def _score(self, example):
        word = example.response.split()[0]
        question = Question(Span(example, word, 0), "How long?")
        asked = Comparison(question, word, None, 0.0, None, "no_answer", 0.0)
        return Score(example, len(example.response) / 100, (asked,), no_nli=0.75)
'''
ROWS = [
    {"id": "a", "response": "Rome has seven hills.", "knowledge": "Rome has seven hills."},
    {"id": "b", "response": "It has nine.", "knowledge": "Rome has seven hills."},
]


@pytest.fixture(autouse=True)
def length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "length_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "length_of_a_user", raising=False)
    added = Entry("length", "Length <i>", "length_of_a_user:Length", details="questions",
                  more=(MetricColumn("length_plain", "Length, plain", "no_nli"),))
    monkeypatch.setitem(METRICS, "length", added)


def run(*arguments: object) -> None:
    found = CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)
    assert found.exit_code == 0, found.output


def check(page: Path) -> None:
    """Its titles, numbers and what they rest on are on the page, as its entry says."""
    text = page.read_text(encoding="utf-8")
    table = text[text.index("<table") : text.index("</table>")]
    cells = re.findall(r'<th scope="row">(.*?)</th>.*?data-label="mean">(.*?)</td>', table, re.S)
    assert cells == [("token F1", "0.643"), ("Length &lt;i&gt;", "0.165"),
                     ("Length, plain", "0.750")]

    def data(id_: str) -> Any:
        found = re.search(rf'<script type="application/json" id="{id_}">(.*?)</script>', text, re.S)
        assert found is not None
        return json.loads(found[1])

    facts = data("facts")
    assert list(facts["titles"]) == ["knowledge_f1", "length", "length_plain"]
    assert {"columns": ["length", "length_plain"], "details": "questions"} in facts["metrics"]
    (_, first), (_, second) = data("rows")
    assert (first["length"], second["length"]) == (0.21, 0.12)
    assert first["questions"][0]["question"] == "How long?"


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_new_metric_is_on_both_pages(suffix: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    out, page, later = tmp_path / f"scores.{suffix}", tmp_path / "a.html", tmp_path / "b.html"
    run("score", rows, "--metrics", "knowledge_f1,length",
        "--out", out, "--report", page, "--no-cache")
    check(page)
    run("report", out, "-o", later)
    check(later)
