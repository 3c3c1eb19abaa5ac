"""Word overlap of the response with the knowledge: token F1 (TRUE; SCALE, table 3), the overlap and
the BLEU that Q² is compared with (Q², section 5.1), and the share of content words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from q2_metric.metrics.claims import gated
from q2_metric.metrics.signature import signature
from q2_metric.text.normalise import token_f1
from q2_metric.text.overlap import known_words
from q2_metric.types import Example, Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

    from q2_metric.metrics.bootstrap import Floats


class _WordOverlap:
    """Compares the words of each response with those of its knowledge."""

    name = ""
    settings: ClassVar[Mapping[str, object]] = {}

    def __init__(self) -> None:
        self.signature = signature(self.name, self.settings)

    @gated
    def score(self, examples: Sequence[Example]) -> list[Score]:
        values = [self.overlap(item.response, item.knowledge) for item in examples]
        return [Score(item, value, reason="no_claim" if value is None else None)
                for item, value in zip(examples, values, strict=True)]

    def overlap(self, response: str, knowledge: str) -> float | None:
        raise NotImplementedError


class TokenF1(_WordOverlap):
    """Token F1 between response and knowledge, in [0, 1]. Both are normalised as answers in Q²."""

    name = "knowledge_f1"

    def overlap(self, response: str, knowledge: str) -> float:
        return token_f1(response, knowledge)


class OverlapF1(_WordOverlap):
    """F1 of the content words that response and knowledge share, in [0, 1]: lower-cased tokens of
    spaCy without its stop words and punctuation (Q², section 5.1, by its authors' program)."""

    name = "overlap"
    settings: ClassVar[Mapping[str, object]] = {"tokens": "spacy"}

    def overlap(self, response: str, knowledge: str) -> float:
        said, known = _spacy_words(response), _spacy_words(knowledge)
        both, words = (said & known).total(), said.total() + known.total()
        return 2 * both / words if words else 0.0


def _spacy_words(text: str) -> Counter[str]:
    from q2_metric.english.parse.parser import load

    return Counter(token.text for token in load().tokenizer(text.lower())
                   if not token.is_stop and not token.is_punct)


class WordShare(_WordOverlap):
    """The share of the response's content words that occur in the knowledge, in [0, 1]. A word
    occurs if the knowledge has a word with the same stem ("opening" for "opened"). A response
    without content words has no value and the reason "no_claim"."""

    name = "word_share"

    def overlap(self, response: str, knowledge: str) -> float | None:
        return known_words(response, knowledge)


class Bleu(_WordOverlap):
    """Sentence BLEU by sacrebleu, with the knowledge as reference and both texts lower-cased, in
    [0, 1]. With ``effective_order``, responses of fewer than four words can score above 0."""

    name = "knowledge_bleu"

    def __init__(self) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self._bleu = BLEU(effective_order=True, lowercase=True)
        self.signature = bleu_signature(self._bleu, self.name)

    def overlap(self, response: str, knowledge: str) -> float:
        return _share(self._bleu.sentence_score(response, [knowledge]).score)


def corpus_bleu(responses: Sequence[str], references: Sequence[str | Sequence[str]]) -> float:
    """Corpus BLEU of n-grams up to four words in [0, 1], with one or several references for each
    response. This is the BLEU that papers report, not the mean of sentence scores. It is 0 if there
    are no responses."""
    import numpy as np

    if not responses:
        return 0.0
    rows = [bleu_statistics(response, [known] if isinstance(known, str) else known)
            for response, known in zip(responses, references, strict=True)]
    return float(bleu_of(np.sum(rows, axis=0, keepdims=True))[0])


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
    (sets, 10) -> (sets,)."""
    import numpy as np
    from sacrebleu.metrics.bleu import BLEU

    return np.array([_share(BLEU.compute_bleu(
        list(row[2:6]), list(row[6:]), int(row[0]), int(row[1]), smooth_method="exp").score)
        for row in sums])


def _share(percent: float) -> float:
    """Rounding can make sacrebleu's percentage exceed 100."""
    return min(1.0, percent / 100)


def bleu_signature(bleu: BLEU, name: str) -> str:
    """The signature under which a metric ``name`` uses sacrebleu's BLEU."""
    bleu.corpus_score([""], [[""]])  # sacrebleu knows its signature only after a first score
    parts = (part.partition(":") for part in str(bleu.get_signature()).split("|"))
    return signature(
        name, {"sacrebleu" if key == "version" else key: value for key, _, value in parts})
