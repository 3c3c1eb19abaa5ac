"""What several ranks must agree on, and a mean that bears what they agree on.

The harness takes the names of the first rank's metrics and looks each up on every other rank: one
that is missing there ends the first rank with a KeyError, and the others wait.
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
    """Gives this rank an entry for each metric that only other ranks have a value of.

    It stands in the first of the results. All ranks call this at the same time.

    Args:
        results: by metric, of each document of this rank.
        fill: the entries that are not ``None``.
    """
    own = {name for one in results for name in one}
    for name in sorted(_on_any_rank(own) - own):
        results[0][name] = fill.get(name)


def _on_any_rank(own: set[str]) -> set[str]:
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available():
        return own
    if not torch.distributed.is_initialized() or torch.distributed.get_world_size() == 1:
        return own
    found: list[set[str]] = [set()] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(found, own)
    return set().union(*found)


def present(items: Sequence[Any]) -> list[Any]:
    """The values among the entries."""
    return [item for item in items if item is not None]


class PresentMean:
    """The harness's mean, over the values that there are.

    The harness next takes the standard error of the same list, which it knows of its own mean
    alone: entries without a value leave the list itself, and this equals that mean.
    """

    def __call__(self, items: list[Any]) -> float:
        items[:] = present(items)
        return Mean.of(items).number

    def __eq__(self, other: object) -> bool:
        return other is mean or isinstance(other, PresentMean)

    def __hash__(self) -> int:
        return hash(mean)
