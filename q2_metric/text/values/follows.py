"""Decides by a claim's values (numbers, amounts, dates, times) whether the knowledge supports it,
without an entailment model.

A claim follows from a sentence that contains the claim's words in the same order and the claim's
values in any notation. A claim is contradicted if its value belongs to another row of a table.
Sentences that deny something or leave it open are not used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from q2_metric.text.alignment import stem
from q2_metric.text.overlap import content_words, stems, word_tokens
from q2_metric.text.values.compare import compare_values
from q2_metric.text.values.find import values_in, without_values
from q2_metric.text.values.value import Kind, Value

OPEN = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|hardly|barely|scarcely|rarely"
    r"|cannot|may|might|could|would|should|if|unless|whether|perhaps|maybe|possibly|allegedly"
    r"|supposedly|reportedly|probably|fail\w*|refus\w*|den(?:y|ie[sd])|doubt\w*|disput\w*|reject\w*"
    r"|false\w*|untrue|wrong\w*|incorrect\w*|myth|hoax|plan(?:s|ned|ning)?|hop(?:e|ed|es|ing)"
    r"|intend\w*|expect\w*|aim\w*|propos\w*|claim\w*|only|except|until|instead|former\w*|rather"
    r"|other|another|respectively|half|than)\b|n['’]t\b|\?", re.IGNORECASE)
"""Matches words that can change what a sentence says about a value: "not", "may", "planned". Texts
with such a word are left to the entailment model."""
_FUTURE = re.compile(r"\b(?:will|shall|going to)\b|['’]ll\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|had|did|\w+ed)\b", re.IGNORECASE)
_DATING = re.compile(r"(?:\b(?:in|of|since|from|by|until|till|during|before|after|to|and|year|early"
                     r"|late|mid|summer|winter|spring|autumn|fall|[a-z]*ember|october|january"
                     r"|february|march|april|may|june|july|august)|[-–(,/])[ ]?$", re.IGNORECASE)
"""Matches words and signs that can stand directly before a year, such as "in" or "May"."""
_NEAR = 24
"""Number of characters before a year in which such a word is looked for."""
_CELL = re.compile(r"The (?P<column>.{1,60}?) of (?P<row>.{1,60}) is (?P<cell>.+?)\.?\s*",
                   re.DOTALL)
"""Matches a sentence into which :mod:`q2_metric.text.tables` rewrites a table cell."""
_SUPERLATIVE = re.compile(
    r"\bthe (?:(?P<least>smallest|lowest|least|fewest|shortest|lightest)"
    r"|(?P<price>cheapest|most expensive|dearest|priciest)"
    r"|most|largest|biggest|highest|greatest|longest|heaviest)\b", re.IGNORECASE)
_COLUMNS = {"cheapest": "price cost", "most expensive": "price cost", "dearest": "price cost",
            "priciest": "price cost", "lightest": "weight mass", "heaviest": "weight mass",
            "longest": "length", "shortest": "length height"}
"""Words in the name of the column that a superlative is about. They are added to the claim's words.
"""
_TIMES = (1e3, 1e6, 1e9)
_ASIDE = frozenset("about around approximately roughly circa nearly almost just over under exactly "
                   "total each every per degrees".split())


@dataclass(frozen=True, slots=True)
class _Token:
    """A token of a text that is compared: the stem of a content word, or a value (number, amount,
    date, time)."""

    word: str
    value: Value | None = None


def follows(claim: str, sentence: str) -> bool:
    """Whether a sentence contains the claim's content words in the same order, and the claim's
    values (numbers, amounts, dates, times) in any notation.

    False if one of the two texts denies something or leaves it open. Also false if the claim is
    about the future and the sentence is not, or if the sentence is about the future and the claim
    about the past.

    >>> follows("The trail is about 42 kilometres long.", "The trail is 41.9 km long.")
    True
    >>> follows("A bunk costs €120.", "A cabin costs 120 euros and a bunk costs 45 euros.")
    False
    """
    if OPEN.search(without_values(claim)) or OPEN.search(without_values(sentence)):
        return False
    if _FUTURE.search(claim) and not _FUTURE.search(sentence):
        return False
    if _FUTURE.search(sentence) and _PAST.search(claim):
        return False
    own, known = _tokens(claim), _tokens(sentence)
    values = [token for token in own if token.value]
    if not values or len(values) == len(own):
        return False
    if any(token.value and _may_count(claim, token.value) for token in own):
        return False
    kinds = {token.value.kind for token in values if token.value}
    if "code" in kinds:
        return False
    of_kinds = [token for token in known if token.value and token.value.kind in kinds]
    if len(of_kinds) == len(values):  # only this value can be meant
        return (_in_order([t for t in own if not t.value], [t for t in known if not t.value])
                and _in_order(values, of_kinds))
    return any(_matches(own, known[first:], kinds) for first in range(len(known)))


def _may_count(text: str, value: Value) -> bool:
    """Whether a number that was read as a year may count things: "1968 rooms"."""
    return value.unit == "year" and not _DATING.search(
        text[max(0, value.start - _NEAR) : value.start])


def _in_order(own: Sequence[_Token], known: Sequence[_Token]) -> bool:
    rest = iter(known)
    return all(any(_same(token, other) for other in rest) for token in own)


def _matches(own: Sequence[_Token], known: Sequence[_Token], kinds: set[Kind]) -> bool:
    """Whether all tokens of ``own`` occur in ``known`` in the same order.

    ``known`` must begin with the first of them. No other value of these ``kinds`` may stand between
    them.
    """
    at = 0
    for other in known:
        if at < len(own) and _same(own[at], other):
            at += 1
            if at == len(own):
                return True
        elif not at or (other.value and other.value.kind in kinds):
            return False
    return False


def _same(token: _Token, other: _Token) -> bool:
    if token.value and other.value:
        return compare_values(token.value, other.value) is True
    return not token.value and not other.value and token.word == other.word


def _tokens(text: str) -> list[_Token]:
    """The content words (as stems) and the values (numbers, amounts, dates, times) of a text, in
    order."""
    found: list[_Token] = []
    done = 0
    for value in values_in(text):
        found += _words(text[done : value.start])
        found.append(_Token("", value))
        done = value.end
    return found + _words(text[done:])


def _words(text: str) -> list[_Token]:
    return [_Token(stem(word)) for word in content_words(text) if word not in _ASIDE]


def by_row(claim: str, sentences: Sequence[str]) -> bool | None:
    """Whether the cells of a table agree with a claim about one of its rows.

    ``sentences`` contain the cells as :mod:`q2_metric.text.tables` writes them. True if the row has
    exactly one value (number, amount, date, time) of the claim's kind, and that value equals the
    claim's. If the claim names a column, only the cells of that column are compared. False if only
    another row has the claim's value. ``None`` if the claim names no row, or if no row has the
    value.

    >>> rows = ["The Price of Stalls is £40.", "The Price of Circle is £25."]
    >>> by_row("The circle costs £40.", rows), by_row("The circle costs £25.", rows)
    (False, True)
    """
    values = values_in(claim)
    cells = [match for match in map(_CELL.fullmatch, sentences) if match] if values else []
    named = {row for row in {cell["row"] for cell in cells} if _names(claim, row)}
    if len(named) != 1 or OPEN.search(without_values(claim)):
        return None
    [row] = named
    said = stems(claim) - stems(row)
    columns = {cell["column"] for cell in cells if said & stems(cell["column"])}
    own: list[Value] = []
    others: list[Value] = []
    for cell in cells:
        if len(columns) != 1 or cell["column"] in columns:
            (own if cell["row"] in named else others).extend(values_in(cell["cell"]))
    agreed: list[bool] = []
    for value in values:
        if _names(row, claim[value.start : value.end].strip()):
            continue
        of_kind = [one for one in own if _comparable(value, one)]
        if any(_equal(value, one) for one in of_kind):
            agreed.append(len(of_kind) == 1)
        elif any(_equal(value, one) for one in others):
            return False
        else:
            return None
    return True if agreed and all(agreed) else None


def ranks(claim: str, sentences: Sequence[str]) -> bool | None:
    """Whether a table agrees with a claim that a row has the largest or smallest value of a column.

    ``sentences`` contain the cells as :mod:`q2_metric.text.tables` writes them. ``None`` if the
    claim is not of this kind, or if the table does not give one value for each row.

    >>> rows = ["The Price of Stalls is £40.", "The Price of Circle is £25."]
    >>> ranks("The circle has the lowest price.", rows), ranks("Stalls are the cheapest.", rows)
    (True, False)
    """
    found = _SUPERLATIVE.search(claim)
    if found is None or OPEN.search(claim):
        return None
    cells = [match for match in map(_CELL.fullmatch, sentences) if match]
    said = stems(claim) | stems(_COLUMNS.get(found[0].lower().removeprefix("the "), ""))
    columns = {cell["column"] for cell in cells if said & stems(cell["column"])}
    named = {cell["row"] for cell in cells if _names(claim, cell["row"])}
    column = {cell["row"]: values_in(cell["cell"]) for cell in cells if cell["column"] in columns}
    if len(columns) != 1 or len(named) != 1 or len(column) < 2 or not named <= column.keys():
        return None
    if any(value.low != len(column) for value in values_in(claim)):  # "of the three"
        return None
    if any(len(values) != 1 or values[0].low != values[0].high for values in column.values()):
        return None
    least = found["least"] or (found["price"] or "").lower() == "cheapest"
    order = sorted(column, key=lambda row: column[row][0].low, reverse=not least)
    return None if column[order[0]] == column[order[1]] else order[0] in named


def _names(claim: str, row: str) -> bool:
    said, wanted = word_tokens(claim), word_tokens(row)
    return bool(wanted) and any(
        said[at : at + len(wanted)] == wanted for at in range(len(said) - len(wanted) + 1))


def _comparable(value: Value, other: Value) -> bool:
    plain = {"number", "money", "quantity"}
    return value.kind == other.kind or {value.kind, other.kind} <= plain


def _equal(value: Value, other: Value) -> bool:
    """Whether two values (numbers, amounts, dates, times) are equal, or one is the other in
    thousands, millions or billions."""
    if compare_values(value, other) is True:
        return True
    if not _comparable(value, other) or not other.low or "quantity" in (value.kind, other.kind):
        return False
    return any(math.isclose(value.low / other.low, times) for times in _TIMES)
