"""From a model's answers to the numbers of the harness's table.

The task's filter calls :func:`score_responses` or :func:`score_judged` once for all of a
rank's documents. What comes back are the answers, each with its numbers attached, which
the harness then asks for one by one (``process_results``).
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from q2_metric import metrics
from q2_metric.errors import InputError
from q2_metric.metrics.faults import score_each
from q2_metric.metrics.registry import models as model_keywords
from q2_metric.rows.fields import output_row
from q2_metric.rows.texts import is_blank
from q2_metric.types import Example, Metric, Score

_LOG = logging.getLogger(__name__)

Document = Mapping[str, Any]
"""A row of a task: id, knowledge, history, response (see :mod:`lm_eval_plugin.documents`)."""

Results = dict[str, Any]
"""What a document adds to each metric of the table."""

THRESHOLD = 0.5
"""A response with a higher Q² or SCALE score counts as consistent (Q², section 4)."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the metric runs, out of the metadata of a run.

    The harness mixes the evaluated model's own arguments (``device``, ``dtype``, …) into
    the metadata, so the metric's have names of their own.

    Attributes:
        preset: which models ("preset").
        device: ``metric_device``. By default the CPU: a GPU belongs to the evaluated model.
        dtype: ``metric_dtype``.
        batch_size: ``metric_batch_size``.
        evidence: ``metric_evidence``, whether to look for each sentence's support.
        models: Hub names or folders in place of the preset's, by keyword.
    """

    preset: str = "bundled"
    device: str = "cpu"
    dtype: str | None = None
    batch_size: int | None = None
    evidence: bool = True
    models: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Options:
        """The options among the metadata.

        Raises:
            InputError: an unknown preset, a ``metric_…`` that does not exist, or a value
                that is not what it should be.
        """
        from q2_metric.models.presets import preset

        names = {f"metric_{f.name}": f for f in fields(cls) if f.name not in ("preset", "models")}
        given: dict[str, Any] = {}
        for key, value in metadata.items():
            if key in names:
                given[names[key].name] = value
            elif key.startswith("metric_"):
                raise InputError(f"unknown option {key!r} (known: preset, {', '.join(names)})")
        if "preset" in metadata:
            given["preset"] = preset(str(metadata["preset"])).name
        size = given.get("batch_size")
        if size is not None and (not isinstance(size, int) or size < 1):
            raise InputError(f"metric_batch_size must be a whole number from 1, not {size!r}")
        if not isinstance(given.get("evidence", True), bool):
            raise InputError(f"metric_evidence must be true or false, not {given['evidence']!r}")
        models = {key: str(metadata[key]) for key in model_keywords() if key in metadata}
        return cls(**given, models=models)


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of some examples by metric's name, in order, and the signatures."""

    scores: Mapping[str, Sequence[Score]]
    signatures: Mapping[str, str]


def score(examples: Sequence[Example], names: Sequence[str], options: Options) -> Scored:
    """Loads the metrics, scores all examples in one batch, and lets the models go.

    A response that the models cannot score is named in a warning and has no value.

    Raises:
        ModelError, MissingExtra: the preset's models cannot be loaded, or are broken.
    """
    loaded = metrics.load_metrics(
        names,
        options.preset,
        device=options.device,
        dtype=options.dtype,
        batch_size=options.batch_size,
        **options.models,
    )
    scores = {metric.name: _scores(metric, examples, options.evidence) for metric in loaded}
    signatures = {metric.name: metric.signature for metric in loaded}
    del loaded
    _release()
    return Scored(scores, signatures)


def _scores(metric: Metric, examples: Sequence[Example], evidence: bool) -> list[Score]:
    if not examples:
        return []
    found = []
    score = partial(metrics.score_with, metric, evidence=evidence)
    for example, one in zip(examples, score_each(metric.name, score, examples), strict=True):
        if isinstance(one, str):
            _LOG.warning("row %s: %s cannot score it: %s", example.id, metric.name, one)
            one = Score(example, None)
        found.append(one)
    return found


def _release() -> None:
    """Frees the memory of models that nobody holds any more."""
    from q2_metric.models.stages import clear_cache

    clear_cache()
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


# --- generated answers -----------------------------------------------------------------


