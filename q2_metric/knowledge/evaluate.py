"""Evaluates rankings of snippets, overall and by domain, and responses, as DSTC9's scorer does:
https://github.com/alexa/alexa-with-dstc9-track1-dataset, ``scripts/scores.py``.

R@k is success at k: a right snippet is among the first k.
"""

import math
import re
import warnings
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

from q2_metric.errors import InputError, optional
from q2_metric.knowledge.types import TOP, Key, Ranked

ErrorKind = Literal["domain", "entity", "document"]
OVERALL = "all"
_PUNCTUATION = re.compile(r"""[!"#$%&()*+,\-./:;<=>?@\[\]\\^`{|}~_']""")
_ARTICLES = re.compile(r"\b(a|an|the)\b")


class Selection(NamedTuple):
    """The results of a ranker on ``n`` dialogue turns. All other values are in [0, 1]. The errors
    are shares of turns whose first snippet has the wrong domain, the right domain but the wrong
    entity, or the right entity but the wrong document. They and ``r1`` add up to 1."""

    n: int
    r1: float
    r5: float
    mrr5: float
    domain_errors: float
    entity_errors: float
    document_errors: float


def evaluate(
    rankings: Sequence[Sequence[Ranked]], gold: Sequence[Sequence[Key]]
) -> dict[str, Selection]:
    """The results of a ranker on all turns (key :data:`OVERALL`), and on the turns of each domain.
    Only the first five snippets count. The first gold key determines the domain of a turn.
    InputError: there are no turns, the lengths differ, or a turn has no gold snippet. MissingExtra:
    ``ir_measures`` is not installed."""
    if not gold or len(rankings) != len(gold):
        raise InputError(f"there are {len(rankings)} rankings for {len(gold)} labelled turns")
    for i, keys in enumerate(gold):
        if not keys:
            raise InputError(f"labelled turn {i} names no snippet")
    wrong = map(error_kind, rankings, gold)
    rows = [[*measured, *(error == kind for kind in get_args(ErrorKind))]
            for measured, error in zip(_measure(rankings, gold), wrong, strict=True)]
    domains = [keys[0][0] for keys in gold]
    groups = {OVERALL: rows}
    for domain in dict.fromkeys(domains) if any(domains) else ():
        groups[domain] = [row for row, own in zip(rows, domains, strict=True) if own == domain]
    return {name: Selection(len(group), *(sum(column) / len(group) for column in
                                          zip(*group, strict=True)))
            for name, group in groups.items()}


def error_kind(ranking: Sequence[Ranked], gold: Sequence[Key]) -> ErrorKind | None:
    """What is wrong with the first snippet (Bae et al., section 4.4); ``None`` if it is right."""
    if not ranking:
        return "domain"
    key = ranking[0].snippet.key
    if key in gold:
        return None
    if any(key[:2] == right[:2] for right in gold):
        return "document"
    return "entity" if any(key[0] == right[0] for right in gold) else "domain"


def _measure(
    rankings: Sequence[Sequence[Ranked]], gold: Sequence[Sequence[Key]]
) -> list[list[float]]:
    """For each turn: success at 1, success at 5, and the reciprocal rank."""
    ir = optional("ir_measures", "evaluating selections", "ir_measures", "knowledge")
    measures = (ir.Success @ 1, ir.Success @ TOP, ir.RR @ TOP)
    qrels = [ir.Qrel(str(i), "/".join(key), 1) for i, keys in enumerate(gold) for key in set(keys)]
    # The order decides, not the score, because EGR moves a snippet and keeps its score.
    run = [ir.ScoredDoc(str(i), "/".join(ranked.snippet.key), float(-place))
           for i, ranking in enumerate(rankings) for place, ranked in enumerate(ranking[:TOP])]
    measured = [[0.0, 0.0, 0.0] for _ in gold]
    for metric in ir.iter_calc(measures, qrels, run):
        measured[int(metric.query_id)][measures.index(metric.measure)] = float(metric.value)
    return measured


def first_stage_recall(
    rankings: Sequence[Sequence[Ranked]], gold: Sequence[Sequence[Key]], sizes: Sequence[int]
) -> dict[int, float]:
    """For each k in ``sizes``, the share of turns with a right snippet among the first k."""
    places = [
        next((p for p, ranked in enumerate(ranking) if ranked.snippet.key in keys), math.inf)
        for ranking, keys in zip(rankings, gold, strict=True)]
    return {size: sum(place < size for place in places) / len(places) for size in sizes}


def response_scores(
    responses: Sequence[str], references: Sequence[str]
) -> tuple[dict[str, float], str]:
    """The mean BLEU, METEOR and ROUGE, in [0, 1], of responses, at least one, in lower case and
    without punctuation and articles; and why METEOR is missing, if it is. MissingExtra:
    ``rouge-score`` or ``nltk`` is not installed."""
    rouge = optional("rouge_score.rouge_scorer", "ROUGE", "rouge-score", "knowledge")
    scorer = rouge.RougeScorer(["rouge1", "rouge2"])
    texts = [(_normalised(said), _normalised(gold))
             for said, gold in zip(responses, references, strict=True)]
    words = [(said.split(), gold.split()) for said, gold in texts]
    overlaps = [scorer.score(gold, said) for said, gold in texts]
    bleu = optional("nltk.translate.bleu_score", "BLEU", "nltk", "knowledge")
    scores = {f"BLEU-{order}": fmean(_bleu(bleu, *pair, order) for pair in words)
              for order in range(1, 5)}
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
