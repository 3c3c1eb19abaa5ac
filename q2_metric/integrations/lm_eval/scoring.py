"""Scores what a rank (a process of the run) generated or judged: all its rows at once."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from inspect import signature
from tempfile import NamedTemporaryFile
from typing import Any

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.integrations.lm_eval.documents import custom
from q2_metric.integrations.lm_eval.tables import details, on_every_rank
from q2_metric.memory import free_gpu_memory
from q2_metric.metrics.overlap import TokenF1
from q2_metric.metrics.registry import PAPERS, check_names, keywords, models
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.models.stages import clear_cache
from q2_metric.rows.fields import output_row
from q2_metric.scoring import NO_CLAIM, NoClaim
from q2_metric.scoring.outcome import CLAIMLESS
from q2_metric.text.given import is_blank
from q2_metric.text.normalise import token_f1
from q2_metric.types import Example, Metric, Score

_LOG = logging.getLogger(__name__)

Document = Mapping[str, Any]

Results = dict[str, Any]
"""By metric of the table, the value of one document: a number, or what is aggregated later."""

THRESHOLD = 0.5
"""A score above this value counts as consistent (Q² paper, section 4)."""

_PLAIN = ("metrics", "preset", *list(signature(custom).parameters)[:-1])
"""Options without the prefix ``metric_``."""
_OF_MODELS = ("device", "dtype", "batch_size", "seed")
"""Arguments of the evaluated model that have the same name as a setting of a metric."""
_told: set[str] = set()
"""The misspelt options, of which one warning is enough: a group's tasks read the same metadata."""
_loadable: set[str] = set()


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the metrics in a run.

    In the metadata they have the prefix ``metric_`` (except ``metrics``, ``preset`` and models),
    because the harness puts the arguments of the evaluated model there too. ``keywords`` are those
    of ``scoring.load``. The default device is the CPU: the evaluated model uses the GPU.
    """

    metrics: tuple[str, ...] = PAPERS
    evidence: bool = True
    no_claim: NoClaim = NO_CLAIM
    keywords: Mapping[str, Any] = field(default_factory=lambda: {"device": "cpu"})

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Options:
        """Reads the options from the metadata of a run. Raises InputError if a metric or an option
        ``metric_…`` is unknown, or a value is wrong."""
        settings = [name for name in keywords() if name not in models()]
        known = [f"metric_{name}" for name in ("evidence", "no_claim", *settings)]
        refuse_unknown([key for key in metadata if key.startswith("metric_")],
                       ["metrics", "preset", *known], "option")
        _warn_of_slips(metadata, [*known, *models(), *_PLAIN])
        given: dict[str, Any] = {"device": "cpu"} | {
            key.removeprefix("metric_"): metadata[key] for key in known if key in metadata} | {
            key: str(metadata[key]) for key in ("preset", *models()) if metadata.get(key)}
        evidence = given.pop("evidence", True)
        if not isinstance(evidence, bool):
            raise InputError(f"metric_evidence must be true or false, not {evidence!r}")
        return cls(
            metrics=tuple(check_names(metadata.get("metrics") or PAPERS)), evidence=evidence,
            no_claim=scoring.check_no_claim(given.pop("no_claim", None)), keywords=given)


def _warn_of_slips(metadata: Mapping[str, Any], known: Sequence[str]) -> None:
    """Names such as "metric" are no errors: they may be arguments of the model."""
    names = {name.removeprefix("metric_"): name for name in known} | {name: name for name in known}
    for key in metadata:
        close = get_close_matches(key, names, n=1, cutoff=0.85)
        if close and key not in (*known, *_OF_MODELS, *_told):
            _told.add(key)
            _LOG.warning("%r in the metadata is not an option of q2 and has no effect; "
                         "did you mean %r?", key, names[close[0]])


def check_loads(options: Options) -> None:
    """Checks that the metrics can be loaded, before the model generates its answers for hours.
    Raises InputError, ModelError or MissingExtra if they cannot."""
    if repr(options) not in _loadable:
        scoring.load(options.metrics, options.keywords)
        _release()
        _loadable.add(repr(options))


def _score(
    examples: Sequence[Example], options: Options, *, evidence: bool = False
) -> tuple[Sequence[Mapping[str, Score]], Mapping[str, str]]:
    """Loads the metrics, scores all examples in one batch, and releases the metrics. If no response
    can be scored, the answers are saved to a file that the log names, and both results are empty:
    the run may contain other tasks and hours of work."""
    def warn(place: int, words: str) -> None:
        name, _, problem = words.partition(": ")
        _LOG.warning("row %s: %s cannot score it: %s", examples[place].id, name, problem)

    try:
        loaded: Sequence[Metric] = scoring.load(options.metrics, options.keywords)
        scores = scoring.score(loaded, examples, evidence=evidence, on_fault=warn)
        signatures = scoring.signatures(loaded, options.no_claim)
        del loaded
        _release()
        return scores, signatures
    except Exception as error:
        _LOG.error("the answers were not scored: %s: %s; they are saved in %s; score them with: "
                   "q2 score %s",
                   type(error).__name__, " ".join(str(error).split()), *[_kept(examples)] * 2)
        return [{} for _ in examples], {}


def _kept(examples: Sequence[Example]) -> str:
    with NamedTemporaryFile("w", prefix="q2-answers-", suffix=".jsonl", delete=False,
                            encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in examples)
    return file.name


def _release() -> None:
    clear_cache()
    gc.collect()
    free_gpu_memory()


def score_responses(
    answers: Sequence[str], documents: Sequence[Document], options: Options,
    reported: Container[str],
) -> tuple[list[Results], Mapping[str, str]]:
    """Scores the answers of a model; also returns the signatures. Only ``reported`` values are
    kept. ``f1`` compares with the gold response. ``bleu`` is the pair (gold response, answer),
    because BLEU is computed over all answers together."""
    examples = [_example(*both) for both in zip(documents, answers, strict=True)]
    by_row, signatures = _score(examples, options, evidence=options.evidence)
    # Token F1 with the knowledge is always computed, because every task reports it.
    f1 = scoring.score([TokenF1()], examples)
    if options.no_claim == "exclude":
        _warn_of_silence(by_row)
    made = []
    for answer, document, words, scores in zip(answers, documents, f1, by_row, strict=True):
        results: Results = {"empty": float(is_blank(answer))}
        if gold := document["response"]:
            results |= {"f1": token_f1(answer, gold), "bleu": (gold, answer)}
        results |= _numbers({**words, **scores}, options.no_claim)
        made.append({name: value for name, value in results.items() if name in reported})
    on_every_rank(made)
    return made, signatures


def _warn_of_silence(by_row: Sequence[Mapping[str, Score]]) -> None:
    """Warns of metrics for which the harness's table has no line, because no answer counts."""
    for name in dict.fromkeys(name for scores in by_row for name in scores):
        scores = [row[name] for row in by_row if name in row]
        if all(one.value is None and one.reason in CLAIMLESS for one in scores):
            _LOG.warning(
                "%s: no answer makes a claim, so with metric_no_claim=exclude all %d are left out "
                "and the table has no mean of it; metric_no_claim=zero counts them as 0",
                name, len(scores))


