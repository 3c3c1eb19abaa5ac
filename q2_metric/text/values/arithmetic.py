"""Checks sums, means, comparisons, changes and ages at death that a claim derives from values
(numbers, amounts, dates, times) of the knowledge.

A claim is checked only if the sentences of the knowledge have no other values of the same kind. All
other claims are left to the entailment model.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from datetime import date

from q2_metric.text.overlap import stems
from q2_metric.text.values.compare import compare_values, stated
from q2_metric.text.values.comparisons import CLAUSES, DENIED, THAN, compared, compared_in_words
from q2_metric.text.values.find import values_in, without_values
from q2_metric.text.values.value import Value

_TOTAL = re.compile(r"\b(?:together|in total|in all|altogether|combined|a total of|the total"
                    r"|the sum)\b", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)
_UP = re.compile(r"\b(?:gain\w*|rose|risen|rises?|rising|grew|grow[ns]?|increas\w*|climbed|went up"
                 r"|more)\b", re.IGNORECASE)
_DOWN = re.compile(r"\b(?:los[et]|lost|fell|fall(?:s|en)?|declin\w*|decreas\w*|drop\w*|shrank"
                   r"|shrunk|went down|fewer)\b", re.IGNORECASE)
_ROSE = re.compile(r"\b(?:rose|risen|ris(?:e|es|ing)|grew|grow[ns]?|increas\w*|climbed|went up"
                   r"|raised|up (?:from|by|to)|gained)\b", re.IGNORECASE)
_FELL = re.compile(r"\b(?:fell|fall(?:s|en|ing)?|declin\w*|decreas\w*|dropp?\w*|shrank|shrunk"
                   r"|went down|cuts?|reduc\w*|lowered|down (?:from|by|to)|lost)\b", re.IGNORECASE)
_TO_OR_BY = re.compile(r"\b(to|by) (?:about |around |almost |nearly |over )?$", re.IGNORECASE)
_OF = re.compile(r"(?: [a-z]+)? (?:out )?of (?:(?:its|the|their|all|his|her|our) )*", re.IGNORECASE)
_AT_AGE = re.compile(
    r"\b(?:died|dead|killed|death)\b.{0,80}?\b(?:aged|at(?: the)? age(?: of)?|at) (?P<age>\d{1,3})"
    r"(?=[.,;]?$|[.,;] | (?:in|on|of|from|after)\b)"
    r"|\b(?P<years>\d{1,3}) years old (?:when|at)\b.{0,80}?\b(?:died|death)\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:wife|husband|sons?|daughters?|father|mother|brothers?|sisters?|child"
                       r"|children|widow|widower|parents?|uncle|aunt|cousin)\b", re.IGNORECASE)
_BORN = re.compile(r"\bborn\b|\bb\.", re.IGNORECASE)
_DIED = re.compile(r"\bdied\b|\bd\.", re.IGNORECASE)
_LASTED = re.compile(r"\b(?:for|lasted|existed|ran|took|over|old)\b", re.IGNORECASE)
YEAR = 365.25
DAY_SECONDS = 86_400


def worked_out(claim: str, sentences: Sequence[str], knowledge: str = "") -> bool | None:
    """Whether arithmetic over the values (numbers, amounts, dates, times) in the sentences agrees
    with the claim.

    ``None`` if the claim contains no sum, mean, comparison, duration, age at death or change that
    can be checked.
    Also ``None`` for a wrong sum that the ``knowledge`` itself states somewhere.

    >>> shops = ["The first shop sold 12 lamps and the second sold 8 lamps."]
    >>> worked_out("Together they sold 20 lamps.", shops), worked_out("They sold 28 lamps.", shops)
    (True, None)
    """
    text = " ".join(sentences)
    denied = bool(DENIED.search(text))
    if DENIED.search(claim) or (denied and not THAN.search(claim)):
        return None
    own, known = values_in(claim), values_in(text)
    if combines(claim) and not denied:
        held = _combined(claim, own, text, known)
        summed = held is False and not _MEAN.search(claim)
        return None if summed and stated(claim, knowledge) else held
    if THAN.search(claim):
        held = None if denied else compared(claim, sentences)
        return compared_in_words(claim, sentences) if held is None else held
    if _AT_AGE.search(claim):
        return _aged(claim, text)
    span = _lasted(claim, own, known)
    return _direction(claim, own, text, known) if span is None else span


def changed(claim: str, sentence: str) -> bool:
    """Whether a sentence contradicts the change that a claim states.

    Claim and sentence must have the same value. "It rose to 8 million" and "it fell by 8 million"
    contradict "it fell to 8 million".

    >>> changed("Sales fell to 8 million.", "Sales of 8 million, up from 7 million, were reported.")
    True
    """
    if DENIED.search(claim) or DENIED.search(sentence):
        return False
    clauses = [sentence] if _change_in(sentence) else CLAUSES.split(sentence)
    same = [(value, clause, other) for value in values_in(claim) for clause in clauses
            for other in values_in(clause)
            if value.kind == other.kind and value.kind not in ("date", "weekday", "ordinal")
            and compare_values(value, other)]
    if len(same) != 1 or not _change_in(claim) or not _change_in(same[0][1]):
        return False
    value, clause, other = same[0]
    said, told = (_TO_OR_BY.search(text[: one.start])
                  for text, one in ((claim, value), (clause, other)))
    return _change_in(claim) != _change_in(clause) or bool(said and told and said[1] != told[1])


def _change_in(text: str) -> str:
    """The direction of change that a text names: "up", "down", or "" for none or both."""
    up, down = _ROSE.search(text), _FELL.search(text)
    return "" if bool(up) == bool(down) else "up" if up else "down"


def share_of(claim: str, sentences: Sequence[str]) -> bool | None:
    """Whether a share that a claim states (a percentage or fraction) agrees with two numbers in a
    sentence.

    "5 % of its jobs" agrees with "250 of its 5,000 jobs". ``None`` if the claim has no share, or if
    the sentences do not have exactly one such pair of numbers.

    >>> share_of("It cuts a quarter of its jobs.", ["It will cut 250 of its 5,000 jobs."])
    False
    """
    shares = [value for value in values_in(claim) if value.kind == "share"]
    if len(shares) != 1 or DENIED.search(claim):
        return None
    found = []
    for sentence in sentences:
        numbers = [value for value in values_in(sentence) if value.kind == "number"]
        for part, whole in itertools.pairwise(numbers):
            between = sentence[part.end : whole.start]
            counted = _counted(sentence, whole)
            if _OF.fullmatch(between) and 0 < part.low < whole.low and counted & stems(claim):
                found.append(part.low / whole.low)
        if any(value.kind == "share" for value in values_in(sentence)):
            return None
    if len(found) != 1:
        return None
    exact = Value("share", found[0], found[0], 0, 0, step=1e-4)
    return compare_values(shares[0], exact)


def combines(claim: str) -> bool:
    """Whether a claim states a sum or a mean ("together", "on average")."""
    return bool(_TOTAL.search(claim) or _MEAN.search(claim))


def _combined(
    claim: str, own: Sequence[Value], text: str, known: Sequence[Value]
) -> bool | None:
    """Whether the claim's sum or mean equals the sum or mean of the knowledge's values (numbers,
    amounts, dates, times).

    ``None`` if it is unclear which values are meant.

    Args:
        claim: the claim.
        own: the values of the claim.
        text: the sentences of the knowledge.
        known: the values of these sentences.
    """
    claimed = [value for value in own if value.kind in ("number", "money", "quantity")
               and not _only_counts(value, claim)]
    if len(claimed) != 1:
        return None
    [value] = claimed
    counted = _counted(claim, value)
    parts = [one for one in known if one.kind == value.kind and one.unit == value.unit
             and one.low == one.high and not _only_counts(one, text)]
    if value.kind == "number":
        said = [_counted(text, one) for one in parts]
        # "72, 80 and 88 points": the counted thing is named only once.
        if not counted or not said or not (said[-1] & counted) or any(
            of and not of & counted for of in said
        ):
            return None
    if len(parts) < 2:
        return None
    if any(one.low == value.low for one in parts) and not _MEAN.search(claim):
        return None
    total = math.fsum(one.low for one in parts)
    if _MEAN.search(claim):
        total /= len(parts)
    low, high = value.reach
    return low <= total <= high or math.isclose(total, value.low, rel_tol=1e-6)


def _only_counts(value: Value, text: str) -> bool:
    """Whether a number only counts the things that have values (amounts, …), and is not a value to
    compute with.

    An example is "two" in "the two shops sold 20 lamps".
    """
    before = text[max(0, value.start - 4) : value.start].lower()
    told = before.endswith(("the ", "all ")) or not text[value.start].isdigit()
    return value.kind == "number" and value.low <= 10 and told


def _counted(text: str, value: Value) -> set[str]:
    after = re.match(r"[ \u00a0-]+([A-Za-z]+(?:[ -][A-Za-z]+)?)", text[value.end :])
    return stems(after[1]) if after else set()


def _aged(claim: str, text: str) -> bool | None:
    """Whether the age in "he died at the age of 82" agrees with the dates of birth and death.

    ``text`` is the knowledge. ``None`` if it does not contain exactly one date of birth and one of
    death, or if the claim may be about somebody else.
    """
    found = _AT_AGE.search(claim)
    names = stems(" ".join(re.findall(r"\b[A-Z]\w+", claim)))
    if found is None or not names <= stems(text) or _RELATIVE.search(claim):
        return None
    group = "age" if found["age"] else "years"
    age, place = int(found[group]), found.start(group)
    if any(value.start != place and not stated(claim[value.start : value.end], text)
           for value in values_in(claim)):
        return None
    born, died = ([] if _RELATIVE.search(text) else _dates_after(text, word)
                  for word in (_BORN, _DIED))
    for bracket in re.findall(r"\(([^()]*)\)", text):
        dates = [value for value in values_in(bracket) if value.kind == "date"]
        if len(dates) == 2 and not (_BORN.search(bracket) or _DIED.search(bracket)):
            born, died = [*born, dates[0]], [*died, dates[1]]
    if len(born) != 1 or len(died) != 1 or "yearless" in (born[0].unit, died[0].unit):
        return None
    if min(born[0].low, died[0].low) < 1:  # before Christ
        return None
    least, most = (_years(born[0].high, died[0].low), _years(born[0].low, died[0].high))
    return least <= age <= most if most - least <= 1 else None


def _dates_after(text: str, word: re.Pattern[str]) -> list[Value]:
    """The first date after each match of the pattern ``word`` in the same sentence."""
    found = []
    for match in word.finditer(text):
        after = re.split(r"[;)]|\.\s", text[match.end() :], maxsplit=1)[0]
        found += [value for value in values_in(after) if value.kind == "date"][:1]
    return found


def _years(start: float, end: float) -> int:
    """The number of full years between two days, which are ordinals as in :class:`datetime.date`.
    """
    one, other = (date.fromordinal(int(day)) for day in (start, end))
    return other.year - one.year - ((other.month, other.day) < (one.month, one.day))


def may_follow(claim: str, sentence: str) -> bool:
    """Whether a value of the claim can be computed from a share in the sentence.

    It can be the share of an amount in the sentence, or what remains of this amount. If the claim
    has words that the sentence lacks, it can also be the remaining share. Such a value contradicts
    nothing.

    >>> told = "It cost 21 million euros, of which the city paid two thirds."
    >>> may_follow("The city paid 14 million euros.", told)
    True
    """
    known = values_in(sentence)
    shares = [part for value in known if value.kind == "share" and value.low == value.high
              for part in (value.low, 1 - value.low)]
    of_others = bool(stems(without_values(claim)) - stems(sentence))
    for value in values_in(claim):
        wholes = [1.0] if value.kind == "share" and of_others else [
            one.low for one in known if (one.kind, one.unit) == (value.kind, value.unit)
            and value.kind in ("money", "number", "quantity")]
        if any(math.isclose(value.low, part * whole, rel_tol=0.005)
               for part in shares for whole in wholes):
            return True
    return False


def _lasted(claim: str, own: Sequence[Value], known: Sequence[Value]) -> bool | None:
    """Whether the duration in a claim ("for 20 years") fits the time between the two years in the
    knowledge ("from 1990 to 2010").

    ``own`` has the values of the claim, and ``known`` those of the knowledge. The result is
    ``None`` if the claim's only value is not a duration of whole years. It is also ``None`` if the
    knowledge does not contain exactly two years, or states a duration itself.
    """
    if len(own) != 1 or own[0].kind != "quantity" or "time" not in own[0].unit:
        return None
    years = sorted(_year(value) for value in known if _is_year(value))
    spans = [value for value in known if value.kind == "quantity" and value.unit == own[0].unit]
    if len(years) != 2 or spans or not _LASTED.search(claim):
        return None
    claimed = own[0].low / (YEAR * DAY_SECONDS)
    if claimed < 1 or not math.isclose(claimed, round(claimed), abs_tol=0.05):
        return None
    low, high = (one / (YEAR * DAY_SECONDS) for one in own[0].reach)
    span = years[1] - years[0]
    return low - 0.01 <= span <= high + 0.01


def _is_year(value: Value) -> bool:
    return value.kind == "date" and value.unit == "year"


def _year(value: Value) -> int:
    return date.fromordinal(int(value.low)).year


def _direction(
    claim: str, own: Sequence[Value], text: str, known: Sequence[Value]
) -> bool | None:
    """Whether a claimed change agrees with the numbers of two years.

    "It lost members between 2020 and 2022" agrees with "In 2020 it had 300 members; in 2022 it had
    240". ``None`` if this cannot be decided. The arguments are those of :func:`_combined`.
    """
    up, down = bool(_UP.search(claim)), bool(_DOWN.search(claim))
    years = [value for value in known if _is_year(value)]
    numbers = [value for value in known if value.kind in ("number", "money")
               and value.low == value.high]
    told = [value for value in own if not _is_year(value)]
    if up == down or len(years) != 2 or len(numbers) != 2 or told or len(own) < 1:
        return None
    if _UP.search(text) or _DOWN.search(text):
        return None
    if any(all(compare_values(one, year) is not True for year in years) for one in own):
        return None
    order = [_is_year(value) for value in known if value in (*years, *numbers)]
    if order not in ([True, False, True, False], [False, True, False, True]):
        return None
    (first, second) = sorted(range(2), key=lambda at: years[at].low)
    change = numbers[second].low - numbers[first].low
    counted = _counted(text, numbers[0]) | _counted(text, numbers[1])
    if not counted & stems(claim):
        return None
    return change > 0 if up else change < 0
