"""Repairs tokenised, lower-case dialogue text, and cuts text into sentences; no model.

Dialogue systems trained on Wizard of Wikipedia write ``i ' m not sure , but it ' s from the
u . s .``; a parser trained on edited English reads ``I'm not sure, but it's from the U.S.``
far better. A repair only deletes blanks and changes the case of single characters, so
every character of the repaired text has exactly one place in the original.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired text; ``places[i]`` is where its character ``i`` stands in ``original``.

    ``raised`` are the characters of ``text`` that are capitals only as starts of sentences.
    """

    original: str
    text: str
    places: tuple[int, ...]
    raised: frozenset[int] = frozenset()

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """(start, end) in the original of the non-empty slice [start, end) of ``text``."""
        return self.places[start], self.places[end - 1] + 1

    def from_original(self, start: int, end: int) -> tuple[int, int] | None:
        """(start, end) in ``text`` of what is left of the original's slice [start, end)."""
        left, right = bisect_left(self.places, start), bisect_left(self.places, end)
        return (left, right) if left < right else None


# Each pattern's groups are the blanks to delete. The order matters: numbers and initials
# are joined before full stops are drawn to the word before them.
_NUMBERS_AND_INITIALS = (
    re.compile(r"(?<![\w.,])\d{1,3}( ),( )(?=\d{3}(?!\d))"),  # 947 , 890
    re.compile(r"(?<![\w.,])\d{1,3}( )\.( )(?=\d)"),  # 1 . 5
    re.compile(r"(?<=\d)( )[-–]( )(?=\d)"),  # 1 - 2
    re.compile(r"\b(?![iI] )[a-zA-Z]( )\.( )(?=[a-zA-Z] \.(?:\s|$))"),  # u . s .
    re.compile(r"\b[iI]( )\.( )(?=[eE] \.(?:\s|$))"),  # i . e .
    re.compile(r"[$£€#]( )(?=\d)"),  # $ 200
)
_TOKENISED_ONLY = (
    re.compile(r"\w ['’]( )n( )['’](?= \w)"),  # rock ' n ' roll
    re.compile(r"\b[od]( )['’]( )(?=\w{3})"),  # o ' hara
    re.compile(r"(?<=\w)( ?)['’]( ?)(?=(?:s|m|t|d|re|ve|ll)\b)", re.IGNORECASE),  # it ' s
    re.compile(r"(?<=\w)( )(?=n['’]t\b)", re.IGNORECASE),  # do n't
    re.compile(r"(?<=\w)( )[-/]( )(?=\w)"),  # co - op
    re.compile(r"[(\[]( )(?=\S)"),
    re.compile(r'"( ?)[^"]*?( ?)"'),
    re.compile(r"[“«]( )[^”»]{0,300}?( )[”»]"),
    re.compile(r"^[^'’]*s( )['’] \w[^'’]*$"),  # the dogs ' tails, where no other quote is
)
_ALWAYS = (
    re.compile(r"(?<=\S)( +)(?=[,.!?;:%…)\]]+(?:\s|$))"),
    re.compile(r"(?<=[ \t])([ \t]+)"),
)
_LOOKS_TOKENISED = re.compile(
    r"\w [.,!?;:](?:\s|$)|\w ['’] ?(?:s|m|t|d|re|ve|ll)\b|\w n['’]t\b", re.IGNORECASE
)


def words(text: str) -> frozenset[str]:
    """The words of a blank-separated list."""
    return frozenset(text.split())