class Answer(str):
    """A generated answer with what it adds to each metric of the table.

    To pickle it (the harness gathers the logged samples of all ranks) leaves the numbers
    behind: they travel in the samples themselves.
    """

    results: Results
    document: Document

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def score_responses(
    answers: Sequence[str],
    documents: Sequence[Document],
    options: Options,
    reported: Container[str],
) -> tuple[list[Answer], Mapping[str, str]]:
    """The answers with their numbers, and the signatures of Q² and SCALE.

    ``f1`` and ``bleu`` compare with the gold response and are left out where there is none;
    ``bleu`` is the pair (gold, answer), since BLEU is of a whole system. An answer without
    a visible character is ``empty`` and scores 0: it says nothing that could be supported.

    Args:
        answers: as the model gave them.
        documents: what each answers.
        options: how the metric runs.
        reported: the metrics of the task's table; others are left out.
    """
    # Lone surrogates, which a server's JSON can hold, could not be tokenised or written.
    texts = [answer.strip().encode("utf-8", "replace").decode("utf-8") for answer in answers]
    full = [i for i, text in enumerate(texts) if not is_blank(text)]
    with_gold = [i for i in full if documents[i]["response"]]
    examples = [example_of(documents[i], texts[i]) for i in full]
    gold_pairs = [Example(texts[i], documents[i]["response"]) for i in with_gold]
    found = score(examples, ("q2", "scale"), options)
    overlaps = score([*examples, *gold_pairs], ("f1",), options).scores["f1"]

    results = [_empty(document) for document in documents]
    for place, i in enumerate(full):
        scores = {name: of_all[place] for name, of_all in found.scores.items()}
        row = output_row(i, examples[place], scores, ("q2", "scale"))
        for name in ("q2", "q2_no_nli", "scale"):
            results[i][name] = row[name] or 0.0
        for name in ("fallback", "questions", "evidence"):
            results[i][name] = row[name]
        results[i]["knowledge_f1"] = overlaps[place].value
        results[i]["empty"] = 0.0
    for overlap, i in zip(overlaps[len(full) :], with_gold, strict=True):
        results[i]["f1"] = overlap.value
        results[i]["bleu"] = (documents[i]["response"], texts[i])
    made = []
    for text, document, numbers in zip(texts, documents, results, strict=True):
        answer = Answer(text)
        answer.document = document
        answer.results = {name: value for name, value in numbers.items() if name in reported}
        made.append(answer)
    return made, found.signatures


def _empty(document: Document) -> Results:
    """What an answer without a visible character adds."""
    results: Results = dict.fromkeys(("q2", "q2_no_nli", "scale", "knowledge_f1"), 0.0)
    results |= {"empty": 1.0, "fallback": False, "questions": [], "evidence": []}
    if document["response"]:
        results |= {"f1": 0.0, "bleu": (document["response"], "")}
    return results


def example_of(document: Document, response: str) -> Example:
    """A response to a document, as ``q2 score`` would read it."""
    return Example(
        response, document["knowledge"], tuple(document["history"]), id=document["id"]
    )


def response_results(document: Document, results: Sequence[Answer]) -> Results:
    """``process_results`` of the tasks that generate.

    Raises:
        InputError: the answer was to another document (``--cache_requests`` of older data).
    """
    (answer,) = results
    if answer.document["knowledge"] != document["knowledge"]:
        raise InputError(
            f"the cached request of row {document['id']!r} belongs to other data: "
            "run again with --cache_requests refresh"
        )
    return answer.results


def mean_length(items: Sequence[Sequence[object]]) -> float:
    """How many questions, or sentences, a response has on average."""
    return sum(map(len, items)) / len(items)


# --- the model as a judge --------------------------------------------------------------


class Likelihood(tuple[Any, ...]):
    """The harness's (log-likelihood, is greedy) of Yes or No, with the row's scores."""

    q2: float
    scale: float

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


def score_judged(
    answers: Sequence[tuple[float, bool]], documents: Sequence[Document], options: Options
) -> tuple[list[Likelihood], Mapping[str, str]]:
    """The likelihoods, with Q² and SCALE of the responses that were judged, and signatures.

    A row comes once for each choice and is scored once.
    """
    rows = {document["id"]: document for document in documents}
    examples = [example_of(document, document["response"]) for document in rows.values()]
    found = score(examples, ("q2", "scale"), options)
    values = {
        name: dict(zip(rows, (one.value or 0.0 for one in scores), strict=True))
        for name, scores in found.scores.items()
    }
    made = []
    for answer, document in zip(answers, documents, strict=True):
        likelihood = Likelihood(answer)
        likelihood.q2 = values["q2"][document["id"]]
        likelihood.scale = values["scale"][document["id"]]
        made.append(likelihood)
    return made, found.signatures


def judge_results(document: Document, results: Sequence[Likelihood]) -> Results:
    """``process_results`` of the tasks whose model judges; choices are Yes, then No.

    The model's score is the difference of the two log-likelihoods, above 0 for Yes. Values
    are pairs (consistent, score), or (consistent, judged consistent).
    """
    yes, no = results
    label = bool(document["consistent"])
    margin = yes[0] - no[0]
    return {
        "acc": float((margin > 0) == label),
        "auc": (label, margin),
        "balanced_acc": (label, margin > 0),
        "q2_auc": (label, yes.q2),
        "q2_balanced_acc": (label, yes.q2 > THRESHOLD),
        "scale_auc": (label, yes.scale),
        "scale_balanced_acc": (label, yes.scale > THRESHOLD),
    }


def auc(items: Sequence[tuple[bool, float]]) -> float:
    """ROC-AUC of (consistent, score) pairs; NaN where all rows have one label."""
    from sklearn.metrics import roc_auc_score

    labels, scores = zip(*items, strict=True)
    return float(roc_auc_score(labels, scores)) if len(set(labels)) == 2 else float("nan")


def balanced_accuracy(items: Sequence[tuple[bool, bool]]) -> float:
    """Mean of the shares of consistent and inconsistent rows judged right; NaN as above."""
    shares = [
        [judged == label for label, judged in items if label == kind] for kind in (True, False)
    ]
    if not all(shares):
        return float("nan")
    return sum(sum(share) / len(share) for share in shares) / 2
