"""Decides whether two values agree, and by values whether texts agree or follow from each other,
without an entailment model."""

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import replace

from q2_metric.english.lexicon import listed
from q2_metric.english.values.find import values_in, without_values
from q2_metric.english.values.times import NOON, plain_year, yearless
from q2_metric.english.values.value import Value
from q2_metric.text.alignment import stem
from q2_metric.text.normalise import words
from q2_metric.text.overlap import content_words, stems

_SLACK = 0.006
"""The share by which quantities in different units may differ: people round conversions."""
_MONTH = 0.09
"""The share by which two durations in different units may differ without a contradiction."""
_PAPER = 1e-9
_HEDGES = listed("beside_values")
"""Words beside a value that do not say what it measures or counts."""
_COUNTED = re.compile(r"[ \u00a0-]+((?:[A-Za-z]+[ -]){0,2}[A-Za-z]+)")
_COMPUTED = re.compile(
    r"\b(?:not|no|never|nor|none|neither|nobody|nothing|without|cannot|unable|more|less|fewer|than"
    r"|total|together|altogether|combined|average|mean|another|other|left|missing)\b|n['’]t\b",
    re.IGNORECASE)
"""Words with which a claim denies something, or states a value that must be computed."""
_MOST_VALUES = 2
"""With more values in a sentence, it is unclear which of them a claim contradicts."""
_LARGE = 1000
"""From here on, equal numbers are the same number, whatever they count."""


def compare_values(claimed: Value, known: Value) -> bool | None:
    """Whether a claimed value agrees with a known one; ``None`` if this cannot be decided.

    It agrees if it is the known value in another notation, or rounded, or if it contains the known
    value: "in the 1970s" contains 1972. A claimed minimum or maximum ("at least 4 km") disagrees
    with a known range that reaches beyond it ("2 to 6 km").

    >>> one = lambda text: values_in(text)[0]
    >>> compare_values(one("3,000 metres"), one("3 km")), compare_values(one("8 pm"), one("18:00"))
    (True, False)
    """
    pair = _in_one_kind(claimed, known)
    verdict = None if pair is None else _compared(*pair)
    # "9:00" may be 9 pm.
    unclear = claimed.folded != known.folded and not (
        {claimed.low, claimed.high} <= {known.low, known.high})
    return None if verdict and unclear else verdict


def _compared(one: Value, other: Value) -> bool | None:
    if one.kind == "code":
        return one.unit == other.unit
    if one.unit and other.unit and one.unit != other.unit and one.kind == "money":
        # Five or more equal digits: a program may have written "$53,193,914" for "£53,193,914".
        long = one.low == other.low and len(f"{other.low:.0f}".rstrip("0")) >= 5
        return None if "KRONE" in (one.unit, other.unit) or long else False
    if one.kind == "weekday":
        return _weekdays(one, other)
    if one.kind == "number" and one.low == other.low and one.step != other.step and (
            0 < min(one.step, other.step) < 1):
        return None  # "3.10" and "3.1" may be versions
    slack = _SLACK if one.kind == "quantity" and one.step != other.step else _PAPER
    own, others = _widened(one, slack), _widened(other, slack)
    contains = own[0] <= other.low and other.high <= own[1] and not other.open_ended and (
        one.low == one.high or other.low == other.high or one.kind in ("date", "weekday"))
    equal = (one.low, one.high) == (other.low, other.high) and (
        not other.open_ended or one.near == other.near)
    # "starts at 9" agrees with "9 to 12".
    is_end = other.low < other.high and one.kind == "clock" and one.low in (other.low, other.high)
    if contains or equal or is_end:
        return True
    if own[0] <= others[1] and others[0] <= own[1]:
        # "at least 4" disagrees with "2 to 4": the known value may be less than 4.
        goes_on = one.open_ended and other.near is None and other.low < other.high
        return False if goes_on and one.kind in ("quantity", "money") else None
    if one.unit == "time" and one.step != other.step and math.isclose(
            one.low, other.low, rel_tol=_MONTH):
        return None  # "one month" may mean 30 days, or 4 weeks
    return _rounded(one, other)


def _weekdays(claimed: Value, known: Value) -> bool | None:
    days, those = ({day % 7 for day in range(int(one.low), int(one.high) + 1)}
                   for one in (claimed, known))
    return True if days <= those else None if days & those else False


