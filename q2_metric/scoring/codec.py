"""Writes a score as JSON and reads it back, for the cache and for other processes.

The format follows the dataclasses in :mod:`q2_metric.types`, so a new kind of evidence needs no
code here. An item of evidence is an object with its fields and the name of its class; other
dataclasses are lists of their fields. The example is left out::

    {"value": 0.5, …, "evidence": [{"kind": "part", "name": "words", …}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from q2_metric.types import Evidence, Example, Score

_KINDS: Mapping[str, type] = {kind.__name__.lower(): kind for kind in get_args(Evidence)}


def to_json(score: Score) -> dict[str, Any]:
    """A score as a JSON object, without its example. :func:`from_json` reads the object back."""
    return {name: _written(getattr(score, name)) for name in _hints(Score)}


def _written(value: Any) -> Any:
    if value is None or isinstance(value, (str, float, int)):
        return value
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    kind: Any = type(value)
    whole = {name: _written(getattr(value, name)) for name in _hints(kind)}
    name = kind.__name__.lower()
    return {"kind": name, **whole} if name in _KINDS else list(whole.values())


def from_json(example: Example, fields: Mapping[str, Any]) -> Score:
    """Reads a score that :func:`to_json` wrote.

    The spans of its questions refer to ``example``. If pronouns were resolved before the questions
    were asked, the positions of the spans are those in the resolved text.

    Args:
        example: an example with the same texts as the example of the score.
        fields: the JSON object.

    Raises:
        TypeError, KeyError, ValueError, AttributeError: ``fields`` is not an object that
            :func:`to_json` wrote.
    """
    score: Score = _made(Score, fields, example)
    return score


def readable(value: Any) -> bool:
    """Whether :func:`from_json` can read a value. For example, a value in the cache may come from
    another version of the package."""
    try:
        from_json(Example("", ""), value)
    except (TypeError, KeyError, ValueError, AttributeError):
        return False
    return True


def _made(kind: Any, given: Mapping[str, Any], example: Example) -> Any:
    hints = _hints(kind)
    values = {name: _read(hints[name], value, example) if isinstance(value, (list, dict)) else value
              for name, value in given.items()}
    return kind(example, **values) if _has_example(kind) else kind(**values)


def _read(hint: Any, value: Any, example: Example) -> Any:
    if isinstance(value, dict):
        named = dict(value)
        return _made(_KINDS[named.pop("kind")], named, example)
    if not isinstance(value, list):
        return value
    items, kind = _shape(hint)
    if kind is None:
        return tuple([_read(items, item, example) for item in value])
    return _made(kind, dict(zip(_hints(kind), value, strict=True)), example)


@cache
def _shape(hint: Any) -> tuple[Any, Any]:
    """(type of a tuple's items, dataclass) of a field whose value is written as a list."""
    if get_origin(hint) is tuple:
        return get_args(hint)[0], None
    return None, next(filter(is_dataclass, (hint, *get_args(hint))))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """By name, the types of a dataclass's fields, without the example."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.name != "example"}


@cache
def _has_example(kind: Any) -> bool:
    return any(field.name == "example" for field in fields(kind))
