"""What is said of a finding: how sure, in which words, and what was not asked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from q2_metric.cli.render import systems_table
from q2_metric.engine.result import SystemRun
from q2_metric.report import findings
from q2_metric.report.findings import (
    Reliability,
    Share,
    of_fallback,
    of_question,
    of_sentence,
    unasked,
    view,
)
from q2_metric.report.page import Flag, flags
from q2_metric.rows.plain import plain
from q2_metric.types import SystemScore
from tools.training.reliability import kinds_of

ROOT = Path(__file__).resolve().parents[2]
SIGNED = "q2|preset:bundled|nli:ours|version:1"
TABLE = Reliability(
    {"q2": SIGNED},
    {"equal": Share(0.7, 0.6, 0.8, 90), "contradiction, below 0.60": Share(0.5, 0.3, 0.7, 40),
     "no answer": Share(0.2, 0.1, 0.3, 50)},
)
KNOWLEDGE = "Rome lies in Italy. It has 7 hills."
RESPONSE = "i think rome has 9 green hills ."


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "shipped", lambda: TABLE)


def question(**fields: Any) -> dict[str, Any]:
    made = {"span": "9", "start": RESPONSE.index("9"), "question": "How many hills does it have?",
            "response_answer": "9", "knowledge_answer": "7",
            "knowledge_start": KNOWLEDGE.index("7"), "how": "nli", "verdict": "contradiction",
            "verdict_p": 0.55, "f1": 0.0, "score": 0.0, **fields}
    words = plain(made["response_answer"], made["knowledge_answer"], made["how"], made["verdict"])
    return {"plain": words, **made}


def row(*questions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "1", "q2": 0.0, "q2_no_nli": 0.25, "fallback": False, "error": None,
            "response": RESPONSE, "knowledge": KNOWLEDGE, "questions": list(questions), **fields}


def sentence(**fields: Any) -> dict[str, Any]:
    return {"text": RESPONSE, "start": 0, "end": len(RESPONSE), "support": 0.125,
            "verdict": "not found", "passage": "It has 7 hills.", "passage_start": 20,
            "passage_support": 0.25, **fields}


NO_ANSWER = {"how": "no_answer", "verdict": None, "knowledge_answer": None}


@pytest.mark.parametrize(("fields", "kind"), [
    ({"how": "equal"}, "equal"),
    (NO_ANSWER, "no answer"),
    ({}, "contradiction, below 0.60"),
    ({"verdict_p": 0.6}, "contradiction, 0.60 to 0.80"),
    ({"verdict": "entailment", "verdict_p": 0.8}, "entailment, from 0.80"),
    ({"verdict": "neutral", "how": "token_f1"}, "neutral"),
    ({"verdict": None, "how": "token_f1", "score": 0.25}, "word overlap, 0.20 to 0.50"),
])
def test_kinds_of_questions(fields: dict[str, Any], kind: str) -> None:
    assert of_question(question(**fields)) == kind


def test_kinds_of_sentences_and_of_responses_as_a_whole() -> None:
    assert of_sentence({"support": 0.04}) == "sentence, below 0.05"
    assert of_sentence({"support": 0.95}) == "sentence, from 0.95"
    # A calibration changes q2, and not q2_no_nli.
    assert of_fallback({"q2": 0.9, "q2_no_nli": 0.25}) == "fallback, 0.20 to 0.50"
    assert of_fallback({"q2": 0.9, "q2_no_nli": None}) == "fallback, 0.80 to 0.95"


def test_findings_count_in_part() -> None:
    found = kinds_of(row(question(), question(how="equal"), question(how="equal"),
                         question(how="equal"), claims=[sentence()]))
    assert found == {"contradiction, below 0.60": 0.25, "equal": 0.75,
                     "sentence, 0.05 to 0.20": 1.0}
    whole = row(fallback=True, q2_no_nli=0.9)
    assert kinds_of(whole) == {"fallback, 0.80 to 0.95": 1.0}
    assert kinds_of(row()) == {}


@pytest.mark.parametrize(("rows_of", "wanted"), [
    ((), 0),
    (({"how": "equal", "verdict": None},), Flag.ASKED | Flag.SUPPORTED),
    (({"how": "equal", "verdict": None}, {}), Flag.ASKED | Flag.DIFFERS),
    ((NO_ANSWER,), Flag.ASKED | Flag.UNANSWERED),
    ((NO_ANSWER, {"how": "equal", "verdict": None}), Flag.ASKED | Flag.UNANSWERED),
    (({}, NO_ANSWER), Flag.ASKED | Flag.DIFFERS | Flag.UNANSWERED),
])
def test_what_the_page_filters_by(rows_of: tuple[dict[str, Any], ...], wanted: Flag) -> None:
    shown = view(row(*(question(**fields) for fields in rows_of)))
    assert flags(shown) == wanted
    assert flags({**shown, "error": "no"}) == wanted | Flag.ERROR


def test_marks_follow_what_was_measured() -> None:
    asked = (question(), question(how="equal"), question(**NO_ANSWER))
    of_kind = [one["state"] for one in view(row(*asked))["questions"]]
    assert of_kind == ["differs", "supported", "open"]
    measured = [one["state"] for one in view(row(*asked), {"questions"})["questions"]]
    assert measured == ["open", "supported", "differs"]  # the interval of the first has 0.5 in it
    rare = question(verdict="entailment", verdict_p=0.9)
    assert view(row(rare), {"questions"})["questions"][0]["state"] == "open"


@pytest.mark.parametrize(("signature", "wanted"), [
    (SIGNED, True),
    ("q2|preset:bundled|nli:ours|version:2", True),
    ("q2|preset:bundled|nli:ours|calibration:mine|version:1", True),
    ("q2|preset:bundled|nli:theirs|version:1", False),
    ("q2|preset:bundled|nli:ours|personal:keep|version:1", False),
    ("scale|preset:bundled|version:1", False),
    ("", False),
])
def test_the_table_is_of_the_scores_that_were_measured(signature: str, wanted: bool) -> None:
    assert TABLE.of(signature) is wanted
    assert TABLE.covers([signature]) == ({"questions"} if wanted else set())


def test_the_shipped_table_is_of_the_shipped_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """After new weights or settings: python -m tools.training.reliability."""
    from q2_metric.metrics import load_metrics

    monkeypatch.undo()
    signed = [metric.signature for metric in load_metrics(["q2", "scale"])]
    assert findings.shipped().covers(signed) == {"questions", "sentences"}
    for kind, one in findings.shipped().findings.items():
        assert 0 <= one.low <= one.share <= one.high <= 1, kind
    assert {"equal", "neutral"} < findings.shipped().findings.keys()


@pytest.mark.parametrize(("said", "known", "how", "verdict", "wanted"), [
    ("1991", "1994", "nli", "contradiction", "Says 1991; the knowledge says 1994."),
    ("pbs", "PBS", "equal", None, "Says pbs, as the knowledge does."),
    ("a  dog", None, "no_answer", None, "Says a dog; the knowledge does not say."),
    ("It is so.", None, "nli", "entailment", "Says It is so; the knowledge supports it."),
    ("It is so.", None, "nli", "contradiction", "Says It is so; the knowledge contradicts it."),
    ("it is so    .", None, "nli", "neutral", "Says it is so; the knowledge leaves it open."),
    ("25", "52", "contradicted", None, "Says 25; the knowledge says 52."),
    ("Oslo", "oslo", "contradicted", None,
     "Says Oslo; the knowledge has that, and contradicts the claim."),
    ("a dog", "a puppy", "nli", "entailment",
     "Says a dog; the knowledge says a puppy, which agrees."),
    ("a dog", "the U.S.", "token_f1", None, "Says a dog; the knowledge says the U.S."),
    ("a dog", "a\ncat", "token_f1", "neutral",
     "Says a dog; the knowledge says a cat, which leaves it open."),
])
def test_plain_sentences(
    said: str, known: str | None, how: str, verdict: str | None, wanted: str
) -> None:
    assert plain(said, known, how, verdict) == wanted


def test_in_words_what_is_wrong_comes_first() -> None:
    agrees = question(how="equal", verdict=None, knowledge_answer="9")
    assert view(row(question(), agrees))["plain"] == ["Says 9; the knowledge says 7."]
    assert view(row(agrees))["plain"] == ["Says 9, as the knowledge does."]
    assert view(row(agrees, agrees))["plain"] == ["Agrees with the knowledge in all 2 answers."]
    (judged,) = view(row(fallback=True))["plain"]
    assert "does not seem to follow" in judged
    assert view(row(q2=None, q2_no_nli=None, reason="no_claim"))["plain"] == [
        "The response claims nothing that could be checked."]
    # Another metric's reason, beside one that has a score.
    assert view(row(agrees, word_share=None, reason="no_claim"))["plain"] == view(
        row(agrees))["plain"]
    no_support = view(row(claims=[sentence()]))["plain"]
    assert no_support == [f"No support found for “{RESPONSE}”."]


def test_the_sentence_that_contradicts_is_found() -> None:
    def against(*questions: dict[str, Any], **fields: Any) -> Any:
        return view(row(*questions, claims=[sentence(**fields)]))["claims"][0]["against"]

    assert against(question()) == [20, 35]
    assert against(question(verdict="neutral")) is None
    assert against(question(start=99)) is None  # of another sentence
    assert against(question(), support=0.9, verdict="supported") is None
    # What is contradicted is said once.
    assert view(row(question(), claims=[sentence()]))["plain"] == [
        "Says 9; the knowledge says 7."]


def test_words_that_no_question_has() -> None:
    assert unasked(RESPONSE, [question()]) == [[8, "rome"], [19, "green"]]
    # By their stem, and not what claims nothing.
    paints = question(span="rome", question="Who painted the hill?")
    assert unasked("wow , i don ' t love painters !", [paints]) == []
    assert view(row(question(), error="line 3: is not JSON")).get("unasked") is None


def test_page_terminal_and_docs_use_the_same_words() -> None:
    page = (ROOT / "q2_metric" / "report" / "page.html.j2").read_text(encoding="utf-8")
    usage = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
    words = dict(re.findall(r'^  "(.+?)": "(.+)",$', page.partition("column_words")[2], re.M))
    for title, meaning in words.items():
        assert f'head("{title}")' in page, title
        assert f"| {title} | {meaning} |" in usage, title
    result = SystemRun("rows.jsonl", 1, 0, (
        SystemScore("q2", 0.5, 1, 0, (0.25, 0.75), "q2|a:b", 1.0, 0.0, 4, 0.0, 0.5),), {})
    titles = {" ".join(str(column.header).split()) for column in systems_table(result).columns}
    assert titles == {"metric", *words}


def test_a_contradicted_answer_speaks_against_the_response() -> None:
    question = {"how": "contradicted", "verdict": None, "score": 0.0}
    assert findings.state_of(findings.of_question(question)) == "differs"
