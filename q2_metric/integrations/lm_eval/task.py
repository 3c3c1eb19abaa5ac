"""The class of all tasks in ``tasks/*.yaml``, and their sampler of few-shot examples."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from random import Random
from types import TracebackType
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean
from lm_eval.api.samplers import ContextSampler
from lm_eval.api.task import ConfigurableTask

from q2_metric.errors import InputError, Q2Error
from q2_metric.integrations.lm_eval import scoring, tables
from q2_metric.integrations.lm_eval.scoring import Document, Results


class GroundedTask(ConfigurableTask):  # type: ignore[misc]
    """A task whose answers are scored by the metrics of this package, after all were generated.

    The harness copies the signatures from the metadata to the file of results. Raises InputError if
    an option of the metrics is unknown or has a wrong value.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.options = scoring.Options.from_metadata(config.get("metadata") or {})
        self.judges = config.get("output_type") == "multiple_choice"
        lines = (tables.judge_lines if self.judges else tables.generation_lines)(
            self.options.metrics, config["metric_list"])
        own = {key: value for key, value in config.items() if key != "class"}
        super().__init__(config={**own, "metric_list": lines, "process_results": "process_results"})
        for name, aggregation in self._aggregation_list.items():
            if aggregation is mean:
                self._aggregation_list[name] = tables.PresentMean()
        self._results: dict[str, Results] = {}

    def build_all_requests(self, **settings: Any) -> None:
        """Checks first that the metrics can be loaded. Raises InputError, ModelError or
        MissingExtra if a metric cannot be loaded."""
        if not self.predicts_only:
            scoring.check_loads(self.options)
        super().build_all_requests(**settings)

    @property
    def predicts_only(self) -> bool:
        """Whether the run only saves the answers (``--predict_only``)."""
        return "bypass" in self._metric_fn_list

    def apply_filters(self) -> None:
        """Filters the answers of this rank, and scores them all at once. Raises InputError if a
        filter leaves several answers for a row."""
        super().apply_filters()
        if self.predicts_only:
            return
        rows: dict[int, list[Instance]] = {}
        for one in self.instances:
            rows.setdefault(one.doc_id, []).append(one)
        documents = [first.doc for first, *_ in rows.values()]
        for name in self.instances[0].filtered_resps:
            answers = [[one.filtered_resps[name] for one in of_it] for of_it in rows.values()]
            if self.judges:
                found, signatures = scoring.score_judged(
                    [yes[0] - no[0] for yes, no in answers], documents, self.options)
            else:
                answers = [[_readable(answer)] for answer, in answers]
                found, signatures = scoring.score_responses(
                    [answer for answer, in answers], documents, self.options, self._metric_fn_list)
                for (one,), (answer,) in zip(rows.values(), answers, strict=True):
                    one.filtered_resps[name] = answer
            for key, results in zip(map(_key, documents, answers), found, strict=True):
                self._results.setdefault(key, results)
            self.config.metadata["signatures"] = dict(signatures)

    def process_results(self, doc: Document, results: Sequence[Any]) -> Results:
        """The values of a row for the table. Raises InputError if its answer was given to another
        row, because ``--cache_requests`` reused requests of older data."""
        if self.predicts_only:
            return super().process_results(doc, results)  # type: ignore[no-any-return]
        if (found := self._results.get(_key(doc, results))) is None:
            raise InputError(f"the cached request of row {doc['id']!r} was made from other data: "
                             "run again with --cache_requests refresh")
        return found


def _readable(answer: object) -> str:
    """An answer as it is scored and logged: those of a server can contain lone surrogates, which
    can be neither tokenised nor written."""
    if not isinstance(answer, str):
        raise InputError("only one answer for each row can be scored: put take_first last in "
                         "filter_list")
    return answer.strip().encode("utf-8", "replace").decode("utf-8")


def _key(document: Document, answers: Sequence[Any]) -> str:
    """All that the results of a row depend on."""
    return repr((document, answers))


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
