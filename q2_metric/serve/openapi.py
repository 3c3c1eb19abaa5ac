"""The OpenAPI 3.1 document of the API. Results are described from the fields of output rows."""

from collections.abc import Sequence
from typing import Any

from q2_metric.rows.columns import ALIASES
from q2_metric.rows.fields import Field, Layout

Schema = dict[str, Any]

_TYPES = {"text": "string", "number": "number", "whole": "integer", "yes-no": "boolean",
          "object": "object", "json": "object"}
_STRING = {"type": "string"}
_ABOUT = {
    "response": "The text that is scored, or a chat whose last turn by the assistant is scored.",
    "knowledge": "The text that must support the response, or a list of passages.",
    "history": "The turns of the dialogue before the response.",
    "question": "The question that the response answers.",
    "id": "Is returned as the id of the result.",
}


def document(layout: Layout, version: str) -> Schema:
    """Describes a server whose results have the fields of ``layout``."""
    schemas: Schema = {
        "Row": {
            "type": "object",
            "description": "Fields may have any name that q2 score recognises as a column.",
            "properties": {name: {"description": f"{words} Also: {', '.join(ALIASES[name][1:])}."}
                           for name, words in _ABOUT.items()},
            "examples": [{"response": "It opened in 1901.",
                          "knowledge": ["The tower opened in 1889.", "It is 330 metres tall."]}],
        },
        "Rows": _object({"rows": {"type": "array", "minItems": 1, "items": _ref("Row")}}),
        "Result": {**_schemas(layout.fields), "description":
                   "A row of q2 score --out. If the row could not be scored, error says why, and "
                   "the scores are null."},
        "Scores": _object({
            "results": {"type": "array", "items": _ref("Result"),
                        "description": "One result for each row, in order."},
            "signatures": {"type": "object", "additionalProperties": _STRING,
                           "description": "For each score, its models and settings."}}),
        "Error": _object({"error": _STRING}),
        "Health": _object({"status": {"enum": ["ok", "broken"]}, "version": _STRING}),
    }
    paths = {path: {method: _operation(*words)} for path, method, *words in _ROUTES}
    health = paths["/v1/health"]["get"]["responses"]
    health["503"] = health["200"]
    return {
        "openapi": "3.1.0",
        "info": {"title": "q2-metric", "version": version,
                 "description": "Scores whether the knowledge supports a response."},
        "paths": paths,
        "components": {"schemas": schemas,
                       "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}, {}],
    }


def _object(properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _schemas(fields: Sequence[Field]) -> Schema:
    return _object({field.name: _schema(field) for field in fields})


def _schema(field: Field) -> Schema:
    if field.form in ("texts", "objects"):
        items = _STRING if field.form == "texts" else _schemas(field.fields)
        return {"type": ["array", "null"], "items": items}
    return {"type": [_TYPES[field.form], "null"]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


_TEXT: Schema = {"schema": _STRING}
_OTHERS = _json({"type": "object"})
"""The content of a route whose form another project has defined."""

_ROUTES: Sequence[Any] = (
    ("/v1/score", "post", "score", "Score one row or several rows.", _json(_ref("Scores")),
     _json({"anyOf": [_ref("Rows"), _ref("Row")]})),
    ("/v1/stream", "post", "stream",
     "Judge claims while the text arrives. Events: claim, with a claim as in Result; then score, "
     "with the scores and all claims; or error. The body has a Row without a "
     'response on the first line, then lines such as {"text": "It opened "}.',
     {"text/event-stream": _TEXT}, {"application/x-ndjson": _TEXT}),
    ("/v1/chat/completions", "post", "detect",
     "Find unsupported spans for the vLLM semantic router, as its chat model.", _OTHERS, _OTHERS),
    ("/beta/litellm_basic_guardrail_api", "post", "guard",
     "LiteLLM's Generic Guardrail API: block unsupported responses.", _OTHERS, _OTHERS),
    ("/v1/health", "get", "health", "Whether the server can score. If not, the status is 503.",
     _json(_ref("Health"))),
    ("/v1/metrics", "get", "metrics", "Counters and durations, in the format of Prometheus.",
     {"text/plain": _TEXT}),
)
"""Path, method, name, what it does, the content of the reply and of the body."""

_REFUSALS = {
    "413": "The body is too long, or has too many rows.",
    "422": "The answer was not judged (only /v1/chat/completions).",
    "429": "Too many rows or streams. The header Retry-After says when to try again.",
    "default": "The request was refused: docs/serve.md says when.",
}


def _operation(name: str, summary: str, reply: Schema, asked: Schema | None = None) -> Schema:
    body = {"requestBody": {"required": True, "content": asked}} if asked else {}
    return {"operationId": name, "summary": summary, **body, "responses": {
        "200": {"description": "The reply.", "content": reply},
        **{status: {"description": words, "content": _json(_ref("Error"))}
           for status, words in _REFUSALS.items() if asked or status == "default"},
    }}