# Function words that titles capitalise ("The Lord of the Rings"): never raised by a hint.
_NEVER_RAISED = words(
    "a an and are as at be but by for from had has have he her his if in into is it its not "
    "of on or our out she so than that the their them then there these they this to was we "
    "were what when which who will with would you your my no yes do does did can all one two "
    "also after before first new most some many more other such"
)
# Words that English always writes with a capital and whose lower-case form means nothing
# else ("may", "march", "turkey", "china", "polish" are left to the hint).
_ALWAYS_RAISED = words(
    "monday tuesday wednesday thursday friday saturday sunday january february april june "
    "july august september october november december christmas american americans british "
    "english french german germans italian italians spanish russian russians chinese "
    "japanese korean indian indians mexican canadian australian european europeans african "
    "africans asian greek roman romans dutch danish swedish norwegian irish scottish welsh "
    "jewish christian christians muslim islamic arabic latin hispanic america england france "
    "germany italy spain russia japan korea india mexico canada australia europe africa asia "
    "greece britain ireland scotland wales egypt brazil iceland sweden norway denmark poland "
    "portugal switzerland austria london paris chicago california texas florida hollywood "
    "manhattan brooklyn boston seattle philadelphia atlanta hawaii alaska colorado michigan "
    "pennsylvania massachusetts virginia arizona nevada ohio oregon disney netflix youtube "
    "facebook google nintendo"
)
_WORD = re.compile(r"[^\W\d_]+")
_NAME_GOES_ON = re.compile(r" [A-Z][a-z]")  # "Bob Ross" at the start of a sentence


def _delete(text: str, places: list[int], pattern: re.Pattern[str]) -> tuple[str, list[int]]:
    """``text`` without what the pattern's groups match, and the places that are left."""
    gone = {
        i
        for match in pattern.finditer(text)
        for group in range(1, (pattern.groups or 0) + 1)
        for i in range(*match.span(group))
    }
    if not gone:
        return text, places
    kept = [i for i in range(len(text)) if i not in gone]
    return "".join(text[i] for i in kept), [places[i] for i in kept]


@lru_cache(maxsize=1024)
def capitalised(knowledge: str) -> dict[str, str]:
    """Words that ``knowledge`` writes with a capital inside a sentence, by lower case.

    >>> capitalised("The painter Bob Ross had red hair.")
    {'bob': 'Bob', 'ross': 'Ross'}
    """
    forms: dict[str, str] = {}
    lower: set[str] = set()
    starts = {start for start, _ in split_sentences(knowledge)}
    for match in _WORD.finditer(knowledge):
        word = match.group()
        if word.islower():
            lower.add(word)
        elif match.start() not in starts or _NAME_GOES_ON.match(knowledge, match.end()):
            forms.setdefault(word.lower(), word)
    return {
        key: form
        for key, form in forms.items()
        if key not in lower and key not in _NEVER_RAISED and len(key) > 1 and len(form) == len(key)
    }


def _raise_case(text: str, hints: dict[str, str]) -> tuple[str, frozenset[int]]:
    """Capitals for a lower-case text: "I", sentence starts, names; the length is kept.

    Also returns which characters were raised only as starts of sentences.
    """
    letters = list(text)
    starts = {start for start, _ in split_sentences(text)}
    raised = set()
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        before = text[start - 1] if start else " "
        after = text[match.end()] if match.end() < len(text) else " "
        if word == "i" and before not in "'’" and (after in " '’,!?" or match.end() == len(text)):
            form = "I"
        elif before in "'’" and len(word) <= 2:  # the "s" of "it's"
            form = word
        elif word in hints:
            form = hints[word]
        elif word in _ALWAYS_RAISED:
            form = word.capitalize()
        elif (
            len(word) == 1
            and after == "."
            and (before == "." or text[start + 2 : start + 4] in ("s.", "k.", "c."))
        ):
            form = word.upper()
        else:
            form = word
        if form == word and (start in starts or (start - 1 in starts and not before.isalnum())):
            form = form[0].upper() + form[1:]
            raised.add(start)
        if len(form) == len(word):  # "ß" has no capital of one character
            letters[start : match.end()] = form
    return "".join(letters), frozenset(raised)


def repair(text: str, knowledge: str = "") -> Repaired:
    """Joins what a tokeniser tore apart; gives a lower-case text its capitals.

    ``knowledge`` lends the capitals of its names. A text with capitals of its own keeps
    its case, and one that does not look tokenised keeps its dashes and quotes.

    >>> repair("i don ' t know , it ' s a co - op .").text
    "I don't know, it's a co-op."
    """
    places = list(range(len(text)))
    patterns = _NUMBERS_AND_INITIALS + _TOKENISED_ONLY + _ALWAYS
    repaired = text
    for pattern in patterns if _LOOKS_TOKENISED.search(text) else _ALWAYS:
        repaired, places = _delete(repaired, places, pattern)
    raised: frozenset[int] = frozenset()
    if not any(letter.isupper() for letter in text):
        repaired, raised = _raise_case(repaired, capitalised(knowledge))
    return Repaired(text, repaired, tuple(places), raised)


