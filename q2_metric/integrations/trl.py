"""Reward functions for TRL's online trainers: ``GRPOTrainer(reward_funcs=Reward("q2"), …)``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.metrics.registry import entry
from q2_metric.scoring.judge import Judge
from q2_metric.text.given import kind


class Reward:
    """A reward function: rewards completions that the knowledge of their row supports.

    A completion that is empty or without a claim gets 0. If the knowledge is blank or the metric
    fails, the reward is ``None``, and the trainer leaves the completion out. ``knowledge``,
    ``history`` and ``question`` are columns of the data set. The prompt is not used instead,
    because it may contain the knowledge. ``settings`` are ``preset``, ``device``, ``batch_size``
    and those of the metric. InputError: a metric, keyword or value is unknown."""

    def __init__(
        self, metric: str = "groundedness", *, knowledge: str = "knowledge",
        history: str = "history", question: str = "question", **settings: Any,
    ) -> None:
        self.judge = Judge(metric, settings=settings, strict=False)
        if len(self.judge.metrics) != 1:
            raise InputError(f"metric is {metric!r}; a reward has one metric: make a Reward for "
                             "each")
        self.signature = self.judge.signature
        self.knowledge, self.history, self.question = knowledge, history, question
        self.__name__ = entry(metric).name

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], *,
        log_metric: Callable[[str, float], None] | None = None, **columns: Any,
    ) -> list[float | None]:
        """A reward in [0, 1] for each completion (a text or chat messages); ``None`` to leave it
        out. Raises InputError if a value is wrong or the data set has no knowledge."""
        if self.knowledge not in columns:
            there = sorted(name for name, value in columns.items() if isinstance(value, list))
            raise InputError(
                f"the data set has no column {self.knowledge!r} with the knowledge of each prompt; "
                f"its columns are {', '.join(there)} (Reward(knowledge=…) names another)")
        rows = scoring.given_columns(
            [text_of(said) for said in completions], columns[self.knowledge],
            columns.get(self.history), columns.get(self.question), "completion")
        by_row = [one.numbers for one in self.judge(rows)]
        for name in scoring.SHARES:
            share = scoring.Mean.of(one.get(name) for one in by_row).value
            if log_metric is not None and share is not None:
                log_metric(f"{self.__name__}/{name}", share)
        return [numbers[self.__name__] for numbers in by_row]


def text_of(completion: object) -> str:
    """The text of a completion, or that of the assistant's last message; "" for a tool call. Raises
    InputError if the completion is neither a text nor a list of messages."""
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
