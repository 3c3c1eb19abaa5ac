"""Groundedness while a response is being written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from q2_metric import Example, InputError
from q2_metric.metrics.groundedness import Groundedness
from q2_metric.rows.read import read_rows
from q2_metric.types import Judgement

KNOWLEDGE = "The tower opened in 1889. It is 330 metres tall. Tickets cost 20 euros."
FILES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def metric() -> Groundedness:
    return Groundedness.from_preset(dtype="int8")


def pieces(text: str) -> Iterator[str]:
    """As a tokenizer would write it: a word with the blank before it."""
    yield from re.findall(r"\s*\S+|\s+$", text)


def test_a_claim_is_judged_when_its_sentence_is_complete(metric: Groundedness) -> None:
    stream = metric.stream(KNOWLEDGE)
    said = [(piece, [(one.claim.text, one.verdict) for one in stream.add(piece)])
            for piece in pieces("It opened in 1889. It costs 35 euros. It is")]
    assert [(piece, some) for piece, some in said if some] == [
        (" costs", [("It opened in 1889.", "supported")]),
        (" is", [("It costs 35 euros.", "contradicted")]),
    ]
    assert stream.score is None
    with pytest.raises(InputError, match="a piece of the response is a number"):
        stream.add(5)  # type: ignore[arg-type]
    assert [one.claim.start for one in stream.add(" 330 metres tall.")] == []
    [last] = stream.end()
    assert (last.claim.text, last.verdict) == ("It is 330 metres tall.", "supported")
    assert last.passage == "It is 330 metres tall."
    with pytest.raises(InputError, match="has ended"):
        stream.add("more")


@pytest.mark.parametrize("name", ["rag.jsonl", "dialogues.jsonl"])
def test_claims_and_scores_are_those_of_the_whole_text(metric: Groundedness, name: str) -> None:
    rows = [row for row in read_rows(FILES / name) if isinstance(row, Example)]
    early = final = 0
    for row, whole in zip(rows, metric.score(rows, evidence=True), strict=True):
        stream = metric.stream(row)
        found = [one for piece in pieces(row.response) for one in stream.add(piece)]
        found += stream.end()
        assert stream.score is not None
        assert (stream.score.value, stream.score.reason) == (
            pytest.approx(whole.value, abs=1e-6), whole.reason)
        assert stream.score.evidence == whole.evidence
        wanted = [one.claim for one in whole.evidence if isinstance(one, Judgement)]
        assert {one.claim for one in found} >= set(wanted)
        early, final = early + len(found), final + len(wanted)
    assert final <= early <= 1.05 * final


def test_no_pair_is_judged_twice(metric: Groundedness, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    first = metric.scale.backbone.first
    judge = first.judge
    monkeypatch.setattr(first, "judge", lambda pairs: asked.extend(pairs) or judge(pairs))
    stream = metric.stream(KNOWLEDGE)
    for piece in pieces("It opened in 1889. It costs 20 euros. It is 330 metres tall."):
        stream.add(piece)
        if asked:
            assert stream._complete  # judged early
        before = {claim for _, claim in asked}
    stream.end()
    assert "It opened in 1889." in before
    assert len(asked) == len({*asked})


@pytest.mark.parametrize(("text", "reason"), [
    ("", "empty"), ("lol", "no_claim"), ("I do not know. Sorry!", "no_claim")])
def test_what_claims_nothing(metric: Groundedness, text: str, reason: str) -> None:
    stream = metric.stream(KNOWLEDGE)
    assert stream.add(text) == stream.add(None) == stream.end() == []
    assert stream.score is not None
    assert (stream.score.value, stream.score.reason) == (None, reason)


def test_a_bare_yes_waits_for_what_follows(metric: Groundedness) -> None:
    asked = Example("", KNOWLEDGE, question="Did the tower open in 1889?")
    for rest, claims in (("", ["The tower opened in 1889."]),
                         ("It opened in 1889 and it is 330 metres tall today.", None)):
        stream = metric.stream(asked)
        found = [one for piece in ("Yes. ", rest) for one in stream.add(piece)] + stream.end()
        [whole] = metric.score([replace(asked, response="Yes. " + rest)])
        wanted = [one.claim.text for one in whole.evidence if isinstance(one, Judgement)]
        assert [one.claim.text for one in found] == wanted
        assert claims in (None, wanted)


def test_abbreviations_do_not_end_a_claim(metric: Groundedness) -> None:
    stream = metric.stream("Dr. Smith lives in St. Petersburg.")
    assert [one for piece in pieces("It was Dr. Smith who lives in St. Petersburg.")
            for one in stream.add(piece)] == []
    assert len(stream.end()) == 1


@pytest.mark.parametrize("knowledge", [3, None, ["a"], "\ud800"])
def test_wrong_knowledge(metric: Groundedness, knowledge: object) -> None:
    with pytest.raises(InputError):
        metric.stream(knowledge)  # type: ignore[arg-type]


def test_the_documented_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (FILES.parent / "docs" / "streaming.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", page, re.S)
    assert found is not None
    exec(found[1], {})
    assert capsys.readouterr().out.splitlines()[:2] == [
        "supported It opened in 1889.", "contradicted Tickets cost 35 euros."]
