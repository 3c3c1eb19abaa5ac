"""Word overlap of the response with the knowledge: token F1 and BLEU (Q², section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from q2_metric.metrics.claims import texts_only
from q2_metric.metrics.signature import signature
from q2_metric.text.normalise import token_f1
from q2_metric.types import Example, Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


class TokenF1:
    """Token F1 of the response with the knowledge, in [0, 1], normalised as in Q²."""

    name = "knowledge_f1"

    def __init__(self) -> None:
        self.signature = signature(self.name, {})

    @texts_only
    def score(self, examples: Sequence[Example]) -> list[Score]:
        """One score for each example, in order."""
        return [Score(item, token_f1(item.response, item.knowledge)) for item in examples]


class Bleu:
    """Sentence BLEU of the response with the knowledge as reference, in [0, 1].

    It is sacrebleu's with effective order, so that responses under four words can score. The
    signature contains sacrebleu's own settings.
    """

    name = "knowledge_bleu"

    def __init__(self) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self._bleu = BLEU(effective_order=True)
        self.signature = _bleu_signature(self._bleu)

    @texts_only
    def score(self, examples: Sequence[Example]) -> list[Score]:
        """One score for each example, in order."""
        return [
            Score(item, _share(self._bleu.sentence_score(item.response, [item.knowledge]).score))
            for item in examples
        ]


def corpus_bleu(responses: Sequence[str], references: Sequence[str | Sequence[str]]) -> float:
    """BLEU of a system in [0, 1], with one or several references for each response.

    This is the figure that papers report: n-grams of all responses are counted together, so it is
    not a mean. It is 0 without responses.
    """
    from sacrebleu.metrics.bleu import BLEU

    if not responses:
        return 0.0
    several = [[reference] if isinstance(reference, str) else reference for reference in references]
    # sacrebleu wants everybody's first reference, everybody's second, …; None stands for a gap.
    return _share(BLEU().corpus_score(list(responses), list(zip_longest(*several))).score)


def _share(percent: float) -> float:
    """BLEU's percentage as a share, at most 1 (rounding errors can exceed it)."""
    return min(1.0, percent / 100)


def _bleu_signature(bleu: BLEU) -> str:
    bleu.sentence_score("", [""])  # it knows its signature only after a first score
    settings: dict[str, object] = {}
    for part in str(bleu.get_signature()).split("|"):
        key, _, value = part.partition(":")
        settings["sacrebleu" if key == "version" else key] = value
    return signature("knowledge_bleu", settings)
