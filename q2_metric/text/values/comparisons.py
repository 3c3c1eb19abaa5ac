"""Checks comparisons such as "Lake Bor is deeper than Lake Ana" against the knowledge."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from q2_metric.text.alignment import stem
from q2_metric.text.overlap import stems
from q2_metric.text.values.find import values_in, without_values
from q2_metric.text.values.follows import OPEN
from q2_metric.text.values.value import Value

_GREATER = frozenset("deeper taller longer larger bigger higher heavier older wider faster dearer "
                     "more costlier hotter warmer further farther richer pricier".split())
_LESSER = frozenset("shallower shorter smaller lower lighter younger narrower slower cheaper "
                    "fewer less colder cooler nearer closer".split())
THAN = re.compile(rf"\b({'|'.join(sorted(_GREATER | _LESSER))})\b(?: [a-z]+)? than\b",
                   re.IGNORECASE)
CLAUSES = re.compile(r"[;.](?=\s|$)|, | and | but | while | whereas ")
"""Matches what stands between two clauses."""
REFERRING = re.compile(r"\b(?:it|its|he|his|him|she|her|they|their|them|this|that|these|those|there"
                      r"|which|who|former|latter)\b", re.IGNORECASE)
"""Matches words that may refer to a thing named in another sentence."""
DENIED = re.compile(r"\b(?:not|no|never|nor|without)\b|n['’]t\b", re.IGNORECASE)
_UNSURE = re.compile(OPEN.pattern.replace("|than)", ")") + r"|\b(?:some|says?|said|when|while"
                     r"|where|who|once)\b", re.IGNORECASE)
"""Matches words that limit a comparison to some time or some people, or leave it open."""
_MEASURED = stems("costs cost weighs weigh measures lasts lasted runs")
"""Stems of verbs that are no part of the name of a thing that is compared."""


def compared(claim: str, sentences: Sequence[str]) -> bool | None:
    """Whether the sentences agree with a comparison such as "Lake Bor is deeper than Lake Ana" or
    "Lake Bor is 25 m deeper than Lake Ana".

    ``sentences`` are those of the knowledge. ``None`` if they do not give exactly one value (such
    as a depth) for each of the two things, if the two values are equal, and for claims that this
    rule does not read ("older", "more than 300 rooms").
    """
    differences = values_in(claim)
    match = THAN.search(without_values(claim))
    if match is None or len(differences) > 1 or match[1].lower() in ("older", "younger"):
        return None
    difference = differences[0] if differences else None
    hedge = THAN.search(claim)
    if difference and (difference.kind not in ("money", "quantity", "number") or (
            hedge and claim[hedge.end() :].lstrip().startswith(
                claim[difference.start : difference.end]))):
        return None  # "more than 300 rooms"
    one, other = (stems(part) - _MEASURED for part in (
        match.string[: match.start()], match.string[match.end() :]))
    parts = [part for sentence in sentences for part in CLAUSES.split(sentence)]
    first, second = (_only_value(parts, own - theirs, theirs - own, difference)
                     for own, theirs in ((one, other), (other, one)))
    if first is None or second is None or first.kind != second.kind or (
        first.unit != second.unit or first.low == second.low
    ):
        return None
    agrees = (first.low > second.low) == (match[1].lower() in _GREATER)
    if difference is None:
        return agrees
    low, high = difference.reach
    apart = abs(first.low - second.low)
    return agrees and (low <= apart <= high or math.isclose(apart, difference.low, rel_tol=0.005))


def compared_in_words(claim: str, sentences: Sequence[str]) -> bool | None:
    """Whether a sentence that compares the same two things agrees with the claim.

    True only if a sentence names the two things in the opposite order and says the same. ``None``
    if no sentence compares both things by the same measure, if it only repeats the claim, or if a
    text contains a value or a word such as "may". ``sentences`` are those of the knowledge, in
    order: "it" may stand for a thing in the sentence before.

    >>> told = ["Coffee has more caffeine than tea."]
    >>> compared_in_words("Tea has less caffeine than coffee.", told)
    True
    """
    found = _comparison(claim)
    if found is None or values_in(claim) or _UNSURE.search(claim):
        return None
    before: set[str] = set()
    for sentence in sentences:
        told, previous, before = _comparison(sentence), before, stems(sentence)
        if (told is None or found.measure != told.measure or values_in(sentence)
                or _UNSURE.search(sentence)):
            continue
        first, second = found.one - found.other, found.other - found.one
        here, there = told.one - told.other, told.other - told.one
        turned = bool(first & there) and not second & there and (
            bool(second & here) or (bool(REFERRING.search(sentence)) and second <= previous))
        straight = bool(second & there) and bool(first & here) and not first & there
        if turned:
            return found.greater != told.greater
        if straight and found.greater != told.greater:
            return False
    return None


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What a text with "than" compares.

    ``one`` are the stems of the words before the comparative, and ``other`` those after "than".
    ``measure`` is what is compared: the stem of "caffeine" in "more caffeine than", or the
    comparative itself ("deeper"). ``greater`` is true for "more" and "deeper".
    """

    one: set[str]
    other: set[str]
    measure: str
    greater: bool


def _comparison(text: str) -> _Comparison | None:
    """The first comparison in a text; ``None`` if there is none, or if it does not say what there
    is more of."""
    match = THAN.search(text)
    if match is None:
        return None
    adjective, thing = match[1].lower(), "".join(match[0].split()[1:-1])
    counted = adjective in ("more", "less", "fewer")
    if counted and not thing:
        return None
    after = CLAUSES.split(text[match.end() :], maxsplit=1)[0]
    return _Comparison(
        stems(text[: match.start()]), stems(after), stem(thing) if counted else adjective,
        adjective in _GREATER)


def _only_value(
    parts: Sequence[str], words: set[str], others: set[str], like: Value | None
) -> Value | None:
    """The only value (number, amount, date or time) in the parts that contain all of ``words`` and
    none of ``others``.

    ``words`` and ``others`` are sets of stems. If ``like`` is given, only values of its kind and
    unit are considered. ``None`` if these parts contain no value or several values, or if the value
    is a range, such as a year.
    """
    if not words or not others:
        return None
    values = [value for part in parts if words <= stems(part) and not others & stems(part)
              for value in values_in(part)
              if like is None or (value.kind, value.unit) == (like.kind, like.unit)]
    return values[0] if len(values) == 1 and values[0].low == values[0].high else None
