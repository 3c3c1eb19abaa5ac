"""Tasks on which the evaluated model judges given responses, beside the metrics of this package."""

from collections.abc import Iterable, Sequence
from typing import Any

from q2_metric import scoring
from q2_metric.integrations.lm_eval.options import Options
from q2_metric.integrations.lm_eval.ranks import on_every_rank, present
from q2_metric.integrations.lm_eval.scoring import Document, Results, Signatures, example_of, score

THRESHOLD = 0.5
"""A score above this value counts as consistent (Q² paper, section 4)."""


class Likelihood(tuple[Any, ...]):
    """The harness's pair (log-likelihood, is greedy) for the choice Yes or No. ``scores`` are those
    of the row's response by our metrics."""

    scores: dict[str, float | None]

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


def score_judged(
    answers: Sequence[tuple[float, bool]], documents: Sequence[Document], options: Options
) -> tuple[list[Likelihood], Signatures]:
    """Attaches our metrics' scores of the judged responses to the model's answers. ``answers`` are
    (log-likelihood, is greedy) for each row and choice. ``documents`` has a row once for each
    choice; it is scored once. The signatures are returned too."""
    rows = {document["id"]: document for document in documents}
    examples = [example_of(document, document["response"]) for document in rows.values()]
    scores, signatures = score(examples, options)
    values: dict[str, dict[str, float | None]] = {
        row: {name: scoring.row_numbers({name: one}, options.no_claim)[name]
              for name, one in by_name.items()}
        for row, by_name in zip(rows, scores, strict=True)
    }
    on_every_rank(list(values.values()))
    made = []
    for answer, document in zip(answers, documents, strict=True):
        likelihood = Likelihood(answer)
        likelihood.scores = values[document["id"]]
        made.append(likelihood)
    return made, signatures


def judge_results(document: Document, results: Sequence[Likelihood]) -> Results:
    """What a row adds to each metric in the table (the harness's ``process_results``). ``results``
    are the answers for Yes and No, in this order. The model's score is the log-likelihood of Yes
    minus that of No; above 0, it says Yes."""
    yes, no = results
    label = bool(document["consistent"])
    margin = yes[0] - no[0]
    numbers: Results = {"acc": float((margin > 0) == label), "auc": (label, margin),
                        "balanced_acc": (label, margin > 0)}
    for name, value in yes.scores.items():
        # None if the row was not scored, or if only other ranks have a score by this metric.
        numbers[f"{name}_auc"] = None if value is None else (label, value)
        numbers[f"{name}_balanced_acc"] = None if value is None else (label, value > THRESHOLD)
    return numbers


def auc(items: Sequence[tuple[bool, float] | None]) -> float:
    """ROC-AUC of pairs (human label, score), without ``None``. NaN if all labels are the same."""
    return _measured("roc_auc_score", items)


def balanced_accuracy(items: Sequence[tuple[bool, bool] | None]) -> float:
    """Balanced accuracy of pairs (human label, decision), without ``None``: the mean of the
    accuracies on consistent and on inconsistent rows. NaN if all labels are the same."""
    return _measured("balanced_accuracy_score", items)


def _measured(measure: str, items: Sequence[tuple[bool, float] | None]) -> float:
    from sklearn import metrics

    there = present(items)
    labels = [label for label, _ in there]
    if len(set(labels)) < 2:
        return float("nan")
    return float(getattr(metrics, measure)(labels, [value for _, value in there]))


def judge_lines(names: Iterable[str], own: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ``metric_list`` of a task on which the model and these metrics judge responses."""
    return [*own, *(
        {"metric": f"{name}_{suffix}", "aggregation": function, "higher_is_better": True}
        for name in names for suffix, function in (("auc", auc),
                                                   ("balanced_acc", balanced_accuracy)))]
