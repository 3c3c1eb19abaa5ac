"""Word overlap of the response with the knowledge: token F1 and BLEU (Q², section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING

from q2_metric.metrics.claims import texts_only
from q2_metric.metrics.signature import signature
from q2_metric.text.normalise import token_f1
from q2_metric.types import Example, Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

    from q2_metric.metrics.bootstrap import Floats


class TokenF1:
    """Token F1 between response and knowledge, in [0, 1]. Both are normalised as answers in Q²."""

    name = "knowledge_f1"

    def __init__(self) -> None:
        self.signature = signature(self.name, {})

    @texts_only
    def score(self, examples: Sequence[Example]) -> list[Score]:
        return [Score(item, token_f1(item.response, item.knowledge)) for item in examples]


class Bleu:
    """Sentence BLEU by sacrebleu, with the knowledge as reference, in [0, 1]. With
    ``effective_order``, responses of fewer than four words can score above 0."""

    name = "knowledge_bleu"

    def __init__(self) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self._bleu = BLEU(effective_order=True)
        self.signature = bleu_signature(self._bleu, self.name)

    @texts_only
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


def bleu_statistics(response: str, references: Sequence[str]) -> list[float]:
    """What corpus BLEU adds up for each response: lengths of the response and of the reference
    nearest in length, matched n-grams, and all n-grams of the response, each for n = 1 to 4."""
    one = _sentence_bleu().sentence_score(response, list(references))
    return [one.sys_len, one.ref_len, *one.counts, *one.totals]


@cache
def _sentence_bleu() -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)


def bleu_of(sums: Floats) -> Floats:
    """Corpus BLEU in [0, 1] of sets of responses, from the sums of :func:`bleu_statistics`:
    (sets, 10) -> (sets,). It is that of :func:`corpus_bleu`."""
    import numpy as np
    from sacrebleu.metrics.bleu import BLEU

    return np.array([
        _share(BLEU.compute_bleu(
            list(row[2:6]), list(row[6:]), int(row[0]), int(row[1]), smooth_method="exp").score)
        for row in sums])


def _share(percent: float) -> float:
    """Rounding can make sacrebleu's percentage exceed 100."""
    return min(1.0, percent / 100)


def bleu_signature(bleu: BLEU, name: str) -> str:
    """The signature under which a metric ``name`` uses sacrebleu's BLEU."""
    bleu.sentence_score("", [""])  # sacrebleu knows its signature only after a first score
    settings: dict[str, object] = {}
    for part in str(bleu.get_signature()).split("|"):
        key, _, value = part.partition(":")
        settings["sacrebleu" if key == "version" else key] = value
    return signature(name, settings)
