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

    A filter receives all answers of a rank at once, so the last filter scores them. The harness
    copies the signatures from the metadata to the file of results. Raises InputError if an option
    of the metrics is unknown or has a wrong value.
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
        """Checks first that the metrics can be loaded. Raises ModelError or MissingExtra if a
        metric cannot be loaded."""
        if not self.predicts_only:
            check_loads(self.options)
        super().build_all_requests(**settings)

    @property
    def predicts_only(self) -> bool:
        """Whether the run only saves the answers (``--predict_only``)."""
        return "bypass" in self._metric_fn_list

    def score(self, answers: Sequence[Any], documents: Sequence[Document]) -> Sequence[Any]:
        """The answers of this rank, with their scores attached."""
        made: Sequence[Any]
        if self.OUTPUT_TYPE == "multiple_choice":
            made, signatures = score_judged(answers, documents, self.options)
        else:
            if not all(isinstance(answer, str) for answer in answers):
                raise InputError("only one answer for each row can be scored: put take_first last "
                                 "in filter_list")
            made, signatures = score_responses(
                answers, documents, self.options, self._metric_fn_list)
        self.config.metadata["signatures"] = dict(signatures)
        return made


class ScoreFilter(Filter):  # type: ignore[misc]
    """The last filter of a task, which scores all answers of a rank at once."""

    def __init__(self, task: GroundedTask) -> None:
        self.task = task

    def apply(self, resps: Iterable[Any], docs: Sequence[Document]) -> Sequence[Any]:
        answers = list(resps)
        return answers if self.task.predicts_only else self.task.score(answers, docs)


class OtherRows(ContextSampler):  # type: ignore[misc]
    """Draws the few-shot examples for a row from the other rows of the same data set. They have a
    gold response and other knowledge. They depend only on the seed and the row's id, whatever the
    number of processes and ``--limit``."""

    seed: int | None = None

    def set_rnd(self, rnd: int | None) -> OtherRows:
        self.seed = rnd
        return self

    def sample(
        self, n: int, eval_doc: Document | None = None, **_: Any
    ) -> Sequence[dict[str, Any]]:
        """Draws ``n`` rows for the prompt of the row ``eval_doc``. Raises InputError if the data
        set has fewer than ``n`` suitable rows."""
        own = eval_doc or {"id": "", "knowledge": None}
        pool = [row for row in self.df
                if row["response"] and row["knowledge"] != own["knowledge"]]
        if n > len(pool):
            raise InputError(f"{n} few-shot examples are asked for, but only {len(pool)} other "
                             "rows have a response")
        return Random(f"{self.seed} {own['id']}").sample(pool, n)


def _explain_errors_in_one_line() -> None:
    usual = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, Q2Error):
            print(f"q2: error: {' '.join(str(error).split())}", file=sys.stderr)
        else:
            usual(kind, error, trace)

    sys.excepthook = show


def _not_asked_for(record: logging.LogRecord) -> bool:
    """Drops the warning that a q2 group has no values of a metric that the run does not compute."""
    text = record.getMessage()
    return not (text.startswith("Group 'q2_") and "no values found" in text)


logging.getLogger("lm_eval.api.group").addFilter(_not_asked_for)

if "lm_eval._cli" in sys.modules:  # not in a user's own program, which shows the traceback
    _explain_errors_in_one_line()
