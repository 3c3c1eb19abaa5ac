"""Writes a score as JSON and reads it back, for the cache and for other processes.

The format follows the dataclasses in :mod:`q2_metric.types`: an item of evidence is an object with
its fields and the name of its class; other dataclasses inside it are lists of their fields::

    {"value": 0.5, …, "evidence": [{"kind": "judgement", "claim": {"Claim": ["Rome …", …]}, …}]}
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from q2_metric.types import Claim, Dropped, Evidence, Example, Question, Score, Span, Verdict

_INNER: Mapping[str, Any] = {kind.__name__: kind for kind in (Claim, Dropped, Question, Verdict)}
"""The classes of values inside a score, apart from Span, which needs the example."""


def to_json(score: Score) -> dict[str, Any]:
    """A score as a JSON object, without its example."""
    return {name: _written(getattr(score, name)) for name in _names(Score)}


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    if not is_dataclass(value):
        return value
    kind: Any = type(value)
    whole = {name: _written(getattr(value, name)) for name in _names(kind)}
    if issubclass(kind, Evidence):
        return {"kind": kind.kind_name(), **whole}
    return {kind.__name__: [*whole.values()]}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name != "example")


def from_json(example: Example, fields: Mapping[str, Any]) -> Score:
    """Reads a score that :func:`to_json` wrote. ``example`` must have the same texts. TypeError,
    KeyError, ValueError, AttributeError: :func:`to_json` did not write the object."""
    return Score(example, **{name: _read(value, example) for name, value in fields.items()})


def _read(value: Any, example: Example) -> Any:
    if isinstance(value, list):
        return tuple([_read(item, example) for item in value])
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        whole = {name: _read(item, example) for name, item in value.items() if name != "kind"}
        return Evidence.kinds[value["kind"]](**whole)
    [(name, given)] = value.items()
    values = _read(given, example)
    return Span(example, *values) if name == "Span" else _INNER[name](*values)


def readable(value: Any) -> bool:
    """False, for example, for a cached value of another version of the package."""
    try:
        from_json(Example("", ""), value)
    except (TypeError, KeyError, ValueError, AttributeError):
        return False
    return True
