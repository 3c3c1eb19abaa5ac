"""Word overlap of the response with the knowledge: token F1 and BLEU (Q², section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from q2_metric.metrics.claims import gated
from q2_metric.metrics.signature import signature
from q2_metric.text.normalise import token_f1
from q2_metric.types import Example, Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


class TokenF1:
    """Token F1 between response and knowledge, in [0, 1]. Both are normalised as answers in Q²."""

    name = "knowledge_f1"

    def __init__(self) -> None:
        self.signature = signature(self.name, {})

    @gated
    def score(self, examples: Sequence[Example]) -> list[Score]:
        return [Score(item, token_f1(item.response, item.knowledge)) for item in examples]


class Bleu:
    """Sentence BLEU by sacrebleu, with the knowledge as reference, in [0, 1]. With
    ``effective_order``, responses of fewer than four words can score above 0."""

    name = "knowledge_bleu"

    def __init__(self) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self._bleu = BLEU(effective_order=True)
        self.signature = _bleu_signature(self._bleu)

    @gated
    def score(self, examples: Sequence[Example]) -> list[Score]:
        return [
            Score(item, _share(self._bleu.sentence_score(item.response, [item.knowledge]).score))
            for item in examples
        ]


def corpus_bleu(responses: Sequence[str], references: Sequence[str | Sequence[str]]) -> float:
    """Corpus BLEU in [0, 1], with one or several references for each response. This is the BLEU
    that papers report, not the mean of sentence scores. It is 0 if there are no responses."""
    from sacrebleu.metrics.bleu import BLEU

    if not responses:
        return 0.0
    several = [[reference] if isinstance(reference, str) else reference for reference in references]
    # sacrebleu takes one list of all first references, one of all second references, and so on.
    # None marks a missing reference.
    return _share(BLEU().corpus_score(list(responses), list(zip_longest(*several))).score)


def _share(percent: float) -> float:
    """Rounding can make sacrebleu's percentage exceed 100."""
    return min(1.0, percent / 100)


def _bleu_signature(bleu: BLEU) -> str:
    bleu.sentence_score("", [""])  # sacrebleu knows its signature only after a first score
    settings: dict[str, object] = {}
    for part in str(bleu.get_signature()).split("|"):
        key, _, value = part.partition(":")
        settings["sacrebleu" if key == "version" else key] = value
    return signature("knowledge_bleu", settings)