def _rounded(claimed: Value, known: Value) -> bool | None:
    """As in "42 km" for 41.9 km. ``None`` for a single digit ("40 km"), the wrong direction
    ("23,000" for 23,768), a comma that may have become a point ("2.580"), as many digits as
    the known value has ("4710" for 4711), or a bare number ("3.1" for 3.14 may be a version)."""
    value, exact, step = claimed.low, known.low, claimed.step
    if math.isclose(step, 0.001) and math.isclose(value * 1000, exact):
        return None
    rounds = claimed.kind in ("number", "money", "quantity", "share") and claimed.near is None
    if not rounds or not step or claimed.low != claimed.high:
        return False
    shown = step
    whole = {"share": 0.01, "quantity": 0.0}.get(claimed.kind, 1.0)
    while value and whole <= step < abs(value) and (
            math.isclose(value / (step * 10) % 1, 0, abs_tol=1e-9)):
        step *= 10  # the zeros of 4,700 do not show precision, those of $3.10 do
    if known.low != known.high or not value:
        return False
    if known.step >= step - _PAPER * step and claimed.kind != "share":
        return False  # the known value has no more digits
    coarse = math.log10(abs(value) / step) < 1
    if abs(value - exact) > step / 2 * (1 + _PAPER):
        return False if coarse or abs(value - exact) >= step else None
    unclear = coarse or (claimed.kind == "number" and shown <= 1)
    return None if unclear or abs(value - exact) > shown / 2 * (1 + _PAPER) else True


def _in_one_kind(claimed: Value, known: Value) -> tuple[Value, Value] | None:
    """``None`` if they cannot be compared, such as a price and a date."""
    kinds = {claimed.kind, known.kind}
    if len(kinds) == 1:
        if claimed.kind == "quantity" and claimed.unit != known.unit:
            return None
        if claimed.kind == "clock" and (claimed.folded or known.folded):
            return _folded(claimed), _folded(known)
        if claimed.kind == "date":
            return _dates(claimed, known)
        return claimed, known
    if kinds == {"number", "money"}:
        small, large = sorted((abs(claimed.low), abs(known.low)))
        # "47.9" in a column of millions may be 47.9 million.
        in_units = bool(small) and any(
            math.isclose(large / small, factor) for factor in (1e3, 1e6, 1e9))
        return None if in_units else (claimed, known)
    if kinds == {"number", "date"}:  # "1200" may be a number or a year
        one, other = (plain_year(each) if each.unit == "year" else each
                      for each in (claimed, known))
        return (one, other) if one.kind == other.kind else None
    return None


def _dates(claimed: Value, known: Value) -> tuple[Value, Value] | None:
    """Both with a year or both without; ``None`` if only one has a year and is long."""
    if claimed.unit == known.unit == "century":
        return replace(claimed, near=None), replace(known, near=None)
    if "yearless" not in (claimed.unit, known.unit):
        return claimed, known
    wide = any(one.unit != "yearless" and one.high - one.low > 31 for one in (claimed, known))
    return None if wide else (yearless(claimed), yearless(known))


def _folded(value: Value) -> Value:
    low = value.low % NOON
    return replace(value, low=low, high=low + value.high - value.low, near=None)


def _widened(value: Value, slack: float) -> tuple[float, float]:
    low, high = value.near or (value.low, value.high)
    return low - slack * abs(value.low), high + slack * abs(value.high)


def compare_answers(claimed: str, known: str) -> bool | None:
    """Whether two answers to one question agree by their values; ``None`` if the values are not
    enough to decide this.

    >>> compare_answers("Twenty-five people", "25 people"), compare_answers("€120", "45 euros")
    (True, False)
    """
    own, others = values_in(claimed), values_in(known)
    if not own or not others:
        return None
    said, heard = _beside(claimed), _beside(known)
    found = [_best(value, others) for value in own]
    if False in found and len(own) == len(others) > 1:  # "1983 to 1991", "1983 to 1994"
        found = [compare_values(*both) for both in zip(own, others, strict=True)]
        return False if False in found and None not in found and said == heard else None
    if all(verdict is True for verdict in found):
        return True if said <= heard or not heard else None
    if False in found and True not in found and (not said or not heard or said & heard):
        return False
    return None


def stated(values_of: str, text: str) -> bool:
    """Whether ``text`` contains all values of the text ``values_of``, in any notation.

    >>> stated("in 1948", "Built in 1948, opened in 1950."), stated("3 km", "It is 2 km long.")
    (True, False)
    """
    known = values_in(text)
    return all(any(compare_values(value, other) for other in known)
               for value in values_in(values_of))


def _best(value: Value, others: Sequence[Value]) -> bool | None:
    verdicts = [compare_values(value, other) for other in others]
    if True in verdicts:
        return True
    return False if False in verdicts and None not in verdicts else None


def _beside(text: str) -> set[str]:
    """What the values of a text measure or count, as stems."""
    return {stem(word) for word in content_words(without_values(text))
            if word not in _HEDGES and any(map(str.isalpha, word))}


_AROUND = re.compile(r"(?: has| have|['’]s|['’]ve)? been around since(?= (?:the )?\d{4})",
                     re.IGNORECASE)


@functools.lru_cache(maxsize=1024)
def in_notation_of(knowledge: str, claim: str) -> str:
    """Writes the values of a claim as the knowledge writes them, so that a network sees that they
    are equal. For the same reason, "has been around since 1990" becomes "started in 1990".

    >>> in_notation_of("It leaves at 23:10.", "The bus leaves at 11:10 pm.")
    'The bus leaves at 23:10.'
    """
    if " around " not in knowledge:
        claim = _AROUND.sub(" started in", claim)
    known = values_in(knowledge) if values_in(claim) else ()
    for value in reversed(values_in(claim)):
        agreeing = [other for other in known
                    if other.kind == value.kind and compare_values(value, other)]
        # "1972" agrees with "the 1970s", but is not equal.
        equal = [other for other in agreeing if compare_values(other, value)
                 and (value.low == value.high) == (other.low == other.high)]
        for same in (equal or (agreeing if value.kind == "weekday" else []))[:1]:
            written = knowledge[same.start : same.end]
            claim = claim[: value.start] + written + claim[value.end :]
    return claim


