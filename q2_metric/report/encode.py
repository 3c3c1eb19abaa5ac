"""Encodes the page's data as JSON that is safe inside a script element and for HTML parsers."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntFlag
from typing import Any

from q2_metric.report.groups import Grouping
from q2_metric.report.view import view
from q2_metric.rows.fields import OutputRow
from q2_metric.scoring.verdict import unsupported

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that HTML does not allow, and lone surrogates, which UTF-8 does not allow."""

_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026",
                            "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""Escapes after which JSON contains neither ``</script>`` nor ``<!--``."""


def safe(text: str) -> str:
    """Replaces each character that HTML does not allow by one character.

    So positions in the text stay the same.
    """
    return _UNSAFE.sub("�", text)


class Flag(IntFlag):
    """The properties of a row that the page filters by. ``browse.js`` uses the same values."""

    ERROR = 1
    ASKED = 2
    DIFFERS = 4
    UNANSWERED = 8
    SUPPORTED = 16
    UNSUPPORTED = 32
    CONTRADICTED = 64
    MISCITED = 128
    CLAIMED = 256


def flags(row: OutputRow) -> Flag:
    """The flags of a row that :func:`~q2_metric.report.view.view` returned."""
    states = [question["state"] for question in row["questions"]]
    claims = row.get("claims") or ()
    unanswered = any(question["how"] == "no_answer" for question in row["questions"])
    return Flag(
        Flag.ERROR * (row.get("error") is not None)
        | Flag.ASKED * bool(states)
        | Flag.DIFFERS * ("differs" in states)
        | Flag.UNANSWERED * unanswered
        | Flag.SUPPORTED * (bool(states) and set(states) == {"supported"})
        | Flag.UNSUPPORTED * bool(unsupported(claims))
        | Flag.CONTRADICTED * any(claim["verdict"] == "contradicted" for claim in claims)
        | Flag.CLAIMED * bool(claims)
        | Flag.MISCITED * any(claim.get("citation") == "wrong passage" for claim in claims)
    )


def json_rows(
    rows: Iterable[OutputRow], places: Iterable[int], columns: Sequence[str],
    measured: Sequence[Collection[str]], groupings: Sequence[Grouping] = (),
) -> Iterator[str]:
    """Each row as one line of JSON: the values that the list of responses needs, and the whole row.

    The page parses the values of all rows, but it parses a whole row only when it shows the row.
    The values are: index of the system, flags, people's label (1, 0 or null), lowest support of an
    unsupported claim (null without one), scores, and the row's groups as bits.

    Args:
        rows: rows of the output.
        places: index of each row's system.
        columns: columns of the metrics on the page.
        measured: the argument of :func:`~q2_metric.report.view.view`, for each system.
        groupings: groupings of the rows.
    """
    from markupsafe import Markup

    for number, (row, place) in enumerate(zip(rows, places, strict=True)):
        shown = {**view(row, measured[place]), "system": place}
        for field in ("questions", "claims"):
            if shown.get(field):
                shown[field] = list(map(_slim, shown[field]))
        label = row.get("label")
        failed = unsupported(shown.get("claims") or ())
        numbers = [place, int(flags(shown)), None if label is None else int(label),
                   min((claim["support"] for claim in failed), default=None),
                   *(row.get(name) for name in columns),
                   *(grouping.bits(row) for grouping in groupings)]
        line = f"[{to_json(numbers)},{to_json(shown)}]"
        yield Markup((",\n" if number else "") + line)


def _slim(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item without nulls and without ``plain``, whose sentence the row repeats."""
    return {name: value for name, value in item.items() if value is not None and name != "plain"}


def to_json(value: object) -> str:
    """The value as JSON that may stand in a script element."""
    return json.dumps(
        _clean(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).translate(_IN_SCRIPT)


def _clean(value: object) -> object:
    """The value with all texts in it made :func:`safe`."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


def source_hash(text: str) -> str:
    """The source expression that allows this text in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
