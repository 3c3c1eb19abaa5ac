"""BLEU, METEOR and ROUGE of responses, as the scorer of DSTC9's third subtask computes them.

https://github.com/alexa/alexa-with-dstc9-track1-dataset, ``scripts/scores.py``: each is a mean over
responses, in lower case and without punctuation and articles.
"""

import re
import warnings
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from q2_metric.errors import optional

_PUNCTUATION = re.compile(r"""[!"#$%&()*+,\-./:;<=>?@\[\]\\^`{|}~_']""")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
ORDERS = range(1, 5)


def response_scores(
    responses: Sequence[str], references: Sequence[str]
) -> tuple[dict[str, float], str]:
    """Compares each response, at least one, with its reference, by nltk and rouge-score.

    Returns:
        The mean of each score over the responses, in [0, 1], and why METEOR is missing, if it is.

    Raises:
        MissingExtra: ``rouge-score`` or ``nltk`` is not installed.
    """
    rouge = optional("rouge_score.rouge_scorer", "ROUGE", "rouge-score", "knowledge")
    scorer = rouge.RougeScorer(["rouge1", "rouge2"])
    texts = [(_normalised(said), _normalised(gold))
             for said, gold in zip(responses, references, strict=True)]
    words = [(said.split(), gold.split()) for said, gold in texts]
    overlaps = [scorer.score(gold, said) for said, gold in texts]
    bleu = optional("nltk.translate.bleu_score", "BLEU", "nltk", "knowledge")
    scores = {f"BLEU-{order}": fmean(_bleu(bleu, *pair, order) for pair in words)
              for order in ORDERS}
    scores |= {f"ROUGE-{n}": fmean(item[f"rouge{n}"].fmeasure for item in overlaps) for n in (1, 2)}
    scores["ROUGE-L"] = fmean(_rouge_l(rouge, *pair) for pair in words)
    meteor = optional("nltk.translate.meteor_score", "METEOR", "nltk", "knowledge")
    try:
        scores["METEOR"] = fmean(meteor.single_meteor_score(gold, said) for said, gold in words)
    except LookupError:
        return scores, "METEOR needs WordNet: python -m nltk.downloader wordnet"
    return scores, ""


def _normalised(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub(" ", text.lower())).split())


def _bleu(bleu: Any, said: Sequence[str], gold: Sequence[str], order: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a response without a common n-gram
        return float(bleu.sentence_bleu([gold], said, [1 / order] * order))


def _rouge_l(rouge: Any, said: Sequence[str], gold: Sequence[str]) -> float:
    """F1 of the different words of the longest common subsequence, as in the package ``rouge``.
    In this order of the arguments, ``lcs_ind`` chooses the same subsequence as that package."""
    common = {said[i] for i in rouge.lcs_ind(said, gold)}
    return 2 * len(common) / (len(set(said)) + len(set(gold))) if common else 0.0
