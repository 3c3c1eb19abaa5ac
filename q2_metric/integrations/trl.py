"""Reward functions for TRL's online trainers: ``GRPOTrainer(reward_funcs=Reward("q2"), …)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.integrations.judge import Judge
from q2_metric.metrics.registry import entry
from q2_metric.text.given import kind


class Reward:
    """Rewards completions for what the row's knowledge supports.

    A completion that is empty or claims nothing gets 0; one whose row has blank knowledge, or
    that the metric fails on, gets ``None``, which the trainers leave out. All completions of a
    step are scored in one batch. The trainer logs ``rewards/NAME/mean`` and, where it hands
    over ``log_metric``, the shares ``NAME/no_claim``, ``NAME/coverage`` and ``NAME/fallback``.

    Args:
        metric: "q2", "scale", "groundedness", ….
        knowledge: the column of the data set with the text, or the list of passages, that a
            completion must be grounded in.
        history: the column with the turns before it, if there is one: what only repeats them
            claims nothing. The prompt is not taken for it, since it may hold the knowledge.
        settings: ``preset``, ``device``, ``batch_size`` and the metric's own.

    Raises:
        InputError: an unknown metric, keyword or value.
    """

    def __init__(
        self, metric: str = "groundedness", *, knowledge: str = "knowledge",
        history: str = "history", **settings: Any,
    ) -> None:
        self.judge = Judge([metric], settings=settings)
        self.knowledge, self.history = knowledge, history
        self.__name__ = entry(metric).name

    @property
    def signature(self) -> str:
        """Says what the rewards are: models, settings, version."""
        return self.judge.signature

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], *,
        log_metric: Callable[[str, float], None] | None = None, **columns: Any,
    ) -> list[float | None]:
        """A reward in [0, 1] for each completion, a text or a list of chat messages.

        Raises:
            InputError: the data set has no column of knowledge; a value is not what it
                should be.
        """
        if self.knowledge not in columns:
            there = sorted(name for name, value in columns.items() if isinstance(value, list))
            raise InputError(
                f"the data set has no column {self.knowledge!r} with what a completion must be "
                f"grounded in; it has {', '.join(there)} (Reward(knowledge=…) names another)")
        rows = scoring.given_columns(
            [text_of(said) for said in completions], columns[self.knowledge],
            columns.get(self.history), "completion")
        found = [one.numbers for one in self.judge(rows)]
        for name in scoring.SHARES:
            share = scoring.Mean.of(one.get(name) for one in found).value
            if log_metric is not None and share is not None:
                log_metric(f"{self.__name__}/{name}", share)
        return [numbers[self.__name__] for numbers in found]


def text_of(completion: object) -> str:
    """What the assistant says last; a completion without its words (a tool call) is empty.

    Raises:
        InputError: it is neither text nor messages.
    """
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, Sequence):
        raise InputError(f"a completion is {kind(completion)}, not a text or a list of messages")
    spoken = [message.get("content") for message in completion
              if isinstance(message, Mapping) and message.get("role") == "assistant"]
    content = spoken[-1] if spoken else None
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(part.get("text") or "" for part in content)
    return content or ""
