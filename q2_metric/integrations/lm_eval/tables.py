"""The lines of the harness's tables of results, made from the registry of metrics.

``!function …tables.GROUP`` in a yaml file is made when the file is read (:func:`__getattr__`), so
it contains metrics that the user registered before.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from q2_metric.integrations.lm_eval.ranks import present
from q2_metric.metrics.registry import METRICS, columns, entry
from q2_metric.scoring import LOWER_IS_BETTER, Mean, share_names


def mean_length(items: Sequence[Sequence[object]]) -> float:
    """The mean number of items, such as questions or claims, per response."""
    return Mean.of(map(len, present(items))).number


def generation_lines(names: Iterable[str], own: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ``metric_list`` of a task whose answers these metrics score."""
    names = list(names)
    shares = [_mean(name) for name in share_names(names)]
    ours = columns(names)
    others = [line for line in own if line["metric"] not in ours]
    lengths = [{"metric": name, "aggregation": mean_length, "higher_is_better": None}
               for name in details(names)]
    return [*map(_mean, ours), *others, *shares, *lengths]


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
