"""The training stages of the shipped weights, each with its number of examples and learning rates.

Each stage starts from the averaged weights of the stage before, with a new learning-rate schedule
and more data (docs/results/training.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tools.training.train import TrainingSchedule


@dataclass(frozen=True, slots=True)
class TrainingStage:
    """The settings of one training stage.

    ``schedule`` is the number of examples over which the learning rates rise and fall. ``stop`` is
    the number of examples after which the stage ends early. The other attributes are those of
    :class:`~tools.training.train.TrainingSchedule`.
    """

    schedule: int
    rate: float = 1.5e-4
    head_rate: float = 6e-4
    stop: int | None = None
    warmup: float = 0.02
    average: float = 0.998
    length: int = 256
    tokens: int = 5120

    def settings(self, scale: float, seed: int) -> TrainingSchedule:
        """The schedule for the training loop, with ``scale`` times the number of examples."""
        return TrainingSchedule(int(self.schedule * scale), tokens=self.tokens, length=self.length,
                                rate=self.rate, head_rate=self.head_rate, warmup=self.warmup,
                                average=self.average, seed=seed)

    def end(self, scale: float) -> int | None:
        """The number of examples, times ``scale``, after which the stage stops early.

        ``None`` means that it runs to the end of its schedule.
        """
        return None if self.stop is None else int(self.stop * scale)


READER = (
    TrainingStage(200_000, warmup=0.04, stop=76_000),
    TrainingStage(90_000, rate=1.2e-4),
    TrainingStage(220_000),
    TrainingStage(12_000, rate=6e-5, head_rate=1e-4, warmup=0.05, length=160, tokens=2048,
                  average=0.998),
    TrainingStage(18_000, rate=8e-5, head_rate=1e-4, warmup=0.05, length=320, tokens=4096,
                  average=0.999),
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
"""Stage in which a network with all layers of MPNet learns the pairs of ``WIDE[0]``."""
NARROW = replace(WIDE[0], rate=1.2e-4, head_rate=5e-4)
"""Stage in which the small encoder learns the pairs of ``WIDE[0]``, with higher learning rates."""

READING = {
    "entailment": TrainingStage(32_000, rate=6e-5, head_rate=1e-4, warmup=0.05, length=320,
                                tokens=4096, average=0.999),
    "wide": TrainingStage(26_000, rate=5e-5, head_rate=1e-4, warmup=0.05, length=320, tokens=4096,
                          average=0.999, stop=24_317),
    "wide-again": TrainingStage(22_000, rate=4e-5, head_rate=1e-4, warmup=0.03, length=320,
                                tokens=4096, average=0.999),
    "wide-second": TrainingStage(22_000, rate=5e-5, head_rate=1e-4, warmup=0.03, length=320,
                                 tokens=4096, average=0.999),
    "nine": TrainingStage(30_000, rate=6e-5, head_rate=1e-4, warmup=0.03, length=320, tokens=4096,
                          average=0.999),
    "nine-again": TrainingStage(70_000, rate=5e-5, head_rate=1e-4, warmup=0.02, length=320,
                                tokens=4096, average=0.999),
}
"""By name of the network, its stage on the claims that were written for this project. The wide
network has three: "wide-again" has other draws, "wide-second" (not shipped) the second part of the
claims. "nine" is a network of nine layers, on all claims; "nine-again" has other draws."""
ONCE = (
    TrainingStage(60_000, rate=1.2e-4, head_rate=2e-4, length=256, tokens=4096, warmup=0.04,
                  average=0.999, stop=32_573),
    TrainingStage(45_000, rate=1.2e-4, head_rate=1.2e-4, length=256, tokens=4096, warmup=0.03,
                  average=0.999),
    TrainingStage(45_000, rate=1e-4, head_rate=1e-4, length=256, tokens=4096, warmup=0.03,
                  average=0.999),
)
"""Stages in which the small network learns to read claim and text apart in its lower layers."""
ONCE_STATES = (0.0, 2.0, 2.0)
"""The weight of the states of its upper layers in these stages, beside its probabilities."""
ONCE_GENERAL = 90_000
"""Number of pairs of all human sources in an epoch of the last of these stages."""
STATEMENT = TrainingStage(100_000, rate=1.2e-4, head_rate=4e-4, warmup=0.05, length=96, tokens=2048)
"""Stage of the network that reads claims alone. It starts from the lower layers of the small
entailment network."""
READING_HUMAN_SHARE = 0.33
"""Factor on the rates of the human sources in the stages on the second part of the claims, which is
as large as the first. It gives them a quarter of the rows."""

READING_SHARE = 0.5
"""The share of the weights after the last stage of ``READING`` in those that are shipped."""

UNLABELLED, UNLABELLED_RATE = 11_000, 3.0
"""The later stages of ``WIDE`` add this many unlabelled responses, each 3 times per epoch."""
UNLABELLED_LAST, UNLABELLED_LAST_RATE = 24_000, 1.4
"""The same numbers for the last stage of ``WIDE``: unlabelled responses, and times per epoch."""

COMPARED_SHARE = 0.25
"""Share of comparisons of two answers among the examples of the third stage of ``ENTAILMENT``."""

GENERAL_SEED = 17
CONTRASTED_SEED = 18
REORDERED_SEED = 19
UNANSWERED_SEED = 19
ASKED_SEED = 27
WIDTH_SEED = 20
READING_SEED = 24
READING_AGAIN_SEED = 25
READING_SECOND_SEED = 26
READING_NINE_SEED = 27
READING_NINE_AGAIN_SEED = 28
ONCE_SEED, ONCE_UNLABELLED_SEED = 31, 5
STATEMENT_SEED = 34
READING_WIDE_FROZEN = 2
READING_NINE_FROZEN = 3
GENERAL_DROPOUT = 0.1
GENERAL_FROZEN = 3
CONTRASTED_FROZEN = 1
WIDE_FROZEN = 2
DEEP_FROZEN = 4
UNANSWERED_FROZEN = 1
"""Number of lower layers that stay frozen, besides the embeddings, while the reader learns to leave
questions unanswered."""
