"""Reads JSON as sentences with the names of fields and records: "The price of chair is 89"."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}\[\],:]')
_NAMES = ("name", "title", "label", "id")
"""The first of these fields that a record contains names it."""
_READ = {"true": "true", "false": "false, not true", "null": "unknown"}
LONGEST = 100_000
"""In characters."""


@dataclass(frozen=True, slots=True)
class JsonValue:
    """``before`` are the words to write before the value. The range is the value's."""

    before: str
    value: str
    start: int
    end: int


@dataclass(slots=True)
class _Record:
    """An object or array that is being read. ``key`` is the field whose value it is; each of
    ``fields`` has name, value, start and end."""

    key: str = ""
    fields: list[tuple[str, str, int, int]] = field(default_factory=list)


def json_values(text: str) -> list[JsonValue]:
    """The values in a text that is a JSON object or array; an empty list for any other text.

    >>> [one.before + one.value for one in json_values('[{"name": "chair", "price": 89}]')]
    ['The name is chair', 'The price of chair is 89']
    """
    plain = text.strip()
    if plain[:1] not in ("{", "[") or len(plain) > LONGEST:
        return []
    try:
        json.loads(plain)
    except (ValueError, RecursionError):
        return []
    return list(_json_values(text))


def _json_values(text: str) -> Iterator[JsonValue]:
    tokens = list(_TOKEN.finditer(text))
    records: list[_Record] = []
    key = ""
    for at, token in enumerate(tokens):
        sign = token[0]
        following = tokens[at + 1][0] if at + 1 < len(tokens) else ""
        if sign in "{[":
            records.append(_Record(key or (records[-1].key if records else "")))
            key = ""
        elif sign in "}]":
            yield from _values_of(records.pop())
            key = ""
        elif sign == "," or sign == ":":
            key = "" if sign == "," else key
        elif following == ":":
            key = json.loads(sign)
        else:
            value = str(json.loads(sign)) if sign[0] == '"' else _READ.get(sign, sign)
            quoted = sign[0] == '"'
            records[-1].fields.append((key or records[-1].key, value,
                                       token.start() + quoted, token.end() - quoted))


def _values_of(record: _Record) -> Iterator[JsonValue]:
    named = {name: value for name, value, _, _ in reversed(record.fields)}
    owner = next((named[name] for name in _NAMES if name in named), record.key)
    for name, value, start, end in record.fields:
        of = f" of {owner}" if owner and value != owner and name != owner else ""
        plain = name.replace("_", " ")
        yield JsonValue(f"The {plain or 'value'}{of} is ", value, start, end)
