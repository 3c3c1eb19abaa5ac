"""The OpenAPI 3.1 document of the API. Results are described from the fields of output rows."""

from __future__ import annotations

from typing import Any

from q2_metric.rows.columns import ALIASES
from q2_metric.rows.fields import Field, Layout

Schema = dict[str, Any]

_TYPES = {"text": "string", "number": "number", "whole": "integer", "yes-no": "boolean",
          "object": "object", "json": "object"}
_ABOUT = {
    "response": "The text that is scored, or a chat whose last turn by the assistant is scored.",
    "knowledge": "The text that must support the response, or a list of passages.",
    "history": "The turns of the dialogue before the response.",
    "question": "The question that the response answers.",
    "id": "Is returned as the id of the result.",
}
_REFUSALS = {
    "400": "The body is not JSON, or has no rows.",
    "401": "The API key is missing or wrong.",
    "403": "The request comes from a page of another site.",
    "408": "The body was not complete in time.",
    "413": "The body is too long, or has too many rows.",
    "415": "The body is not application/json.",
    "421": "The header Host does not name this server.",
    "429": "Too many rows are waiting. The header Retry-After says when to try again.",
    "500": "The machine or a model failed; no row is the cause.",
    "503": "The rows were not scored in time.",
}


def document(layout: Layout, version: str) -> Schema:
    """Describes a server whose results have the fields of ``layout``."""
    row: Schema = {
        "type": "object",
        "description": "Fields may have any name that q2 score recognises as a column.",
        "properties": {name: {"description": f"{words} Also: {', '.join(ALIASES[name][1:])}."}
                       for name, words in _ABOUT.items()},
        "examples": [{"response": "It opened in 1901.",
                      "knowledge": ["The tower opened in 1889.", "It is 330 metres tall."]}],
    }
    answer: Schema = {
        "type": "object", "required": ["results", "signatures"],
        "properties": {
            "results": {"type": "array", "items": _ref("Result"),
                        "description": "One result for each row, in order."},
            "signatures": {"type": "object", "additionalProperties": {"type": "string"},
                           "description": "For each score, its models and settings."},
        },
    }
    result = _object(layout.fields)
    result["description"] = ("A row of q2 score --out. If the row could not be scored, error says "
                             "why, and the scores are null.")
    refused: Schema = {"type": "object", "required": ["error"],
                       "properties": {"error": {"type": "string"}}}
    health: Schema = {"type": "object", "required": ["status", "version"], "properties": {
        "status": {"enum": ["ok", "broken"]}, "version": {"type": "string"}}}
    rows: Schema = {"type": "object", "required": ["rows"], "properties": {
        "rows": {"type": "array", "minItems": 1, "items": _ref("Row")}}}
    schemas = {"Row": row, "Rows": rows, "Result": result, "Scores": answer, "Error": refused,
               "Health": health}
    return {
        "openapi": "3.1.0",
        "info": {"title": "q2-metric", "version": version,
                 "description": "Scores whether the knowledge supports a response."},
        "paths": _paths(),
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _paths() -> Schema:
    asked: Schema = {"anyOf": [_ref("Rows"), _ref("Row")]}
    return {
        "/v1/score": {"post": _operation(
            "score", "Score one row or several rows.", _json("The scores.", "Scores"),
            _REFUSALS, {"application/json": {"schema": asked}})},
        "/v1/stream": {"post": _operation(
            "stream", "Judge claims while the text arrives.",
            {"description": "Events: claim, with a claim as in Result; then score, with the "
             "scores and all claims; or error.",
             "content": {"text/event-stream": {"schema": {"type": "string"}}}},
            {status: _REFUSALS[status] for status in ("400", "401", "403", "421", "429")}
            | {"415": "The body is not application/x-ndjson."},
            {"application/x-ndjson": {"schema": {
                "type": "string",
                "description": "A Row without a response on the first line, then lines such "
                               'as {"text": "It opened "}.'}}})},
        "/v1/chat/completions": {"post": _others(
            "detect", "Find unsupported spans for the vLLM semantic router, as its chat model.")},
        "/beta/litellm_basic_guardrail_api": {"post": _others(
            "guard", "LiteLLM's Generic Guardrail API: block unsupported responses.")},
        "/v1/health": {"get": _operation(
            "health", "Whether the server can score.", _json("It can.", "Health"),
            others={"503": _json("It cannot.", "Health")})},
        "/v1/metrics": {"get": _operation(
            "metrics", "Counters and durations, in the format of Prometheus.",
            {"description": "The numbers.",
             "content": {"text/plain": {"schema": {"type": "string"}}}},
            {status: _REFUSALS[status] for status in ("401", "403", "421")})},
    }


def _others(name: str, summary: str) -> Schema:
    """A route whose form another project has defined."""
    form: Schema = {"application/json": {"schema": {"type": "object"}}}
    return _operation(name, summary, {"description": "The reply.", "content": form},
                      {**_REFUSALS, "422": "The answer was not judged."}, form)


def _operation(name: str, summary: str, answer: Schema, refusals: dict[str, str] | None = None,
               asked: Schema | None = None, others: Schema | None = None) -> Schema:
    body = {"requestBody": {"required": True, "content": asked}}
    return {
        "operationId": name, "summary": summary, **(body if asked else {}),
        "responses": {"200": answer, **(others or {}), **{
            status: _json(words, "Error") for status, words in (refusals or {}).items()}},
    }


def _json(words: str, schema: str) -> Schema:
    return {"description": words, "content": {"application/json": {"schema": _ref(schema)}}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(fields: list[Field] | tuple[Field, ...]) -> Schema:
    return {"type": "object", "required": [field.name for field in fields],
            "properties": {field.name: _schema(field) for field in fields}}


def _schema(field: Field) -> Schema:
    if field.form == "texts":
        return {"type": ["array", "null"], "items": {"type": "string"}}
    if field.form == "objects":
        return {"type": ["array", "null"], "items": _object(field.fields)}
    return {"type": [_TYPES[field.form], "null"]}
