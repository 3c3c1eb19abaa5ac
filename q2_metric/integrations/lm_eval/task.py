"""The class of all tasks in ``tasks/*.yaml``, and their sampler of few-shot examples."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from random import Random
from types import TracebackType
from typing import Any

from lm_eval.api.filter import Filter
from lm_eval.api.metrics import mean
from lm_eval.api.samplers import ContextSampler
from lm_eval.api.task import ConfigurableTask

from q2_metric.errors import InputError, Q2Error
from q2_metric.integrations.lm_eval.judge import judge_lines, score_judged
from q2_metric.integrations.lm_eval.options import Options
from q2_metric.integrations.lm_eval.ranks import PresentMean
from q2_metric.integrations.lm_eval.scoring import Document, check_loads, score_responses
from q2_metric.integrations.lm_eval.tables import generation_lines


class GroundedTask(ConfigurableTask):  # type: ignore[misc]
    """A task whose answers are scored by the metrics of this package, after all were generated.

    The scoring is the last filter of the task, because a filter receives all answers of a rank (a
    process of the run) at once. The metrics' signatures (lines that record models and settings) are
    added to the metadata of the task. The harness copies them to the file of results.

    Args:
        config: the contents of the yaml file. ``metadata`` contains the options of the metrics.

    Raises:
        InputError: an option of the metrics is unknown or has a wrong value.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.options = Options.from_metadata(config.get("metadata") or {})
        judges = config.get("output_type") == "multiple_choice"
        lines = (judge_lines if judges else generation_lines)(
            self.options.metrics, config["metric_list"])
        own = {key: value for key, value in config.items() if key != "class"}
        super().__init__(config={**own, "metric_list": lines})
        for name, aggregation in self._aggregation_list.items():
            if aggregation is mean:
                self._aggregation_list[name] = PresentMean()
        for pipeline in self._filters:
            pipeline.filters.append(partial(ScoreFilter, task=self))

    def build_all_requests(self, **settings: Any) -> None:
        """Checks that the metrics can be loaded, and then builds the requests to the model.

        Raises:
            ModelError, MissingExtra: a metric cannot be loaded.
        """
        if not self.predicts_only:
            check_loads(self.options)
        super().build_all_requests(**settings)

    @property
    def predicts_only(self) -> bool:
        """Whether the run only saves the answers and scores nothing (``--predict_only``)."""
        return "bypass" in self._metric_fn_list

    def score(self, answers: Sequence[Any], documents: Sequence[Document]) -> Sequence[Any]:
        """Scores the answers of this rank. Returns them in order, with their scores attached."""
        made: Sequence[Any]
        if self.OUTPUT_TYPE == "multiple_choice":
            made, signatures = score_judged(answers, documents, self.options)
        else:
            made, signatures = score_responses(
                _texts(answers), documents, self.options, self._metric_fn_list
            )
        self.config.metadata["signatures"] = dict(signatures)
        return made


def _texts(answers: Sequence[Any]) -> Sequence[str]:
    if not all(isinstance(answer, str) for answer in answers):
        raise InputError("only one answer for each row can be scored: put take_first last in "
                         "filter_list")
    return answers


class ScoreFilter(Filter):  # type: ignore[misc]
    """The last filter of a task. It lets the task score all answers of a rank at once.

    With ``--predict_only``, it does nothing.
    """

    def __init__(self, task: GroundedTask) -> None:
        self.task = task

    def apply(self, resps: Iterable[Any], docs: Sequence[Document]) -> Sequence[Any]:
        """The answers (``resps``) in order, with their scores attached."""
        answers = list(resps)
        return answers if self.task.predicts_only else self.task.score(answers, docs)


class OtherRows(ContextSampler):  # type: ignore[misc]
    """Draws the few-shot examples for a row from the other rows of the same data set.

    An example must have a gold response, and its knowledge must differ from the row's. The examples
    depend only on the seed and on the id of the row. So a row has the same prompt whatever the
    number of processes and whatever ``--limit``.
    """

    seed: int | None = None

    def set_rnd(self, rnd: int | None) -> OtherRows:
        """Sets the seed of the run. Returns this sampler."""
        self.seed = rnd
        return self

    def sample(
        self, n: int, eval_doc: Document | None = None, **_: Any
    ) -> Sequence[dict[str, Any]]:
        """Draws ``n`` rows as few-shot examples for the prompt of the row ``eval_doc``.

        Raises:
            InputError: the data set has fewer than ``n`` suitable rows.
        """
        own = eval_doc or {"id": "", "knowledge": None}
        pool = [
            row for row in self.df if row["response"] and row["knowledge"] != own["knowledge"]
        ]
        if n > len(pool):
            raise InputError(
                f"{n} few-shot examples are asked for, but only {len(pool)} other rows "
                "have a response"
            )
        return Random(f"{self.seed} {own['id']}").sample(pool, n)


def _explain_errors_in_one_line() -> None:
    """Makes the command ``lm_eval`` print our errors as one line instead of a traceback."""
    usual = sys.excepthook

    def show(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Q2Error):
            print(f"q2: error: {' '.join(str(error).split())}", file=sys.stderr)
        else:
            usual(kind, error, trace)

    sys.excepthook = show


def _not_asked_for(record: logging.LogRecord) -> bool:
    """A logging filter: false for the harness's warning that a metric in the table of a q2 group
    has no values, because the run does not compute this metric."""
    text = record.getMessage()
    return not (text.startswith("Group 'q2_") and "no values found" in text)


logging.getLogger("lm_eval.api.group").addFilter(_not_asked_for)

if "lm_eval._cli" in sys.modules:  # not in a user's own program, which shows the traceback
    _explain_errors_in_one_line()
