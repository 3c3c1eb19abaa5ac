"""Short answers are judged with their question by the bundled preset, and by no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from fakes import FakeBackbone

from q2_metric import scoring
from q2_metric.cli.main import main
from q2_metric.english.claims.checkable import decides
from q2_metric.metrics.scale import Scale
from q2_metric.types import Example, Judgement

TOWER = ("The tower opened in 1889. The museum in the tower has 12 rooms and is open on Sundays. A "
         "ticket costs 14 euros. Dogs are not allowed.")
JUDGED = [
    ("1889.", "When did it open?", True), ("1890.", "When did it open?", False),
    ("12", "How many rooms does the museum have?", True),
    ("14", "How many rooms does the museum have?", False),
    ("€14", "How much does a ticket cost?", True), ("€13", "How much does a ticket cost?", False),
    ("Yes.", "Is the museum open on Sundays?", True),
    ("No.", "Is the museum open on Sundays?", False),
    ("Yes", "Are dogs allowed?", False), ("No, they aren't.", "Are dogs allowed?", True),
    ("No.", "Did the tower open in 1889?", False),
]


@pytest.mark.slow
@pytest.mark.parametrize("reading", ["consistent", "attributable"])
def test_short_answers_are_judged_with_their_question(reading: str) -> None:
    loaded = scoring.load(["scale"], {"support": reading})
    rows = [Example(said, TOWER, question=asked) for said, asked, _ in JUDGED]
    scores = [one["scale"] for one in scoring.score(loaded, rows, evidence=True)]
    assert [(score.value or 0) > 0.5 for score in scores] == [held for *_, held in JUDGED]
    verdicts = [one.verdict for score in scores for one in score.evidence
                if isinstance(one, Judgement)]
    assert verdicts == ["supported" if held else "contradicted" for *_, held in JUDGED]


@pytest.mark.slow
def test_q2_asks_about_what_a_short_answer_states() -> None:
    loaded = scoring.load(["q2", "scale", "groundedness"], {})
    rows = [Example(said, TOWER, question="When did it open?") for said in ("1889.", "1890.")]
    right, wrong = scoring.score(loaded, rows)
    for name in ("q2", "scale", "groundedness"):
        assert (right[name].value or 0) > 0.8, name
        assert (wrong[name].value or 0) < 0.2, name


@pytest.mark.slow
def test_a_yes_to_what_no_rule_can_state_claims_nothing() -> None:
    loaded = scoring.load(["q2", "scale", "groundedness"], {})
    rows = [Example("Yes.", TOWER, question="Is it red or blue?"), Example("Yes.", TOWER)]
    for scores in scoring.score(loaded, rows):
        assert {score.reason for score in scores.values()} == {"no_claim"}


def test_the_papers_recipe_reads_no_question() -> None:
    metric = Scale(FakeBackbone())
    (score,) = scoring.score([metric], [Example("Yes.", TOWER, question="Is it tall?")])
    assert score["scale"].reason == "no_claim"


@pytest.mark.parametrize(("said", "asked", "so"), [
    ("Yes.", "Is the shop open?", True), ("No, it is not.", "Is the shop open?", True),
    ("Yes.", "When is it open?", False), ("Yes.", "Do you like it?", False),
    ("Yes, on Sundays.", "Is the shop open?", False), ("Yes.", None, False),
    ("True.", "OK. And is the shop open?", True),
])
def test_which_responses_say_yes_or_no(said: str, asked: str | None, so: bool) -> None:
    assert decides(said, asked) is so


@pytest.mark.slow
def test_the_command_scores_what_the_metric_scores(tmp_path: Path) -> None:
    """From the cache too: it knows which metrics score "Yes." and chat."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(one) + "\n" for one in (
        {"response": "Yes.", "question": "Is the museum open on Sundays?", "knowledge": TOWER},
        {"response": "Hello, how are you?", "question": "Hi!", "knowledge": TOWER})))

    def values(reading: str) -> list[float | None]:
        out = tmp_path / "out.jsonl"
        outcome = CliRunner().invoke(main, [
            "score", str(rows), "--metrics", "scale", "-s", f"support={reading}", "--overwrite",
            "--cache", str(tmp_path / "cache"), "--out", str(out)])
        assert outcome.exit_code == 0, outcome.output
        return [json.loads(line)["scale"] for line in out.read_text().splitlines()]

    for _ in range(2):
        held, chat = values("consistent")
        assert (held or 0) > 0.5
        assert chat is None
        held, chat = values("attributable")
        assert (held or 0) > 0.5
        assert chat == 0
