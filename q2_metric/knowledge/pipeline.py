"""Detection, selection and response, one after the other (Bae et al., figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from q2_metric.knowledge.detection import THRESHOLD, evaluate_detection
from q2_metric.knowledge.dstc import TurnLabel
from q2_metric.knowledge.evaluate import OVERALL, evaluate, response_scores
from q2_metric.knowledge.types import Detector, Dialogue, Pool, Ranked, Ranker, Snippet

if TYPE_CHECKING:
    from q2_metric.knowledge.respond import Responder

Scores = dict[tuple[int, str], float]
"""The score of each subtask (1 to 3) and measure."""


class TurnReply(NamedTuple):
    """The best snippets for a turn, and the response from the first."""

    ranking: tuple[Ranked, ...]
    response: str


def answer(
    detector: Detector | None, ranker: Ranker, responder: Responder | None,
    dialogues: Sequence[Dialogue], pool: Pool,
) -> list[TurnReply | None]:
    """``None`` for a dialogue whose last turn is not detected as one that needs knowledge. Without
    a detector, each dialogue needs knowledge. Without a responder, the response is the answer of
    the first snippet."""
    asking = [True] * len(dialogues) if detector is None else [
        p > THRESHOLD for p in detector.detect(dialogues)]
    asked = [one for one, asks in zip(dialogues, asking, strict=True) if asks]
    rankings = ranker.rank(asked, pool) if asked else []
    said = respond(responder, asked, [ranking[0].snippet for ranking in rankings])
    answers = iter(TurnReply(tuple(ranking), text)
                   for ranking, text in zip(rankings, said, strict=True))
    return [next(answers) if asks else None for asks in asking]


def respond(
    responder: Responder | None, dialogues: Sequence[Dialogue], snippets: Sequence[Snippet]
) -> list[str]:
    if responder is None:
        return [snippet.answer for snippet in snippets]
    from q2_metric.knowledge.respond import GroundedTurn

    return responder.respond([GroundedTurn(dialogue, snippet) for dialogue, snippet
                              in zip(dialogues, snippets, strict=True)])


def official_scores(
    answers: Sequence[TurnReply | None], labels: Sequence[TurnLabel]
) -> tuple[Scores, str]:
    """DSTC9's scores of all three subtasks, and why METEOR is missing, if it is.

    A turn that is not detected, or wrongly detected, counts against subtasks 2 and 3 too: precision
    divides the sum over the right detections by all detected turns, and recall by all turns that
    need knowledge. Their F1 is the mean over the right detections times the F1 of detection.
    Without a right detection, subtask 1 alone has scores.
    """
    found = evaluate_detection([float(one is not None) for one in answers],
                               [label.target for label in labels])
    scores: Scores = {
        (1, "precision"): found.precision, (1, "recall"): found.recall, (1, "F1"): found.f1}
    right = [(one, label) for one, label in zip(answers, labels, strict=True)
             if one is not None and label.target]
    if not right:
        return scores, ""
    chosen = evaluate([one.ranking for one, _ in right],
                      [label.knowledge for _, label in right])[OVERALL]
    means = {(2, "MRR@5"): chosen.mrr5, (2, "R@1"): chosen.r1, (2, "R@5"): chosen.r5}
    measured, no_meteor = response_scores(
        [one.response for one, _ in right], [label.response for _, label in right])
    means |= {(3, name): value for name, value in measured.items()}
    return {**scores, **{key: value * found.f1 for key, value in means.items()}}, no_meteor
