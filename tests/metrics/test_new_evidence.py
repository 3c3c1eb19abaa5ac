"""A kind of evidence that the package does not know is one class and its words."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from q2_metric.cli.main import main
from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS, Entry
from q2_metric.rows.fields import Layout
from q2_metric.scoring import example
from q2_metric.scoring.judge import Judge

MODULE = '''
from dataclasses import dataclass

from q2_metric.metrics.registry import Entry
from q2_metric.metrics.signature import signature
from q2_metric.types import Evidence, Score


@dataclass(frozen=True, slots=True)
class Quote(Evidence):
    text: str
    start: int
    found: bool
    words: tuple[str, ...] = ()

    def __str__(self):
        return f"{'quotes' if self.found else 'does not quote'} {self.text}"


class Quotes:
    name = "quoted"
    signature = signature("quoted", {})

    @classmethod
    def from_preset(cls, preset="bundled", **keywords):
        return cls()

    def score(self, examples):
        return [self._score(one) for one in examples]

    def _score(self, one):
        word = one.response.split()[0]
        found = word in one.knowledge
        return Score(one, float(found), (Quote(word, 0, found, (word,)),))


METRIC = Entry("quoted", "quoted words", "quotes_of_a_user:Quotes", runtime=("device",),
               details="quotes_of_a_user:Quote", cached=True)
'''
ROWS = [{"id": "a", "response": "Rome has hills.", "knowledge": "Rome has seven hills."},
        {"id": "b", "response": "<b>Oslo</b> has nine hills.", "knowledge": "Rome has hills."}]
QUOTES = [{"text": "Rome", "start": 0, "found": True, "words": ["Rome"], "plain": "quotes Rome"}]


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "quotes_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "quotes_of_a_user", raising=False)
    yield
    METRICS.pop("quoted", None)


def q2(*arguments: object) -> str:
    found = CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_a_class_whose_field_has_the_name_of_another_is_refused() -> None:
    """The field of the evidence "Quote" would be that of the metric "quotes"."""
    METRICS["quoted"] = Entry("quotes", "quotes", "quotes_of_a_user:Quotes",
                              details="quotes_of_a_user:Quote")
    with pytest.raises(InputError, match="list Quote as 'quotes', which is another field; rename"):
        METRICS["quoted"].evidence_class()


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_it_is_in_outputs_page_and_cache(suffix: str, tmp_path: Path) -> None:
    rows, cache = tmp_path / "rows.jsonl", tmp_path / "cache"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    out, page = tmp_path / f"scores.{suffix}", tmp_path / "page.html"
    score = ["score", rows, "-m", "quotes_of_a_user:METRIC", "--cache", cache]
    q2(*score, "--out", out)
    q2("report", out, "-o", page)
    text = page.read_text(encoding="utf-8")
    assert json.dumps(QUOTES, separators=(",", ":")) in text
    assert '"plain":"does not quote \\u003cb\\u003eOslo\\u003c/b\\u003e"' in text
    again = tmp_path / "again.jsonl"
    found = json.loads(q2(*score, "--out", again, "--json"))
    assert found["files"][0]["scores_from_cache"] == 2
    assert json.loads(again.read_text().splitlines()[0])["quotes"] == QUOTES


def test_its_words_are_on_the_terminal_and_in_frameworks() -> None:
    shown = q2("explain", "-m", "quotes_of_a_user:METRIC", "--response", "Rome has hills.",
               "--knowledge", "Rome has hills.")
    assert "quotes Rome" in shown
    [judged] = Judge("quoted")([example("Rome has hills.", ["Oslo has hills."])])
    assert judged.why == "quoted words: 0.000\n  does not quote Rome"


@pytest.mark.parametrize("details", ["quotations", "os:path", "no_such_module:Quote", "os:nothing"])
def test_what_is_no_kind_of_evidence_is_refused(
    details: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METRICS, "quoted", Entry(
        "quoted", "quoted words", "quotes_of_a_user:Quotes", details=details))
    with pytest.raises(InputError, match=f"details '{details}' are not questions"):
        _ = Layout(["quoted"]).fields