def has_wrong_value(claim: str, sentence: str, knowledge: str = "") -> bool:
    """Whether a sentence that has all other words of a claim contradicts one of its values.

    Claim and sentence must each have one value of this kind, for the same counted thing, and the
    claimed value must occur nowhere in the ``knowledge`` around the sentence. A claim with a
    negation, "more" or "total" is never contradicted, nor is any by a sentence with more than two
    values.

    >>> has_wrong_value("The trail is 24 km long.", "The trail is 41.9 km long.")
    True
    """
    own, known = ([value for value in values_in(text) if value.kind != "ordinal"]
                  for text in (claim, sentence))
    said = _beside(claim)
    part_of = {value.kind for value in known} - {value.kind for value in own} >= {"share"}
    if (not said or not said <= stems(sentence) or _COMPUTED.search(claim)
            or len(known) > _MOST_VALUES or part_of):  # "half of the 40 guests" are 20
        return False
    for value in own:
        counted = _counted(claim, value)
        meant = [other for other in known if _may_be_meant(value, other)
                 and (not counted or counted & _counted(sentence, other))]
        if (len(meant) == 1 == sum(_may_be_meant(value, other) for other in own)
                and compare_values(value, meant[0]) is False
                and not any(_repeats(value, counted, other, knowledge)
                            for other in values_in(knowledge))):
            return True
    return False


def _repeats(value: Value, counted: set[str], other: Value, text: str) -> bool:
    """Not "14 rooms" and "14 euros", nor "60 cars" and "60 vans"."""
    if not compare_values(value, other):
        return False
    of = _counted(text, other)
    return not counted or value.low >= _LARGE or (
        value.kind == other.kind and (not of or bool(counted & of)))


def _counted(text: str, value: Value) -> set[str]:
    """The stems of what a number counts: "cars" in "60 cars"."""
    match = _COUNTED.match(text, value.end) if value.kind == "number" else None
    return stems(match[1]) if match else set()


def _may_be_meant(value: Value, other: Value) -> bool:
    return value.kind == other.kind and (value.kind != "quantity" or value.unit == other.unit)


_OPEN = listed("open_clauses")
"""If a sentence has one of these, a clause of it may not hold by itself."""
_LEFT_OUT = words("a an the is are about around approximately roughly circa exactly")
_PART_OF_VALUE = words("almost nearly over under some")
"""Before a number, they are part of the value."""
_TIMES = words("in on at")
"""Before a date or a time, they are left out: "on 4 May", "in May"."""
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,;:()?]")
_BEGIN, _END = {";", ":", "but"}, {",", ";", "(", "and", "but"}
"""Between these, and the ends of a sentence, a clause stands by itself."""
_Token = str | Value


def follows(claim: str, sentence: str) -> bool:
    """Whether a claim is the sentence, or a clause of it, with the values in another notation or
    rounded. All other words must be the same, because "to" and "by", "can" and "must" matter.

    >>> follows("The trail is about 42 kilometres long.", "The trail is 41.9 km long.")
    True
    >>> follows("A bunk costs €120.", "A cabin costs 120 euros and a bunk costs 45 euros.")
    False
    """
    own, known = _tokens(claim), _tokens(sentence)
    if not any(isinstance(token, Value) for token in own):
        return False
    if _same(own, known):
        return True
    if any(token in _OPEN or token == "?" or str(token).endswith(("n't", "n’t"))
           for token in known if isinstance(token, str)):
        return False
    starts = [0, *(at + 1 for at, token in enumerate(known)
                   if token in _BEGIN or (token == "and" and at and known[at - 1] == ","))]
    return any(_same(own, known[start : start + len(own)])
               and all(token in _END for token in known[start + len(own) :][:1])
               for start in starts)


def _same(own: list[_Token], known: list[_Token]) -> bool:
    return len(own) == len(known) and all(
        compare_values(token, other) is True
        if isinstance(token, Value) and isinstance(other, Value) else token == other
        for token, other in zip(own, known, strict=True))


def _tokens(text: str) -> list[_Token]:
    """Words in lower case, marks between clauses, and values."""
    found: list[_Token] = []
    done = 0
    for value in values_in(text):
        found += _words(text[done : value.start])
        if found and ((found[-1] in _TIMES and value.kind in ("date", "weekday", "clock"))
                      or (found[-1] in _PART_OF_VALUE and value.near)):
            found.pop()
        found.append(value)
        done = value.end
    return found + _words(text[done:])


def _words(text: str) -> list[str]:
    return [word for word in _TOKEN.findall(text.lower()) if word not in _LEFT_OUT]
