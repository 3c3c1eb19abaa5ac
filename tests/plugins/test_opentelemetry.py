"""Events of scores, as OpenTelemetry's SDK records them. The metric is a stand-in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClaims
from optional import needs

from q2_metric import Example, metrics
from q2_metric.rows.read import read_rows

TABLE = {"It opened in 1889.": 0.9, "It closed in 1901.": 0.2}
KNOWLEDGE = "The tower opened in 1889."
NAME, VALUE, LABEL, WHY = (f"gen_ai.evaluation.{name}" for name in (
    "name", "score.value", "score.label", "explanation"))


class Broken(FakeClaims):
    def score(self, examples: Any, **_: Any) -> Any:
        raise ValueError("out of order")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A list of events so far, and the provider that collects them."""
    needs("opentelemetry.sdk")
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import (
        InMemoryLogRecordExporter,
        SimpleLogRecordProcessor,
    )

    monkeypatch.setattr(
        metrics, "load_metrics", lambda names, *_, **__: [
            (Broken if n == "nli" else FakeClaims)(n, TABLE) for n in names])
    provider, exporter = LoggerProvider(), InMemoryLogRecordExporter()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    return provider, lambda: [one.log_record for one in exporter.get_finished_logs()]


def test_an_event_for_each_score(events: Any) -> None:
    provider, emitted = events
    from q2_metric.integrations.opentelemetry import Evaluation

    evaluation = Evaluation("q2,scale", logger_provider=provider)
    judged = evaluation(Example("It opened in 1889.", KNOWLEDGE))
    q2, scale = emitted()
    assert {one.event_name for one in (q2, scale)} == {"gen_ai.evaluation.result"}
    assert q2.attributes[NAME] == "q2"
    assert dict(scale.attributes) == {
        NAME: "scale", VALUE: 0.9, LABEL: "supported", WHY: judged.why,
        "gen_ai.evaluation.evaluator.version": evaluation.judge.signature.splitlines()[-1]}


@pytest.mark.parametrize(("response", "knowledge", "value", "label"), [
    ("It closed in 1901.", KNOWLEDGE, 0.2, "unsupported"), ("Thanks!", KNOWLEDGE, 0.0, "no_claim"),
    ("It opened in 1889.", " ", None, None),
])
def test_labels(
    events: Any, response: str, knowledge: str, value: float | None, label: str | None
) -> None:
    provider, emitted = events
    from q2_metric.integrations.opentelemetry import Evaluation

    Evaluation("scale", logger_provider=provider)(Example(response, knowledge))
    [event] = emitted()
    assert (event.attributes.get(VALUE), event.attributes.get(LABEL)) == (value, label)
    assert "error.type" not in event.attributes
    if value is None:
        assert event.attributes[WHY] == "there is no knowledge to compare with"


def test_a_metric_that_fails(events: Any) -> None:
    provider, emitted = events
    from q2_metric.integrations.opentelemetry import Evaluation

    Evaluation("nli", logger_provider=provider)(Example("It rained.", KNOWLEDGE))
    [event] = emitted()
    assert event.attributes["error.type"] == "fault"
    assert VALUE not in event.attributes


def test_events_belong_to_the_span(events: Any) -> None:
    provider, emitted = events
    from opentelemetry.sdk.trace import TracerProvider

    from q2_metric.integrations.opentelemetry import Evaluation

    evaluation = Evaluation("scale", logger_provider=provider)
    row = Example("It opened in 1889.", KNOWLEDGE)
    with TracerProvider().get_tracer("test").start_as_current_span("chat") as span:
        evaluation(row)
        place = span.get_span_context()
    [event] = emitted()
    assert (event.trace_id, event.span_id) == (place.trace_id, place.span_id)


def test_events_belong_to_the_span_of_a_trace(events: Any, tmp_path: Path) -> None:
    provider, emitted = events
    exporter = needs("opentelemetry.exporter.otlp.json.file")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    from q2_metric.integrations.opentelemetry import Evaluation

    path, tracing = tmp_path / "traces.jsonl", TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(exporter.FileSpanExporter(str(path))))
    tracer = tracing.get_tracer("test")
    with tracer.start_as_current_span("agent"):
        with tracer.start_as_current_span("execute_tool") as span:
            span.set_attributes({"gen_ai.operation.name": "execute_tool",
                                 "gen_ai.tool.call.result": KNOWLEDGE})
        with tracer.start_as_current_span("chat") as span:
            span.set_attributes({
                "gen_ai.operation.name": "chat", "gen_ai.response.id": "r1",
                "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", '
                                          '"content": "It opened in 1889."}]}]'})
            place = span.get_span_context()
    tracing.shutdown()
    evaluation = Evaluation("scale", logger_provider=provider)
    for row in read_rows(path):
        assert isinstance(row, Example)
        evaluation(row)
    [event] = emitted()
    assert (event.trace_id, event.span_id) == (place.trace_id, place.span_id)
    assert event.attributes["gen_ai.response.id"] == "r1"
    assert event.attributes[VALUE] == 0.9
