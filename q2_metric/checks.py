"""Whether the values of a settings dataclass are what its types say, with words for people."""

from __future__ import annotations

import types
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from q2_metric.errors import InputError

_WORDS = {bool: "True or False", int: "a whole number", float: "a number", str: "a string"}


def check_fields(settings: Any) -> None:
    """Nothing where every field of a dataclass has a value of its type.

    Types are bool, int, float, str and ``Literal``; with ``| None`` also ``None``.

    Raises:
        InputError: the first field that has not, and what it may be.
    """
    hints = get_type_hints(type(settings))
    for field in fields(settings):
        hint, value = hints[field.name], getattr(settings, field.name)
        if get_origin(hint) in (Union, types.UnionType):
            if value is None:
                continue
            (hint,) = (one for one in get_args(hint) if one is not type(None))
        if get_origin(hint) is Literal:
            if value not in get_args(hint):
                raise InputError(
                    f"{field.name} must be one of {', '.join(get_args(hint))}, not {value!r}")
        elif not _is(value, hint):
            raise InputError(f"{field.name} must be {_WORDS[hint]}, not {value!r}")


def _is(value: object, kind: type) -> bool:
    """Whether a value is of a type; True and False are no numbers, whole ones are numbers."""
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, (int, float) if kind is float else kind)