# --- sentences -----------------------------------------------------------------------

MAX_SENTENCE = 2000
"""Characters after which a sentence is cut at a blank, so that any text can be parsed."""

# Possessive, and never from the middle of a run of marks: backtracking would be exponential.
_ENDING = re.compile(
    r"(?:(?<![.!?…])[.!?…]++(?:\s[.!?…]++)*(?:\s?[\"'”’)\]»]+(?=\s|$))?(?=\s|$))|\n\s*"
)
_ABBREVIATIONS = words(
    "mr mrs ms dr st prof gen rep sen gov capt lt col sgt rev hon jr sr vs ft mt vol fig "
    "approx dept est al inc ltd co corp bros e.g i.e cf ca u.s u.k d.c a.k.a b.c a.d"
)
_SUBJECT_STARTERS = words("the it he she they we i you this that these those there")
_STARTERS = _SUBJECT_STARTERS | words(
    "in on at a an his her its their but and so yes no what who when where how"
)
_INITIALS = re.compile(r"(?:[a-z]\.)*[a-z]")
_LAST_WORD = re.compile(r"(?:\b[a-zA-Z] ?\. ?)*[\w-]+\s?$")


def _ends(text: str, match: re.Match[str], lower: bool) -> bool:
    """Whether this run of full stops, marks or newlines ends a sentence."""
    if match.group().isspace():
        return True
    following = text[match.end() : match.end() + 40].split(None, 1)
    if not following or match.group().strip("\"'”’)]» ") != ".":
        # "!", "?" and "..." end a sentence, unless what follows goes on in lower case.
        return lower or not following or not following[0][0].islower()
    nearby = _LAST_WORD.search(text[max(0, match.start() - 24) : match.start()])
    last = nearby.group().replace(" ", "").lower() if nearby else ""
    word = following[0]
    capital = word[0].isupper()
    if last in _ABBREVIATIONS:
        starters = _STARTERS if capital else _SUBJECT_STARTERS if lower else frozenset()
        return "." in last and word.strip(",.").lower() in starters
    if _INITIALS.fullmatch(last) and last != "i":
        # An initial ("j . r . r . tolkien"), unless a sentence plainly starts.
        return word.lower() in _STARTERS - {"a", "i"}
    if last.isdigit() and len(last) <= 3 and word[0].isdigit():
        return False  # "1 . 5"
    return lower or not word[0].islower()


def split_sentences(text: str) -> list[tuple[int, int]]:
    """(start, end) characters of the sentences of ``text``, blanks trimmed, none empty.

    Every character that is not blank lies in exactly one sentence.

    >>> split_sentences("it ' s from st . louis . i love it ! ! !")
    [(0, 24), (25, 40)]
    """
    lower = not any(letter.isupper() for letter in text)
    cuts = [m.end() for m in _ENDING.finditer(text) if _ends(text, m, lower)]
    sentences: list[tuple[int, int]] = []
    start = 0
    for cut in [*cuts, len(text)]:
        for left, right in _at_most(text, start, cut):
            piece = text[left:right]
            stripped = piece.strip()
            if not stripped:
                continue
            left += len(piece) - len(piece.lstrip())
            end = left + len(stripped)
            only_marks = not any(letter.isalnum() for letter in stripped)
            if sentences and only_marks and end - sentences[-1][0] <= MAX_SENTENCE:
                sentences[-1] = (sentences[-1][0], end)  # a lone '" .'
            else:
                sentences.append((left, end))
        start = cut
    return sentences


def _at_most(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """[start, end) in pieces of at most ``MAX_SENTENCE`` characters, cut at blanks."""
    pieces = []
    while end - start > MAX_SENTENCE:
        blank = text.rfind(" ", start + 1, start + MAX_SENTENCE)
        cut = blank if blank > 0 else start + MAX_SENTENCE
        pieces.append((start, cut))
        start = cut
    return [*pieces, (start, end)]
