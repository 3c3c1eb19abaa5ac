"""What goes into the page as data: JSON that no script and no parser trips over."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from q2_metric.rows.fields import OutputRow

State = Literal["supported", "differs", "open"]
"""What a question found; ``open``: no answer, or a neutral verdict."""

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that HTML does not allow, and lone surrogates, which UTF-8 does not."""

_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026",
                            "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""JSON in which no ``</script>`` and no ``<!--`` can stand."""


def safe(text: str) -> str:
    """The text with each character that HTML does not allow replaced by one: places stay."""
    return _UNSAFE.sub("�", text)


def state(question: Mapping[str, Any]) -> State:
    """What one question found.

    Args:
        question: an item of ``questions`` of the output.
    """
    score = question["score"]
    if score is None or question["how"] == "no_answer" or question["verdict"] == "neutral":
        return "open"
    return "supported" if score >= 0.5 else "differs"


def json_rows(rows: Iterable[OutputRow], places: Iterable[int]) -> Iterator[str]:
    """Each row as JSON, with what its questions found and the place of its system."""
    from markupsafe import Markup

    for number, (row, place) in enumerate(zip(rows, places, strict=True)):
        questions = [item | {"state": state(item)} for item in row.get("questions") or ()]
        shown = {**row, "questions": questions, "system": place}
        yield Markup((",\n" if number else "") + to_json(shown))


def to_json(value: object) -> str:
    """The value as JSON that can stand in a script element."""
    return json.dumps(_clean(value), ensure_ascii=False, allow_nan=False).translate(_IN_SCRIPT)


def _clean(value: object) -> object:
    """The value with all its texts safe."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


def source_hash(text: str) -> str:
    """A source of the content security policy that allows this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
