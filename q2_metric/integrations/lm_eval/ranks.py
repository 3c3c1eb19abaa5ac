"""Gives all ranks (processes of a run) the same metrics, and takes means that skip missing values.

The harness takes the names of the first rank's metrics and looks them up on every other rank. If a
name is missing on another rank, the first rank ends with a KeyError and the others wait for ever.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lm_eval.api.metrics import mean

from q2_metric.scoring import Mean


def on_every_rank(
    results: Sequence[dict[str, Any]], fill: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Gives this rank an entry for each metric that has values only on other ranks.

    The entry goes into the first result. All ranks must call this function at the same time.

    Args:
        results: the values by metric, for each document of this rank.
        fill: the entries to add.
    """
    own = {name for result in results for name in result}
    for name in sorted(_on_any_rank(own) - own):
        results[0][name] = fill.get(name)


def _on_any_rank(own: set[str]) -> set[str]:
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available():
        return own
    if not torch.distributed.is_initialized() or torch.distributed.get_world_size() == 1:
        return own
    by_rank: list[set[str]] = [set()] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(by_rank, own)
    return set().union(*by_rank)


def present(items: Sequence[Any]) -> list[Any]:
    """The values of the entries that are not ``None``."""
    return [item for item in items if item is not None]


class PresentMean:
    """The harness's mean, over the values that are not ``None``.

    After the mean, the harness computes the standard error of the same list, but only for its own
    mean. So entries without a value are removed from the list itself, and this class compares equal
    to the harness's mean.
    """

    def __call__(self, items: list[Any]) -> float:
        items[:] = present(items)
        return Mean.of(items).number

    def __eq__(self, other: object) -> bool:
        return other is mean or isinstance(other, PresentMean)

    def __hash__(self) -> int:
        return hash(mean)
