"""Q² and SCALE as a ``torchmetrics.Metric``, which Lightning modules can log."""

from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

import torch
from torchmetrics import Metric

from q2_metric.errors import ModelError
from q2_metric.metrics.registry import keywords as known_keywords
from q2_metric.rows.plain import REASONS
from q2_metric.scoring import NO_CLAIM, Mean, NoClaim, given_columns
from q2_metric.scoring.judge import Judge


class GroundedMean(Metric):  # type: ignore[misc]
    """Computes the mean scores of responses over all batches and all processes.

    The arguments are those of :class:`~q2_metric.scoring.judge.Judge`, but ``strict`` concerns
    each batch: without it, a batch on which a metric fails does not count in the mean. ``keywords``
    are those of the metrics (``preset``, …) and of ``torchmetrics.Metric``.

    >>> grounded = GroundedMean("knowledge_f1")
    >>> grounded.update(["Rome has 7 hills."], ["Rome has 7 hills."])
    >>> grounded.compute()
    {'knowledge_f1': tensor(1.)}

    Raises:
        InputError: a metric or the value of a keyword is unknown.
        ValueError: a keyword is unknown.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    def __init__(
        self, metrics: Iterable[str] | str | None = None, *, no_claim: NoClaim = NO_CLAIM,
        strict: bool = False, **keywords: Any,
    ) -> None:
        known = keywords.keys() & {"preset", *known_keywords()}
        settings = {name: keywords.pop(name) for name in known}
        super().__init__(**keywords)
        self.judge = Judge(metrics, no_claim, settings, strict)
        self.signature = self.judge.signature
        # A MetricCollection joins metrics whose states have equal names and values.
        own = f"settings_{crc32(self.signature.encode()):08x}"
        self.add_state(own, torch.tensor(0), dist_reduce_fx="sum")
        for name in self.judge.names:
            self.add_state(f"{name}_sum", torch.tensor(0.0), dist_reduce_fx="sum")
            self.add_state(f"{name}_n", torch.tensor(0), dist_reduce_fx="sum")

    def update(
        self, preds: Sequence[str], knowledge: Sequence[Any],
        histories: Sequence[Sequence[str]] | None = None,
        questions: Sequence[str | None] | None = None,
    ) -> None:
        """Scores a batch. The knowledge of a response is a text or a list of passages. Raises
        InputError if the lengths differ, or a value is not a text."""
        judged = self.judge(given_columns(preds, knowledge, histories, questions))
        for name in self.judge.names:
            if self.judge.strict and judged and all(
                    one.failed.get(name) == REASONS["fault"] for one in judged):
                raise ModelError(f"{name} failed on all {len(judged)} responses of a batch; a "
                                 "warning says why")
            mean = Mean.of(one.numbers[name] for one in judged)
            setattr(self, f"{name}_sum", getattr(self, f"{name}_sum") + mean.total)
            setattr(self, f"{name}_n", getattr(self, f"{name}_n") + mean.n)

    def compute(self) -> dict[str, torch.Tensor]:
        """Each mean and each share of responses, in [0, 1], for ``self.log_dict``. NaN if no
        response counts in a mean."""
        means = {name: Mean(getattr(self, f"{name}_sum").item(), int(getattr(self, f"{name}_n")))
                 for name in self.judge.names}
        return {name: torch.tensor(mean.number, device=self.device)
                for name, mean in means.items()}
