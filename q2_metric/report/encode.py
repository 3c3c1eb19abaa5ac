"""Encodes the data of a report page as JSON that can safely stand in an HTML file."""

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntFlag
from typing import Any

from q2_metric.report.systems import Grouping
from q2_metric.report.view import view
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.writers import each_text
from q2_metric.scoring.outcome import CLAIMLESS
from q2_metric.scoring.verdict import unsupported

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that HTML does not allow, and lone surrogates, which UTF-8 does not allow."""

_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026",
                            "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""Afterwards the JSON contains neither ``</script>`` nor ``<!--``."""


def safe(text: str) -> str:
    """Replaces characters that HTML does not allow by U+FFFD. Character offsets stay the same."""
    return _UNSAFE.sub("�", text)


class Flag(IntFlag):
    """Properties by which a reader can filter rows. ``browse.js`` uses the same numbers."""

    ERROR = 1
    ASKED = 2
    DIFFERS = 4
    UNANSWERED = 8
    SUPPORTED = 16
    UNSUPPORTED = 32
    CONTRADICTED = 64
    MISCITED = 128
    CLAIMED = 256
    SILENT = 512


def flags(row: OutputRow) -> Flag:
    """The properties of a row that comes from :func:`~q2_metric.report.view.view`."""
    states = [question["state"] for question in row["questions"]]
    claims = row.get("claims") or ()
    return Flag(
        Flag.ERROR * (row.get("error") is not None)
        | Flag.ASKED * bool(states)
        | Flag.DIFFERS * ("differs" in states)
        | Flag.UNANSWERED * any(question["how"] == "no_answer" for question in row["questions"])
        | Flag.SUPPORTED * (bool(states) and set(states) == {"supported"})
        | Flag.UNSUPPORTED * bool(unsupported(claims))
        | Flag.CONTRADICTED * any(claim["verdict"] == "contradicted" for claim in claims)
        | Flag.CLAIMED * bool(claims)
        | Flag.MISCITED * any(claim.get("citation") == "wrong passage" for claim in claims)
        | Flag.SILENT * (row.get("reason") in CLAIMLESS)
    )


def json_rows(
    rows: Iterable[OutputRow], places: Iterable[int], columns: Sequence[str],
    measured: Sequence[Collection[str]], groupings: Sequence[Grouping] = (),
) -> Iterator[str]:
    """Yields each row as a line of JSON, ``[numbers, row]``.

    The page parses the numbers of all rows, but parses a row only to show it. They are: index of
    the row's system (``places``), :class:`Flag`, human label (1, 0 or null), lowest support of an
    unsupported claim or null, the scores, and for each grouping a bit mask of the row's groups.
    ``measured`` has the argument of :func:`~q2_metric.report.view.view` for each system.
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
        yield Markup((",\n" if number else "") + f"[{to_json(numbers)},{to_json(shown)}]")


def _slim(item: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves out null values, and ``plain``, because the row's own ``plain`` repeats it."""
    return {name: value for name, value in item.items() if value is not None and name != "plain"}


def to_json(value: object) -> str:
    """Encodes a value as JSON that can stand in a script element of an HTML page."""
    return json.dumps(each_text(value, safe), ensure_ascii=False, allow_nan=False,
                      separators=(",", ":")).translate(_IN_SCRIPT)


def source_hash(text: str) -> str:
    """The source "'sha256-…'" of a Content-Security-Policy for a script or style with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
