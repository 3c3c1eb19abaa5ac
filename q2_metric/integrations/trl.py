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
    """A reward function: rewards completions that the knowledge of their row supports.

    A completion that is empty or without a claim gets the reward 0. If the knowledge is blank or
    the metric fails on a completion, the reward is ``None``, and the trainer leaves the completion
    out. All completions of a step are scored in one batch. The trainer logs the mean reward as
    ``rewards/NAME/mean``. If the trainer offers ``log_metric``, the shares of completions
    ``NAME/no_claim``, ``NAME/coverage`` and ``NAME/fallback`` are logged too.

    Args:
        metric: name of the metric: "q2", "scale", "groundedness", ….
        knowledge: the column of the data set that contains the knowledge of each prompt: a text or
            a list of passages.
        history: the column that contains earlier turns, if there are any. A completion that only
            repeats earlier turns claims nothing. The prompt itself is not used as history, because
            it may contain the knowledge.
        settings: ``preset``, ``device``, ``batch_size`` and the settings of the metric.

    Raises:
        InputError: a metric, keyword or value is unknown.
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
        """The line that records metric, models, settings and version."""
        return self.judge.signature

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], *,
        log_metric: Callable[[str, float], None] | None = None, **columns: Any,
    ) -> list[float | None]:
        """A reward in [0, 1] for each completion; ``None`` for a completion to leave out.

        Args:
            prompts: the prompts, which are not used.
            completions: for each prompt, a text or a list of chat messages.
            log_metric: is called with the name and the value of each share of completions, such as
                ``NAME/no_claim``.
            columns: the other columns of the data set.

        Raises:
            InputError: the data set has no column with the knowledge, or a value is wrong.
        """
        if self.knowledge not in columns:
            there = sorted(name for name, value in columns.items() if isinstance(value, list))
            raise InputError(
                f"the data set has no column {self.knowledge!r} with the knowledge of each prompt; "
                f"its columns are {', '.join(there)} (Reward(knowledge=…) names another)")
        rows = scoring.given_columns(
            [text_of(said) for said in completions], columns[self.knowledge],
            columns.get(self.history), "completion")
        by_row = [one.numbers for one in self.judge(rows)]
        for name in scoring.SHARES:
            share = scoring.Mean.of(one.get(name) for one in by_row).value
            if log_metric is not None and share is not None:
                log_metric(f"{self.__name__}/{name}", share)
        return [numbers[self.__name__] for numbers in by_row]


def text_of(completion: object) -> str:
    """The text of a completion: the text itself, or that of the assistant's last message.

    "" if there is no text, for example in a tool call.

    Raises:
        InputError: the completion is neither a text nor a list of messages.
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
