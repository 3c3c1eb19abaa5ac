"""Decides which of several things a value (a number, amount, date or time) belongs to.

"The Keck telescope has a mirror of 10 metres. The Hale telescope has a mirror of 5.1 metres." does
not say that the Hale telescope has a mirror of 10 metres, although the text contains all words of
that claim.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from q2_metric.text.overlap import stems
from q2_metric.text.values.compare import compare_values, may_be_meant, of_one_thing
from q2_metric.text.values.comparisons import CLAUSES, REFERRING
from q2_metric.text.values.find import values_in, without_values
from q2_metric.text.values.follows import OPEN
from q2_metric.text.values.value import Value

_MEASURES = ("number", "quantity", "money", "share")
"""Kinds of values of which a thing usually has only one. (A thing may have many dates.)"""
_RESPECTIVELY = re.compile(r",? respectively\b", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z]\w+")
_AND = re.compile(r"(?:, )?\band |, ")
_BETWEEN = re.compile(r"(?:,| and|, and) ")
_UNIT = re.compile(r"[\d.,]+(\D.*)")


def of_another(claim: str, sentences: Sequence[str]) -> bool:
    """Whether the sentences say the claim's value (number, amount, date or time) of another thing
    than the claim does.

    Every sentence with the claimed value must name something else in place of a word of the claim.
    In addition, one of two conditions must hold. Either some sentence contains all words of the
    claim and a single, different value. Or the replaced word is a name, and so is the word that
    replaces it.

    >>> of_another("The hotel has 12 rooms.", ["The inn has 12 rooms.", "The hotel has 80 rooms."])
    True
    """
    values = [value for value in values_in(claim) if value.kind != "ordinal"]
    said = stems(without_values(claim))
    if len(values) != 1 or values[0].kind not in _MEASURES or len(said) < 2:
        return False
    if OPEN.search(claim) or CLAUSES.search(claim.rstrip(". ")):
        return False
    [value] = values
    holders: list[tuple[str, Value]] = []
    own: list[tuple[str, Value]] = []
    clauses = [part for sentence in sentences for part in CLAUSES.split(sentence)]
    for sentence in clauses:
        meant = [other for other in values_in(sentence) if may_be_meant(value, other)
                 and of_one_thing(claim, value, sentence, other)]
        equal = [other for other in meant if compare_values(value, other)]
        if equal:
            holders.append((sentence, equal[0]))
        elif len(meant) == 1 and said <= stems(sentence) and not OPEN.search(
                sentence[: meant[0].end]):
            own.append((sentence, meant[0]))
    if not holders or any(REFERRING.search(sentence) or OPEN.search(sentence[: other.end])
                          for sentence, other in holders):
        return False
    text = " ".join(sentences)
    return any(all(_names_another(said, other, holder) for holder in holders) for other in own) or (
        all(_has_another_name(claim, said, holder, text) for holder in holders))


def _has_another_name(claim: str, said: set[str], holder: tuple[str, Value], text: str) -> bool:
    """Whether a sentence says the same as the claim, but about another name.

    Args:
        claim: the claim.
        said: the stems of the claim's words without its value.
        holder: a sentence with the claim's value, and that value in the sentence.
        text: all sentences.
    """
    sentence, value = holder
    missing = said - stems(sentence)
    names = {word for word in _NAME.findall(claim) if stems(word) & missing and word in text
             and word.lower() not in text}
    rivals = {word for word in _NAME.findall(sentence[: value.start])
              if not stems(word) & said and stems(word) and word.lower() not in text}
    return len(missing) == len(names) == 1 and bool(rivals) and not any(
        f"{one} {other}" in text or f"{other} {one}" in text for one in names for other in rivals)


def _names_another(said: set[str], own: tuple[str, Value], holder: tuple[str, Value]) -> bool:
    """Whether the claim's value (number, amount, date or time) belongs to something else in the
    sentence ``holder``.

    Args:
        said: the stems of the claim's words without its value.
        own: a sentence that contains all these words, and its different value.
        holder: a sentence with the claim's value, and that value in the sentence.
    """
    sentence, value = holder
    missing = said - stems(sentence)
    rivals = stems(sentence[: value.start]) - said
    named = stems(own[0][: own[1].start])
    return bool(missing and rivals - named) and missing <= named


def mispaired(claim: str, sentence: str) -> bool:
    """Whether a claim combines one amount of the sentence with the date of another amount.

    >>> told = "It drew 20,000 people in 2019 and 30,000 in 2020."
    >>> mispaired("It drew 30,000 people in 2019.", told)
    True
    """
    pairs = _dated_amounts(sentence)
    claimed = _dated_amounts(claim)
    if len(pairs) < 2 or len(claimed) != 1:
        return False
    amounts = [bool(compare_values(claimed[0][0], amount)) for amount, _ in pairs]
    dates = [bool(compare_values(claimed[0][1], date)) for _, date in pairs]
    return sum(amounts) == sum(dates) == 1 and amounts != dates


def _dated_amounts(text: str) -> list[tuple[Value, Value]]:
    """Pairs of an amount and its date, if amounts and dates alternate in the text; else empty."""
    values = [value for value in values_in(text)
              if value.kind in (*_MEASURES, "date", "weekday")]
    dated = [value.kind in ("date", "weekday") for value in values]
    if len(values) % 2 or any(one == other for one, other in itertools.pairwise(dated)):
        return []
    return [(other, one) if dated[0] else (one, other)
            for one, other in zip(values[::2], values[1::2], strict=True)]


def respectively(claim: str, sentences: Sequence[str]) -> bool | None:
    """Whether a claim agrees with a sentence that lists things and then, with "respectively", their
    values.

    ``None`` if no such sentence is about the claim.

    >>> told = ["Ana and Ben are 31 and 34 years old, respectively."]
    >>> respectively("Ana is 31 years old.", told), respectively("Ben is 31 years old.", told)
    (True, False)
    """
    values = values_in(claim)
    if len(values) != 1:
        return None
    said = stems(without_values(claim))
    for sentence in sentences:
        found = _RESPECTIVELY.search(sentence)
        listed = _listed(sentence[: found.start()]) if found else []
        named = [value for names, value in listed if names & said]
        if len(named) == 1:
            shared = said & stems(sentence)
            verdict = compare_values(values[0], named[0])
            if verdict is False and 2 * len(shared) >= len(said):
                return False
            if verdict and shared == said:
                return True
    return None


def _listed(text: str) -> list[tuple[set[str], Value]]:
    """The things that a text lists before their values: the stems of each thing's name, and its
    value. "Ana and Ben are 31 and 34 years old" → ({"ana"}, 31 years), ({"ben"}, 34 years)."""
    run: list[Value] = []
    for value in values_in(text):
        if run and not _BETWEEN.fullmatch(text[run[-1].end : value.start]):
            run = []
        run.append(value)
    if len(run) < 2:
        return []
    parts = _AND.split(text[: run[0].start])[-len(run) :]
    if len(parts) != len(run):
        return []
    names = [_name(part, last=part is parts[-1]) for part in parts]
    return [(name - set().union(*names[:at], *names[at + 1 :]), _with_unit(value, run[-1], text))
            for at, (name, value) in enumerate(zip(names, run, strict=True))]


def _name(part: str, last: bool) -> set[str]:
    """The stems of the name in one part of a list, such as "Ana" in "The sisters Ana".

    The name consists of the part's capitalised words. Without capitals, it is the word next to
    "and": the part's last word, or its first word if the part is the ``last`` one.
    """
    words = [word for word in part.split() if stems(word)]
    capital = [word for word in words if word[0].isupper()]
    return stems(" ".join(capital or (words[:1] if last else words[-1:])))


def _with_unit(value: Value, last: Value, text: str) -> Value:
    """The value with the unit that only the ``last`` value of its list has.

    In "31 and 34 years", 31 becomes 31 years.
    """
    unit = _UNIT.fullmatch(text[last.start : last.end])
    if value.kind == last.kind or unit is None:
        return value
    read = values_in(text[value.start : value.end] + unit[1])
    return read[0] if len(read) == 1 else value