def _numbers(scores: Mapping[str, Score], no_claim: NoClaim) -> Results:
    numbers = scoring.row_numbers(scores, no_claim)
    row = output_row(0, Example("", ""), scores, list(scores))
    return {**{name: value for name, value in numbers.items() if value is not None},
            **{name: row.get(name) or [] for name in details(scores)}}


def _example(document: Document, response: str) -> Example:
    return Example(response, document["knowledge"], tuple(document["history"]), document["id"],
                   question=document.get("question") or None)


def score_judged(
    margins: Sequence[float], documents: Sequence[Document], options: Options
) -> tuple[list[Results], Mapping[str, str]]:
    """Scores the given responses that a model judged; also returns the signatures. ``margins`` are
    the log-likelihoods of Yes minus those of No; above 0, the model says Yes."""
    examples = [_example(document, document["response"]) for document in documents]
    by_row, signatures = _score(examples, options)
    made = []
    for margin, document, scores in zip(margins, documents, by_row, strict=True):
        label = bool(document["consistent"])
        results: Results = {"acc": float((margin > 0) == label), "auc": (label, margin),
                            "balanced_acc": (label, margin > 0)}
        for name, one in scores.items():
            value = scoring.row_numbers({name: one}, options.no_claim)[name]
            results[f"{name}_auc"] = None if value is None else (label, value)
            results[f"{name}_balanced_acc"] = None if value is None else (label, value > THRESHOLD)
        made.append(results)
    on_every_rank(made)
    return made, signatures
