"""The stages that made the shipped weights: how many examples, and at which rate.

Each stage starts from the averaged weights of the one before, with a new schedule and more data
(docs/results/training.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tools.training.train import TrainingSchedule


@dataclass(frozen=True, slots=True)
class TrainingStage:
    """A stage: the examples of its schedule, and where it was stopped."""

    schedule: int
    rate: float = 1.5e-4
    head_rate: float = 6e-4
    stop: int | None = None
    warmup: float = 0.02
    average: float = 0.998
    length: int = 256
    tokens: int = 5120

    def settings(self, scale: float, seed: int) -> TrainingSchedule:
        """The schedule of the training loop, with ``scale`` times the examples."""
        return TrainingSchedule(int(self.schedule * scale), tokens=self.tokens, length=self.length,
                                rate=self.rate, head_rate=self.head_rate, warmup=self.warmup,
                                average=self.average, seed=seed)

    def end(self, scale: float) -> int | None:
        """The number of examples after which it stops, if that is before the end of the
        schedule."""
        return None if self.stop is None else int(self.stop * scale)


READER = (
    TrainingStage(200_000, warmup=0.04, stop=76_000),
    TrainingStage(90_000, rate=1.2e-4),
    TrainingStage(220_000),
    TrainingStage(12_000, rate=6e-5, head_rate=1e-4, warmup=0.05, length=160, tokens=2048,
                  average=0.998),
)
ENTAILMENT = (
    TrainingStage(225_000, warmup=0.04, stop=123_000),
    TrainingStage(100_000, rate=1.2e-4),
    TrainingStage(50_000, rate=8e-5, head_rate=2e-4, warmup=0.03),
    TrainingStage(300_000, rate=1.4e-4, head_rate=4e-4, length=320, stop=216_000),
    TrainingStage(32_000, rate=7e-5, head_rate=1.4e-4, warmup=0.03, length=192, tokens=3072,
                  average=0.999),
    TrainingStage(72_000, rate=6e-5, head_rate=1e-4, warmup=0.03, length=192, tokens=3072,
                  average=0.999),
    TrainingStage(68_000, rate=6e-5, head_rate=1e-4, warmup=0.03, length=192, tokens=3072,
                  average=0.999),
)

WIDE = (
    TrainingStage(60_000, rate=6e-5, head_rate=4e-4, warmup=0.04, length=160, tokens=3072,
                  stop=45_000),
    TrainingStage(48_000, rate=5e-5, head_rate=1e-4, warmup=0.03, length=320, tokens=3072),
    TrainingStage(42_000, rate=5e-5, head_rate=1e-4, warmup=0.03, length=256, tokens=3072),
    TrainingStage(165_000, rate=5e-5, head_rate=1e-4, warmup=0.02, length=256, tokens=3072,
                  average=0.999),
)
DEEP = TrainingStage(60_000, rate=5e-5, head_rate=3e-4, warmup=0.06, length=160, tokens=3072)
"""All layers of MPNet, on the pairs of the first wide stage."""
NARROW = replace(WIDE[0], rate=1.2e-4, head_rate=5e-4)
"""The small encoder on the pairs of the first wide stage, at its own rate."""

UNLABELLED, UNLABELLED_RATE = 11_000, 3.0
"""Number of unlabelled responses in the later wide stages, and their rate."""
UNLABELLED_LAST, UNLABELLED_LAST_RATE = 24_000, 1.4
"""The same for the last wide stage."""

COMPARED_SHARE = 0.25
"""Share of comparisons among the examples of the third stage."""

GENERAL_SEED = 17
CONTRASTED_SEED = 18
REORDERED_SEED = 19
UNANSWERED_SEED = 19
WIDTH_SEED = 20
GENERAL_DROPOUT = 0.1
GENERAL_FROZEN = 3
CONTRASTED_FROZEN = 1
WIDE_FROZEN = 2
DEEP_FROZEN = 4
UNANSWERED_FROZEN = 1
"""Number of lower layers that stay frozen, with the embeddings."""
