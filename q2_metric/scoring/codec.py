"""Writes a score as JSON and reads it back, for the cache and for other processes.

The format follows the dataclasses in :mod:`q2_metric.types`: an item of evidence is an object with
its fields and the name of its class, other dataclasses are lists of their fields::

    {"value": 0.5, …, "evidence": [{"kind": "part", "name": "words", …}]}
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from q2_metric.types import Evidence, Example, Score, Span


def to_json(score: Score) -> dict[str, Any]:
    """A score as a JSON object, without its example."""
    return {name: _written(getattr(score, name)) for name in _names(Score)}


def _written(value: Any) -> Any:
    if value is None or isinstance(value, (str, float, int)):
        return value
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    kind: Any = type(value)
    whole = {name: _written(getattr(value, name)) for name in _names(kind)}
    return {"kind": kind.kind_name(), **whole} if issubclass(kind, Evidence) else [*whole.values()]


def from_json(example: Example, fields: Mapping[str, Any]) -> Score:
    """Reads a score that :func:`to_json` wrote. ``example`` must have the same texts. TypeError,
    KeyError, ValueError, AttributeError: :func:`to_json` did not write the object."""
    score: Score = _made(Score, dict(fields), example)
    return score


def readable(value: Any) -> bool:
    """False, for example, for a cached value of another version of the package."""
    try:
        from_json(Example("", ""), value)
    except (TypeError, KeyError, ValueError, AttributeError):
        return False
    return True


def _made(kind: Any, given: dict[str, Any], example: Example) -> Any:
    for name, shape in _nested(kind):
        if name in given:
            given[name] = _read(shape, given[name], example)
    return kind(example, **given) if kind in (Score, Span) else kind(**given)


def _read(shape: Any, value: Any, example: Example) -> Any:
    """``shape`` is the dataclass to read, or a tuple with the shape of each item."""
    if shape is None or value is None:
        return value
    if isinstance(shape, tuple):
        return tuple([_read(shape[0], item, example) for item in value])
    if isinstance(value, dict):
        named = dict(value)
        return _made(Evidence.kinds[named.pop("kind")], named, example)
    return _made(shape, dict(zip(_names(shape), value, strict=True)), example)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name != "example")


@cache
def _nested(kind: Any) -> list[tuple[str, Any]]:
    """The fields of a dataclass whose values are not written as they are, each with its shape."""
    hints = get_type_hints(kind)
    shapes = [(name, _shape(hints[name])) for name in _names(kind)]
    return [(name, shape) for name, shape in shapes if shape is not None]


def _shape(hint: Any) -> Any:
    if get_origin(hint) is tuple:
        return (_shape(get_args(hint)[0]),)
    kinds = (hint, *get_args(hint))
    return next((kind for kind in kinds if is_dataclass(kind) or kind is Evidence), None)
