"""Scores as OpenTelemetry's events ``gen_ai.evaluation.result``."""

from typing import Any

from opentelemetry import trace
from opentelemetry._logs import LoggerProvider, LogRecord, get_logger
from opentelemetry.context import Context

from q2_metric._version import __version__
from q2_metric.rows.plain import REASONS
from q2_metric.scoring.aggregate import signatures
from q2_metric.scoring.judge import Judge, Judged
from q2_metric.scoring.verdict import THRESHOLD
from q2_metric.types import Example


class Evaluation:
    """Scores responses, and emits an event for each score of each response. ``settings`` are those
    of :class:`~q2_metric.scoring.judge.Judge`, with its errors. Without ``logger_provider``,
    the events go to the global one. A metric that fails gives an event with ``error.type``."""

    def __init__(
        self, metrics: str = "groundedness", *, no_claim: str | None = None,
        logger_provider: LoggerProvider | None = None, **settings: Any,
    ) -> None:
        self.judge = Judge(metrics, no_claim, settings, strict=False, evidence=True)
        self._signatures = signatures(self.judge.metrics, self.judge.no_claim)
        self._logger = get_logger("q2_metric", __version__, logger_provider)

    def __call__(self, row: Example, context: Context | None = None) -> Judged:
        """The events belong to the span of ``context``. Without it, they belong to the span from
        which the row was read (:mod:`q2_metric.rows.traces`), or else to the current span."""
        [judged] = self.judge([row])
        for name, signed in self._signatures.items():
            self._logger.emit(LogRecord(
                event_name="gen_ai.evaluation.result", context=context or _context(row),
                attributes=_attributes(row, name, signed, judged)))
        return judged


def _attributes(row: Example, name: str, signed: str, judged: Judged) -> dict[str, str | float]:
    attributes: dict[str, str | float] = {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.explanation": judged.failed.get(name, judged.why),
        "gen_ai.evaluation.evaluator.version": signed,
    }
    if (value := judged.numbers[name]) is not None:
        attributes["gen_ai.evaluation.score.value"] = value
        attributes["gen_ai.evaluation.score.label"] = (
            "no_claim" if judged.numbers.get("no_claim")
            else "supported" if value >= THRESHOLD else "unsupported")
    if judged.failed.get(name) == REASONS["fault"]:
        attributes["error.type"] = "fault"
    if response := row.other.get("response_id"):
        attributes["gen_ai.response.id"] = str(response)
    return attributes


def _context(row: Example) -> Context | None:
    try:
        span = trace.SpanContext(int(row.other["trace_id"], 16), int(row.other["span_id"], 16),
                                 is_remote=True)
    except (KeyError, TypeError, ValueError):
        return None
    return trace.set_span_in_context(trace.NonRecordingSpan(span))
