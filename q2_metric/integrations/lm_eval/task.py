"""The task class that the yaml files name, and its few-shot sampler."""

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
    """A task whose answers are scored by our metrics, after all answers have been generated.

    Scoring is the last step of each filter pipeline of the task, because there the harness has all
    answers of a rank together. The signatures go into the metadata of the task, which the harness
    copies to the results file.

    Args:
        config: the contents of the yaml file, with the metadata of the run (see :class:`Options`).

    Raises:
        InputError, ModelError, MissingExtra: the metadata names something that does not exist or
            cannot be loaded. The error is raised before generation.
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
        """Checks that the metrics can be loaded, and builds the requests."""
        if not self.predicts_only:
            check_loads(self.options)
        super().build_all_requests(**settings)

    @property
    def predicts_only(self) -> bool:
        """Whether the run only stores the answers and scores nothing (``--predict_only``)."""
        return "bypass" in self._metric_fn_list

    def score(self, answers: Sequence[Any], documents: Sequence[Document]) -> Sequence[Any]:
        """The answers with their values attached."""
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
    """Passes all answers of a rank to the task, which scores them, unless the run only predicts."""

    def __init__(self, task: GroundedTask) -> None:
        self.task = task

    def apply(self, resps: Iterable[Any], docs: Sequence[Document]) -> Sequence[Any]:
        """The answers, in order, with their values attached."""
        answers = list(resps)
        return answers if self.task.predicts_only else self.task.score(answers, docs)


class OtherRows(ContextSampler):  # type: ignore[misc]
    """Few-shot examples from the evaluated set: rows with a response and with other knowledge.

    The examples of a row depend only on the seed and the id of the row. So a row has the same
    prompt on any number of ranks and with any ``--limit``.
    """

    seed: int | None = None

    def set_rnd(self, rnd: int | None) -> OtherRows:
        """Sets the seed of the run."""
        self.seed = rnd
        return self

    def sample(
        self, n: int, eval_doc: Document | None = None, **_: Any
    ) -> Sequence[dict[str, Any]]:
        """``n`` rows for the prompt of ``eval_doc``.

        Raises:
            InputError: the set has fewer than ``n`` such rows.
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
    """Makes the harness's command end with our one-line message instead of a traceback."""
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
    """Drops the harness's warning about metrics of the group's table that the run leaves out."""
    text = record.getMessage()
    return not (text.startswith("Group 'q2_") and "no values found" in text)


logging.getLogger("lm_eval.api.group").addFilter(_not_asked_for)

if "lm_eval._cli" in sys.modules:  # a user's own program shows the traceback
    _explain_errors_in_one_line()
