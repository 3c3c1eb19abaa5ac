"""A second judge for the claims about which SCALE's backbone is unsure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from q2_metric.types import Claim, Example, Judgement

if TYPE_CHECKING:
    from q2_metric.metrics.scale import Scale


@dataclass(frozen=True, slots=True)
class Escalation:
    """``judge`` judges again the claims whose support is from ``low`` to ``high``. ``told`` gets
    the number of these claims and the number of all claims."""

    judge: Scale
    low: float
    high: float
    told: Callable[[int, int], None]

    @property
    def signed(self) -> str:
        return f"{self.judge.backbone.name},{self.judge.backbone.prompt or 'pair'}"

    def review(
        self, examples: Sequence[Example], judged: Sequence[Sequence[Judgement]],
    ) -> list[list[Judgement]]:
        """A claim that a rule has decided keeps its judgement."""
        unsure: list[tuple[int, Claim]] = [
            (i, one.claim) for i, some in enumerate(judged) for one in some if self._unsure(one)]
        found = [iter(some) for some in self.judge.judged(examples, unsure)[0]]
        self.told(len(unsure), sum(map(len, judged)))
        return [[next(again) if self._unsure(one) else one for one in some]
                for some, again in zip(judged, found, strict=True)]

    def _unsure(self, judged: Judgement) -> bool:
        return judged.ruling is None and self.low <= judged.support <= self.high
