"""Traces as OpenTelemetry's SDK and its exporter write them, and damaged ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from optional import needs

from q2_metric.errors import InputError
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.types import Example

FIRST, SECOND = "The tower opened in 1889.", "It is 330 metres tall."
ASKED, SAID = "When did it open?", "It opened in 1889."


@pytest.fixture
def tracing(tmp_path: Path) -> tuple[Path, Any, Callable[[], None]]:
    """A file, a tracer whose spans are written to it, and a function that completes the file."""
    needs("opentelemetry.sdk")
    exporter = needs("opentelemetry.exporter.otlp.json.file")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    path = tmp_path / "traces.jsonl"
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter.FileSpanExporter(str(path))))
    return path, provider.get_tracer("test"), provider.shutdown


def text(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": words}]}


def genai(tracer: Any, asked: str = ASKED, said: str = SAID, *, tool: bool = True) -> str:
    """Spans as GenAI instrumentations record them: retrieval, a call of a tool, the answer."""
    called = [text("user", asked)]
    with tracer.start_as_current_span("invoke_agent") as root:
        with tracer.start_as_current_span("retrieval kb") as span:
            span.set_attributes({
                "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": json.dumps(
                    [{"id": "b7", "content": FIRST, "score": 0.9}, {"id": "x", "score": 0.1}])})
        if tool:
            asks = {"role": "assistant", "parts": [
                {"type": "tool_call", "id": "1", "name": "height", "arguments": {}}]}
            with tracer.start_as_current_span("chat m") as span:
                span.set_attributes({
                    "gen_ai.operation.name": "chat",
                    "gen_ai.input.messages": json.dumps(called),
                    "gen_ai.output.messages": json.dumps([{**asks, "finish_reason": "tool_call"}])})
            with tracer.start_as_current_span("execute_tool height") as span:
                span.set_attributes({"gen_ai.operation.name": "execute_tool",
                                     "gen_ai.tool.call.result": SECOND})
            called += [asks, {"role": "tool", "parts": [
                {"type": "tool_call_response", "id": "1", "response": SECOND}]}]
        with tracer.start_as_current_span("chat m") as span:
            span.set_attributes({
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
                "gen_ai.response.id": "r1", "gen_ai.input.messages": json.dumps(
                    [text("system", "Be brief."), *called]),
                "gen_ai.output.messages": json.dumps(
                    [{**text("assistant", said), "finish_reason": "stop"}])})
        with tracer.start_as_current_span("chat title") as span:  # a call without a text
            span.set_attributes({"gen_ai.operation.name": "chat"})
        return f"{root.get_span_context().trace_id:032x}"


def test_genai_conventions(tracing: Any) -> None:
    path, tracer, done = tracing
    traces = [genai(tracer), genai(tracer, "How tall is it?", "330 metres.", tool=False)]
    with tracer.start_as_current_span("GET /health"):
        pass
    done()
    lines: list[str] = []
    first, second = read_rows(path, on_read=lines.append)
    assert (first.response, first.history) == (SAID, (ASKED,))
    assert first.knowledge == f"{FIRST}\n{SECOND}"  # once, although two spans have the result
    assert [one.id for one in first.passages] == ["b7", None]
    assert (first.id, second.id) == tuple(traces)
    assert (first.other["response_id"], first.other["model"]) == ("r1", "m")
    assert len(first.other["span_id"]) == 16
    assert (second.response, second.knowledge) == ("330 metres.", FIRST)
    assert "knowledge from 'messages' (what tools returned)" in lines[0]


def test_structured_messages_and_events(tracing: Any) -> None:
    """Attributes may be lists of objects, and messages may be in an event of the span."""
    path, tracer, done = tracing
    with tracer.start_as_current_span("root"):
        with tracer.start_as_current_span("execute_tool") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.call.result", json.dumps({"opened": 1889}))
        with tracer.start_as_current_span("chat") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.add_event("gen_ai.client.inference.operation.details", {
                "gen_ai.input.messages": json.dumps([text("user", ASKED)]),
                "gen_ai.output.messages": json.dumps([text("assistant", SAID)])})
    done()
    [row] = read_rows(path)
    assert (row.response, row.knowledge, row.history) == (SAID, '{"opened": 1889}', (ASKED,))


def test_openinference(tracing: Any) -> None:
    path, tracer, done = tracing
    needs("openinference.semconv")
    from openinference.semconv.trace import (
        DocumentAttributes,
        MessageAttributes,
        MessageContentAttributes,
        OpenInferenceSpanKindValues,
        SpanAttributes,
    )

    documents = {
        f"{SpanAttributes.RETRIEVAL_DOCUMENTS}.{place}.{name}": value
        for place, (id_, words) in enumerate([("b7", FIRST), ("b8", SECOND)])
        for name, value in ((DocumentAttributes.DOCUMENT_ID, id_),
                            (DocumentAttributes.DOCUMENT_CONTENT, words),
                            (DocumentAttributes.DOCUMENT_SCORE, 0.5))}
    messages = {
        f"{SpanAttributes.LLM_INPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_ROLE}": "user",
        f"{SpanAttributes.LLM_INPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_CONTENTS}.0."
        f"{MessageContentAttributes.MESSAGE_CONTENT_TEXT}": ASKED,
        f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_ROLE}": "assistant",
        f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_CONTENT}": SAID,
        SpanAttributes.LLM_MODEL_NAME: "m"}
    with tracer.start_as_current_span("CHAIN"):
        for kind, attributes in (
            ("RETRIEVER", documents), ("TOOL", {SpanAttributes.OUTPUT_VALUE: "It is red."}),
            ("LLM", messages),
        ):
            with tracer.start_as_current_span(kind) as current:
                current.set_attributes({SpanAttributes.OPENINFERENCE_SPAN_KIND:
                                        OpenInferenceSpanKindValues[kind].value, **attributes})
    done()
    [row] = read_rows(path)
    assert (row.response, row.history, row.other["model"]) == (SAID, (ASKED,), "m")
    assert row.knowledge == f"{FIRST}\n{SECOND}\nIt is red."
    assert [one.id for one in row.passages] == ["b7", "b8", None]


def attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def span(trace: str, number: int, *attributes: Any, **more: Any) -> dict[str, Any]:
    return {"traceId": trace, "spanId": f"s{number}", "startTimeUnixNano": str(number),
            "endTimeUnixNano": str(number + 1), "attributes": list(attributes), **more}


def model(trace: str, number: int, said: Any = SAID, **more: Any) -> dict[str, Any]:
    return span(trace, number, attribute("gen_ai.operation.name", "chat"),
                attribute("gen_ai.output.messages", json.dumps([text("assistant", said)])), **more)


def tool(trace: str, number: int) -> dict[str, Any]:
    return span(trace, number, attribute("gen_ai.operation.name", "execute_tool"),
                attribute("gen_ai.tool.call.result", FIRST))


def export(*spans: Any) -> str:
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]})


def written(tmp_path: Path, *lines: str, name: str = "traces.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_spans_of_a_trace_in_several_lines(tmp_path: Path) -> None:
    """And a tool that is called after the response does not support it."""
    lines = [export(model("t", 5)), export(tool("u", 1), model("u", 2)), export(tool("t", 9))]
    first, second = read_rows(written(tmp_path, *lines), blank=True)
    assert (first.id, first.knowledge) == ("t", "")
    assert (second.id, second.knowledge) == ("u", FIRST)
    [row, other] = read_rows(written(tmp_path, *lines, export(tool("t", 3))), blank=True)
    assert (row.knowledge, other.knowledge) == (FIRST, FIRST)


def test_a_json_document_of_traces(tmp_path: Path) -> None:
    path = written(tmp_path, export(tool("t", 1), model("t", 2)), name="traces.json")
    [row] = read_rows(path)
    assert (row.response, row.knowledge) == (SAID, FIRST)


def structured(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [structured(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [
            {"key": key, "value": structured(one)} for key, one in value.items()]}}
    return {"stringValue": value}


def test_structured_attributes(tmp_path: Path) -> None:
    said = {"key": "gen_ai.output.messages", "value": structured([text("assistant", SAID)])}
    path = written(tmp_path, export(tool("t", 1), span(
        "t", 2, attribute("gen_ai.operation.name", "chat"), said)))
    [row] = read_rows(path)
    assert (row.response, row.knowledge) == (SAID, FIRST)


def test_what_cannot_be_read_harms_no_other(tmp_path: Path) -> None:
    odd = [span("t", number, attribute("gen_ai.operation.name", "chat"),
                {"key": "gen_ai.output.messages", "value": value}, 7, [], "x")
           for number, value in enumerate([None, 3, {}, {"arrayValue": 4}, {"kvlistValue": []}])]
    lines = [
        "{broken", export(*odd, model("t", 5), tool("t", 1)),
        '{"resourceSpans": 3}', '{"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}, 4]}',
        '{"resourceMetrics": []}', export(model("silent", 1, ""), 3, {"startTimeUnixNano": {}}),
        export(span("n", 1)).replace("[]", '[{"key": "k", "value": ' + (
            '{"arrayValue": {"values": [' * 250 + "]}}" * 250) + "}]"),
        export(span("n", 1, {"key": "k", "value": structured([[[[["deep"]]]]])})),
    ]
    rows = list(read_rows(written(tmp_path, *lines)))
    assert [row.response for row in rows if isinstance(row, Example)] == [SAID]
    errors = [row.error for row in rows if isinstance(row, BadRow)]
    assert any("line 1: is not JSON" in one for one in errors)
    assert any("trace silent: no call of a model has a text; let the" in one for one in errors)


def test_traces_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in no trace is a model called: no span has gen_ai"):
        list(read_rows(written(tmp_path, export(tool("t", 1)))))


def test_each_turn_of_a_trace(tmp_path: Path) -> None:
    """What is retrieved now does not support what was said before."""
    chat = [text("user", "Hi."), text("assistant", "It closed in 1901."), text("user", ASKED)]
    asked = attribute("gen_ai.input.messages", json.dumps(chat))
    last = model("t", 5)
    last["attributes"].append(asked)
    first, second = read_rows(written(tmp_path, export(tool("t", 1), last)), turns="all",
                              blank=True)
    assert (first.response, first.knowledge, first.id) == ("It closed in 1901.", "", "t:1")
    assert (second.response, second.knowledge, second.id) == (SAID, FIRST, "t:2")
