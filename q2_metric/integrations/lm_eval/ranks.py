"""Keeps the ranks (processes of a run) consistent.

The harness looks up the first rank's metrics on every other rank. If a rank lacks one of them, the
first rank ends with a KeyError, and the others wait for ever.
"""

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lm_eval.api.metrics import mean

from q2_metric.scoring import Mean


def on_every_rank(
    results: Sequence[dict[str, Any]], fill: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Adds ``fill`` to this rank's first result for each metric that only other ranks have. All
    ranks must call this function at the same time. ``results`` are changed in place."""
    own = {name for result in results for name in result}
    for name in sorted(_on_any_rank(own) - own):
        results[0][name] = fill.get(name)


def _on_any_rank(own: set[str]) -> set[str]:
    torch = sys.modules.get("torch")
    if (torch is None or not torch.distributed.is_available()
            or not torch.distributed.is_initialized() or torch.distributed.get_world_size() == 1):
        return own
    by_rank: list[set[str]] = [set()] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(by_rank, own)
    return set().union(*by_rank)


def present(items: Sequence[Any]) -> list[Any]:
    return [item for item in items if item is not None]


class PresentMean:
    """A replacement for the harness's ``mean`` that skips values that are ``None``. The harness
    computes the standard error of the same list afterwards, but only if the aggregation equals its
    own ``mean``. So this class does, and removes ``None`` from the list itself."""

    def __call__(self, items: list[Any]) -> float:
        items[:] = present(items)
        return Mean.of(items).number

    def __eq__(self, other: object) -> bool:
        return other is mean or isinstance(other, PresentMean)

    def __hash__(self) -> int:
        return hash(mean)
