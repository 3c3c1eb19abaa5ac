"""The OpenAPI 3.1 document of the API. Results are described from the fields of output rows."""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from q2_metric.rows.columns import ALIASES
from q2_metric.rows.fields import Field, Layout

Schema = dict[str, Any]

_TYPES = {"text": "string", "number": "number", "whole": "integer", "yes-no": "boolean",
          "object": "object", "json": "object"}
_REFUSALS = {
    "413": "The body is too long, or has too many rows.",
    "422": "The answer was not judged (only /v1/chat/completions).",
    "429": "Too many rows or streams. The header Retry-After says when to try again.",
    "default": "The request was refused: docs/serve.md says when.",
}
_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


def document(layout: Layout, version: str) -> Schema:
    """Describes a server whose results have the fields of ``layout``: ``openapi.json``, with what
    depends on the version, and the refusals of each route."""
    described: Schema = json.loads(
        files(__package__).joinpath("openapi.json").read_text(encoding="utf-8"))
    described["info"]["version"] = version
    schemas, paths = described["components"]["schemas"], described["paths"]
    schemas["Result"] |= _object(layout.fields)
    for name, about in schemas["Row"]["properties"].items():
        about["description"] += f" Also: {', '.join(ALIASES[name][1:])}."
    for route in (route for methods in paths.values() for route in methods.values()):
        route["responses"] |= {
            status: {"description": words, "content": _ERROR}
            for status, words in _REFUSALS.items() if "requestBody" in route or status == "default"}
    health = paths["/v1/health"]["get"]["responses"]
    health["503"] = health["200"]
    return described


def _object(fields: Sequence[Field]) -> Schema:
    return {"type": "object", "required": [field.name for field in fields],
            "properties": {field.name: _schema(field) for field in fields}}


def _schema(field: Field) -> Schema:
    if field.form in ("texts", "objects"):
        items = {"type": "string"} if field.form == "texts" else _object(field.fields)
        return {"type": ["array", "null"], "items": items}
    return {"type": [_TYPES[field.form], "null"]}
