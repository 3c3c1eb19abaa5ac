"""The lines of the harness's tables of results, made from the registry of metrics, and the means
that they show.

``!function …tables.GROUP`` in a yaml file is made when the file is read (:func:`__getattr__`), so
it contains metrics that the user registered before.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from lm_eval.api.metrics import mean

from q2_metric.metrics.registry import METRICS, columns, entry
from q2_metric.scoring import LOWER_IS_BETTER, Mean, share_names


def generation_lines(names: Sequence[str], own: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ``metric_list`` of a task whose answers these metrics score."""
    ours = columns(names)
    others = [line for line in own if line["metric"] not in ours]
    lengths = [{"metric": name, "aggregation": mean_length, "higher_is_better": None}
               for name in details(names)]
    return [*map(_mean, ours), *others, *map(_mean, share_names(names)), *lengths]


def judge_lines(names: Iterable[str], own: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ``metric_list`` of a task on which the model and these metrics judge responses."""
    return [*own, *(
        {"metric": f"{name}_{suffix}", "aggregation": function, "higher_is_better": True}
        for name in names for suffix, function in (("auc", auc),
                                                   ("balanced_acc", balanced_accuracy)))]


def details(names: Iterable[str]) -> list[str]:
    """The fields with the evidence of these metrics, such as "questions"."""
    return list(filter(None, dict.fromkeys(entry(name).listed for name in names)))


def _mean(name: str) -> dict[str, Any]:
    return {"metric": name, "aggregation": "mean",
            "higher_is_better": name not in LOWER_IS_BETTER}


def __getattr__(name: str) -> Any:
    if name != "GROUP":
        raise AttributeError(name)
    names = [*columns(), "empty", *share_names(METRICS)]
    return [{"metric": one, "aggregation": "mean", "weight_by_size": False} for one in names]


def on_every_rank(results: Sequence[dict[str, Any]]) -> None:
    """Adds an entry to the first result of this rank (a process of a run) for each metric that only
    other ranks have, which the means below leave out. All ranks must call this function at the same
    time. ``results`` are changed in place.

    The harness looks up the first rank's metrics on every other rank. If a rank lacks one of them,
    the first rank ends with a KeyError, and the others wait for ever.
    """
    own = {name for result in results for name in result}
    for name in sorted(_on_any_rank(own) - own):
        # The harness's BLEU cannot skip an entry. A pair of empty texts does not change BLEU.
        results[0][name] = ("", "") if name == "bleu" else None


def _on_any_rank(own: set[str]) -> set[str]:
    torch = sys.modules.get("torch")
    if (torch is None or not torch.distributed.is_available()
            or not torch.distributed.is_initialized() or torch.distributed.get_world_size() == 1):
        return own
    by_rank: list[set[str]] = [set()] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(by_rank, own)
    return set().union(*by_rank)


def _present(items: Sequence[Any]) -> list[Any]:
    return [item for item in items if item is not None]


class PresentMean:
    """A replacement for the harness's ``mean`` that skips values that are ``None``. The harness
    computes the standard error of the same list afterwards, but only if the aggregation equals its
    own ``mean``. So this class does, and removes ``None`` from the list itself."""

    def __call__(self, items: list[Any]) -> float:
        items[:] = _present(items)
        return Mean.of(items).number

    def __eq__(self, other: object) -> bool:
        return other is mean or isinstance(other, PresentMean)

    def __hash__(self) -> int:
        return hash(mean)


def mean_length(items: Sequence[Sequence[object]]) -> float:
    """The mean number of items, such as questions or claims, per response."""
    return Mean.of(map(len, _present(items))).number


def auc(items: Sequence[tuple[bool, float] | None]) -> float:
    """ROC-AUC of pairs (human label, score), without ``None``. NaN if all labels are the same."""
    return _measured("roc_auc_score", items)


def balanced_accuracy(items: Sequence[tuple[bool, bool] | None]) -> float:
    """Balanced accuracy of pairs (human label, decision), without ``None``: the mean of the
    accuracies on consistent and on inconsistent rows. NaN if all labels are the same."""
    return _measured("balanced_accuracy_score", items)


def _measured(measure: str, items: Sequence[tuple[bool, float] | None]) -> float:
    from sklearn import metrics

    labels, values = zip(*_present(items), strict=True) if any(items) else ((), ())
    if len(set(labels)) < 2:
        return float("nan")
    return float(getattr(metrics, measure)(labels, values))
