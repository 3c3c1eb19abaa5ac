"""Detection, selection and response as one, with the scores of DSTC9's scorer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from q2_metric.knowledge.bm25 import Bm25
from q2_metric.knowledge.dstc import TurnLabel
from q2_metric.knowledge.evaluate import response_scores
from q2_metric.knowledge.respond import TurnReply, answer, official_scores
from q2_metric.knowledge.types import Dialogue, Pool, Ranked, Snippet

POOL = Pool([Snippet("hotel", "1", "Yale", doc, question, answer) for doc, question, answer in (
    ("1", "Can I park?", "Parking is free."), ("2", "Are dogs welcome?", "No pets."))])
PARKING, DOGS = POOL.snippets


class WordDetector:
    """A turn with the word "it" needs knowledge."""

    name = "words"

    def detect(self, dialogues: Sequence[Dialogue]) -> list[float]:
        return [float("it" in dialogue.last.text.split()) for dialogue in dialogues]


def test_only_detected_turns_get_snippets_and_responses() -> None:
    dialogues = [Dialogue.of("can i park it there"), Dialogue.of("can i park"),
                 Dialogue.of("is it ok with dogs")]
    first, second, third = answer(WordDetector(), Bm25(), None, dialogues, POOL)
    assert first is not None
    assert third is not None
    assert (first.response, second, third.response) == ("Parking is free.", None, "No pets.")
    assert [one.snippet for one in first.ranking] == [PARKING, DOGS]
    assert answer(WordDetector(), Bm25(), None, dialogues[1:2], POOL) == [None]


def reply(*snippets: Snippet, response: str = "") -> TurnReply:
    return TurnReply(tuple(Ranked(snippet, 0.0) for snippet in snippets), response)


def test_turns_that_were_not_detected_count_against_all_subtasks() -> None:
    said = "parking is free for guests"
    labels = [TurnLabel(True, (PARKING.key,), said), TurnLabel(True, (DOGS.key,), said),
              TurnLabel(True, (DOGS.key,), said), TurnLabel(False), TurnLabel(False)]
    answers = [reply(PARKING, DOGS, response="The parking is free for guests!"),
               reply(PARKING, DOGS, response="x"), None, reply(DOGS), None]
    scores, _ = official_scores(answers, labels)
    # Two right detections, of three detected turns and of three that need knowledge.
    assert [scores[1, name] for name in ("precision", "recall", "F1")] == pytest.approx([2 / 3] * 3)
    # The sum over the right detections is 1 for R@1, 1.5 for MRR@5 and 2 for R@5; divided by 3.
    assert (scores[2, "R@1"], scores[2, "MRR@5"], scores[2, "R@5"]) == pytest.approx(
        (1 / 3, 1.5 / 3, 2 / 3))
    for name in ("BLEU-1", "BLEU-4", "ROUGE-1", "ROUGE-2", "ROUGE-L"):
        assert scores[3, name] == pytest.approx(1 / 3), "the article and the mark do not count"
    none, _ = official_scores([None, reply(DOGS)], [labels[0], labels[3]])
    assert none == {(1, "precision"): 0.0, (1, "recall"): 0.0, (1, "F1"): 0.0}


@pytest.mark.parametrize(("said", "gold", "wanted"), [
    # BLEU-2: the square root of 3/4 x 2/3, without brevity penalty.
    ("the dog sleeps here now", "dog sleeps here tonight", {
        "BLEU-1": 0.75, "BLEU-2": 0.7071, "ROUGE-1": 0.75, "ROUGE-2": 0.6667, "ROUGE-L": 0.75}),
    # ROUGE-1 counts "yes" twice of three times; ROUGE-L counts different words: yes, no of yes, no.
    ("yes yes no", "yes yes yes no", {
        "BLEU-1": 0.7165, "ROUGE-1": 0.8571, "ROUGE-2": 0.8, "ROUGE-L": 1.0}),
    # The longest common subsequence is "x y": two of four words.
    ("x y w d", "w x y z", {"BLEU-1": 0.75, "ROUGE-L": 0.5}),
    ("", "some words", {"BLEU-1": 0.0, "ROUGE-1": 0.0, "ROUGE-L": 0.0}),
])
def test_responses_by_hand(said: str, gold: str, wanted: dict[str, float]) -> None:
    scores, why = response_scores([said], [gold])
    assert {name: scores[name] for name in wanted} == pytest.approx(wanted, abs=1e-4)
    assert ("METEOR" in scores) == (not why)
