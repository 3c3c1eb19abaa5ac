"""Writes a score as JSON and reads it back, for the cache and for other processes.

Each item of ``evidence`` contains the name of its class::

    {"value": 0.5, …, "evidence": [{"kind": "comparison", "question": […], …}]}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from q2_metric.types import (
    Claim,
    Comparison,
    Dropped,
    Example,
    Judgement,
    Part,
    Question,
    Score,
    Span,
    Verdict,
)

_KINDS: Mapping[str, Callable[..., Any]] = {
    kind.__name__.lower(): kind for kind in (Comparison, Judgement, Part)
}
"""The classes of evidence, by their names in lower case."""


def to_json(score: Score) -> dict[str, Any]:
    """A score as a JSON object, without its example. :func:`from_json` reads the object back."""
    whole = _fields(score)
    del whole["example"]
    return {
        **whole,
        "evidence": [_item(item) for item in score.evidence],
        "verdict": asdict(score.verdict) if score.verdict else None,
        "dropped": [{**_fields(dropped), "question": _question(dropped.question)}
                    for dropped in score.dropped],
    }


def _item(item: Comparison | Judgement | Part) -> dict[str, Any]:
    fields = {"kind": type(item).__name__.lower(), **_fields(item)}
    if isinstance(item, Comparison):
        fields["question"] = _question(item.question)
        fields["verdict"] = asdict(item.verdict) if item.verdict else None
    elif isinstance(item, Judgement):
        fields["claim"] = asdict(item.claim)
        fields["questions"] = [_item(question) for question in item.questions]
    return fields


def _question(question: Question) -> list[Any]:
    span = question.span
    return [question.text, span.text, span.start, span.label]


def _fields(item: Score | Comparison | Dropped | Judgement | Part) -> dict[str, Any]:
    return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}


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

    def asked(item: Mapping[str, Any]) -> dict[str, Any]:
        text, answer, start, label = item["question"]
        return {**item, "question": Question(Span(example, answer, start, label), text)}

    def read(item: Mapping[str, Any]) -> Any:
        given = dict(item)
        kind = _KINDS[given.pop("kind")]
        if kind is Comparison:
            given = {**asked(given), "verdict": _verdict(given["verdict"])}
        elif kind is Judgement:
            given |= {"claim": Claim(**given["claim"]),
                      "questions": tuple(map(read, given["questions"])),
                      "cites": tuple(given["cites"])}
        return kind(**given)

    return Score(example, **{
        **fields,
        "evidence": tuple(map(read, fields["evidence"])),
        "dropped": tuple(Dropped(**asked(item)) for item in fields["dropped"]),
        "verdict": _verdict(fields["verdict"]),
    })


def readable(value: Any) -> bool:
    """Whether :func:`from_json` can read a value. For example, a value in the cache may come from
    another version of the package."""
    try:
        from_json(Example("", ""), value)
    except (TypeError, KeyError, ValueError, AttributeError):
        return False
    return True


def _verdict(fields: Mapping[str, float] | None) -> Verdict | None:
    return Verdict(**fields) if fields else None
