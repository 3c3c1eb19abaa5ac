"""BLEU, METEOR and ROUGE between generated responses and reference responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from q2_metric.errors import InputError, optional
from q2_metric.metrics.overlap import corpus_bleu


@dataclass(frozen=True, slots=True)
class ReferenceOverlap:
    """Corpus BLEU, mean METEOR and mean ROUGE F1 of ``n`` responses, all in [0, 1]. ``bleus`` are
    BLEU-1 to BLEU-4."""

    n: int
    bleu: float
    rouge1: float
    rouge2: float
    rouge_l: float
    meteor: float | None
    no_meteor: str = ""
    bleus: tuple[float, ...] = ()


def evaluate_responses(responses: Sequence[str], references: Sequence[str]) -> ReferenceOverlap:
    """Compares each response with its reference, by sacrebleu, rouge-score and nltk.

    Raises:
        InputError: there are no responses, or the lengths differ.
        MissingExtra: ``rouge-score`` is not installed.
    """
    if not responses or len(responses) != len(references):
        raise InputError(f"there are {len(responses)} responses for {len(references)} references")
    n = len(responses)
    rouge_scorer = optional("rouge_score.rouge_scorer", "ROUGE", "rouge-score", "knowledge")
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    rouge = [scorer.score(gold, said) for said, gold in zip(responses, references, strict=True)]
    means = [sum(r[kind].fmeasure for r in rouge) / n for kind in
             ("rouge1", "rouge2", "rougeL")]
    meteor, why = _meteor(responses, references)
    bleus = tuple(corpus_bleu(responses, references, order) for order in range(1, 5))
    return ReferenceOverlap(n, bleus[-1], means[0], means[1], means[2], meteor, why, bleus)


def _meteor(responses: Sequence[str], references: Sequence[str]) -> tuple[float | None, str]:
    try:
        score = import_module("nltk.translate.meteor_score").meteor_score
    except ImportError:
        return None, "METEOR needs nltk: pip install \"q2-metric[knowledge]\""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    cut = Tokenizer13a()
    pairs = [
        ([cut(gold.lower()).split()], cut(said.lower()).split())
        for said, gold in zip(responses, references, strict=True)
    ]
    try:
        scores = [float(score(gold, said)) for gold, said in pairs]
    except LookupError:
        return None, "METEOR needs WordNet: python -m nltk.downloader wordnet"
    return sum(scores) / len(scores), ""
