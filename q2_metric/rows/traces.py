"""Reads traces in OTLP-JSON: each trace becomes a row with a chat (``messages``).

It knows OpenTelemetry's conventions for generative AI (``gen_ai.*``) and OpenInference
(``openinference.span.kind``, ``llm.*``, ``retrieval.*``). The response is the text of the model
call that ends last. Documents that were retrieved and results of tools before it are tool messages.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from q2_metric.errors import InputError
from q2_metric.rows.record import Record, is_chat, response_at, text_of, turns_of, unfolded

_MODEL = ("chat", "generate_content", "text_completion", "LLM")
_RETRIEVAL = ("retrieval", "RETRIEVER")
_TOOL = ("execute_tool", "TOOL")
_NO_TEXT = ("no call of a model has a text; let the instrumentation record the content of messages "
            "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)")

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Span:
    id: str
    start: int
    end: int
    kind: str
    attributes: Mapping[str, Any]


def holds_traces(fields: Mapping[str, object]) -> bool:
    return "resourceSpans" in fields or "scopeSpans" in fields


def chats(records: Iterable[Record], name: str) -> Iterator[Record]:
    """A record for each trace in which a model is called. The spans of a trace may be in several
    lines. Raises InputError if no model is called in the whole file."""
    traces: dict[str, list[_Span]] = {}
    for record in records:
        try:
            for trace, span in _spans(record.fields):
                traces.setdefault(trace, []).append(span)
        except RecursionError:
            yield Record(record.where, {}, "is nested too deeply")
        if record.problem:
            yield record
    calls = 0
    for trace, spans in traces.items():
        if any(span.kind in _MODEL for span in spans):
            calls += 1
            yield _record(f"{name}, trace {trace}", trace, spans)
    if not calls:
        raise InputError(f"{name}: in no trace is a model called: no span has "
                         "gen_ai.operation.name chat or openinference.span.kind LLM")


def _record(where: str, trace: str, spans: Sequence[_Span]) -> Record:
    called = [(span, said) for span in spans if span.kind in _MODEL
              and response_at(turns_of(said := _messages(span, "output"), "")) is not None]
    if not called:
        return Record(where, {}, _NO_TEXT)
    last, said = max(called, key=lambda one: one[0].end)
    before = _messages(last, "input")
    known = {turn.text for turn in turns_of(before, "")}
    given = [message for span in sorted(spans, key=lambda span: span.end)
             if span.start <= last.start and (message := _given(span))["content"]
             and message["content"] not in known]
    spoken = ((place, turns_of([one], "")[-1]) for place, one in enumerate(before, start=1))
    asked = max((place for place, turn in spoken if turn.role == "user" and turn.text), default=0)
    read = last.attributes
    return Record(where, {
        "id": trace, "messages": [*before[:asked], *given, *before[asked:], *said],
        "trace_id": trace, "span_id": last.id, "response_id": read.get("gen_ai.response.id"),
        "model": read.get("gen_ai.request.model", read.get("llm.model_name"))})


def _given(span: _Span) -> dict[str, str]:
    """A tool message; its content is "" if the span is no retrieval and no tool."""
    content: object = ""
    if span.kind in _RETRIEVAL:
        documents = _objects(unfolded(span.attributes.get("gen_ai.retrieval.documents"))) or [
            {"content": one.get("document.content"), "id": one.get("document.id")}
            for one in _numbered(span.attributes, "retrieval.documents")]
        content = list(filter(text_of, documents)) or ""
    elif span.kind in _TOOL:
        content = span.attributes.get(
            "gen_ai.tool.call.result", span.attributes.get("output.value", ""))
    return {"role": "tool", "content": content if isinstance(content, str) else json.dumps(content)}


def _messages(span: _Span, side: str) -> list[Message]:
    """The messages that a call got ("input") or gave ("output")."""
    read = span.attributes
    found = _objects(unfolded(read.get(f"gen_ai.{side}.messages"))) or [
        {"role": one.get("message.role"), "content": one.get("message.content") or [
            {"type": "text", "text": part.get("message_content.text")}
            for part in _numbered(one, "message.contents")]}
        for one in _numbered(read, f"llm.{side}_messages")
    ] or _numbered(read, "gen_ai.prompt" if side == "input" else "gen_ai.completion")
    return list(filter(_readable, found))


def _readable(message: Message) -> bool:
    with suppress(InputError):
        return is_chat([message]) and bool(turns_of([message], ""))
    return False


def _numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Attributes such as ``prefix.0.name``, as an object for each number."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        number, _, name = key.removeprefix(f"{prefix}.").partition(".")
        if key.startswith(f"{prefix}.") and number.isascii() and number.isdigit() and name:
            found.setdefault(int(number[:9]), {})[name] = value
    return [found[number] for number in sorted(found)]


def _spans(fields: Mapping[str, object]) -> Iterator[tuple[str, _Span]]:
    for resource in _objects(fields.get("resourceSpans")) or [fields]:
        for scope in _objects(resource.get("scopeSpans")):
            for span in _objects(scope.get("spans")):
                attributes: dict[str, Any] = {}
                for one in (*_objects(span.get("events")), span):  # an event may hold messages
                    attributes |= _attributes(one.get("attributes"))
                kind = attributes.get("openinference.span.kind",
                                      attributes.get("gen_ai.operation.name"))
                yield str(span.get("traceId")), _Span(
                    str(span.get("spanId")), _time(span.get("startTimeUnixNano")),
                    _time(span.get("endTimeUnixNano")), str(kind), attributes)


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _attributes(listed: object) -> dict[str, Any]:
    return {str(one.get("key")): _value(one.get("value")) for one in _objects(listed)}


def _value(value: object) -> Any:
    """The value in an object such as ``{"stringValue": "…"}``."""
    if not isinstance(value, Mapping) or not value:
        return None
    form, held = next(iter(value.items()))
    if form in ("arrayValue", "kvlistValue") and isinstance(held, Mapping):
        values = _objects(held.get("values"))
        return [_value(one) for one in values] if form == "arrayValue" else _attributes(values)
    return held


def _time(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 30 else 0
