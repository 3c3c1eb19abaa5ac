"""Repairs tokenised, lower-case text (``i ' m not sure``) for parsers of edited English: joins
words that a tokenizer split (``it ' s``, ``co - op``, ``$ 200``), and restores the capitals of "I",
of sentence starts and of names."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

from q2_metric.english.lexicon import listed
from q2_metric.text.sentences import split_sentences

# The groups of each pattern are the blanks to delete. The order of the patterns matters: numbers
# and initials are joined before full stops are attached to the word before them.
_NUMBERS_AND_INITIALS = (
    re.compile(r"(?<![\w.,])\d{1,3}( ),( )(?=\d{3}(?!\d))"),  # 947 , 890
    re.compile(r"(?<![\w.,])\d{1,3}( )\.( )(?=\d)"),  # 1 . 5
    re.compile(r"(?<=\d)( )[-–]( )(?=\d)"),  # 1 - 2
    re.compile(r"\b(?![iI] )[a-zA-Z]( )\.( )(?=[a-zA-Z] \.(?:\s|$))"),  # u . s .
    re.compile(r"\b[iI]( )\.( )(?=[eE] \.(?:\s|$))"),  # i . e .
    re.compile(r"[$£€#]( )(?=\d)"),  # $ 200
)
_TOKENISED_ONLY = (
    re.compile(r"\b[od]( )['’]( )(?=\w{3})"),  # o ' hara
    re.compile(r"(?<=\w)( ?)['’]( ?)(?=(?:s|m|t|d|re|ve|ll)\b)", re.IGNORECASE),  # it ' s
    re.compile(r"(?<=\w)( )(?=n['’]t\b)", re.IGNORECASE),  # do n't
    re.compile(r"(?<=\w)( )[-/]( )(?=\w)"),  # co - op
    re.compile(r"[(\[]( )(?=\S)"),
    re.compile(r'"( ?)[^"]*?( ?)"'))
_ALWAYS = (re.compile(r"(?<=\S)( +)(?=[,.!?;:%…)\]]+(?:\s|$))"), re.compile(r"(?<=[ \t])([ \t]+)"))
_LOOKS_TOKENISED = re.compile(
    r"\w [.,!?;:](?:\s|$)|\w ['’] ?(?:s|m|t|d|re|ve|ll)\b|\w n['’]t\b", re.IGNORECASE)


def detokenise(text: str) -> tuple[str, list[int]]:
    """The text without a tokenizer's blanks, and the original position of each character. Blanks
    around dashes and quotes are deleted only if the text looks tokenised.

    >>> detokenise("a co - op , i think .")[0]
    'a co-op, i think.'
    """
    places = list(range(len(text)))
    tokenised = _LOOKS_TOKENISED.search(text)
    for pattern in _NUMBERS_AND_INITIALS + _TOKENISED_ONLY + _ALWAYS if tokenised else _ALWAYS:
        text, places = _delete(text, places, pattern)
    return text, places


def _delete(text: str, places: list[int], pattern: re.Pattern[str]) -> tuple[str, list[int]]:
    gone = {i for match in pattern.finditer(text) for group in range(1, pattern.groups + 1)
            for i in range(*match.span(group))}
    kept = [i for i in range(len(text)) if i not in gone]
    return "".join(text[i] for i in kept), [places[i] for i in kept]


@dataclass(frozen=True, slots=True)
class Repaired:
    """Character ``i`` of ``text`` is at ``places[i]`` of the original. ``raised`` has the positions
    of capitals that were added only because a sentence starts there."""

    text: str
    places: tuple[int, ...]
    raised: frozenset[int] = frozenset()

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """The range must not be empty."""
        return self.places[start], self.places[end - 1] + 1

    def from_original(self, start: int, end: int) -> tuple[int, int] | None:
        """``None`` if the repair deleted all characters of the range."""
        left, right = bisect_left(self.places, start), bisect_left(self.places, end)
        return (left, right) if left < right else None


def repair(text: str, knowledge: str = "") -> Repaired:
    """Joins words that a tokenizer split. A text without capitals gets those of sentence starts and
    of names in ``knowledge``.

    >>> repair("i don ' t know , it ' s a co - op .").text
    "I don't know, it's a co-op."
    """
    repaired, places = detokenise(text)
    raised: frozenset[int] = frozenset()
    if not any(letter.isupper() for letter in text):
        repaired, raised = truecase(repaired, capitalised(knowledge))
    return Repaired(repaired, tuple(places), raised)


# --- capitals ---------------------------------------------------------------------------------

# Function words that titles capitalise ("The Lord of the Rings"). The knowledge's capitals never
# capitalise them.
_NEVER_RAISED = listed("never_raised")
# Words that English always writes with a capital and whose lower-case form has no other meaning.
# For "may", "march", "turkey", "china" and "polish", the knowledge's capitals decide.
_ALWAYS_RAISED = listed("always_raised")
_WORD = re.compile(r"[^\W\d_]+")
_NAME_GOES_ON = re.compile(r" [A-Z][a-z]")  # "Bob Ross" at the start of a sentence


@lru_cache(maxsize=1024)
def capitalised(knowledge: str) -> dict[str, str]:
    """The words that ``knowledge`` always writes with capitals, by their lower-case form. Capitals
    at the start of a sentence do not count, unless a name follows ("Bob Ross …")."""
    forms: dict[str, str] = {}
    lower = set(_NEVER_RAISED)
    starts = {start for start, _ in split_sentences(knowledge)}
    for match in _WORD.finditer(knowledge):
        word = match.group()
        if word.islower():
            lower.add(word)
        elif match.start() not in starts or _NAME_GOES_ON.match(knowledge, match.end()):
            forms.setdefault(word.lower(), word)
    return {key: form for key, form in forms.items()
            if key not in lower and 1 < len(key) == len(form)}


def truecase(text: str, hints: dict[str, str]) -> tuple[str, frozenset[int]]:
    """The text in the same length, and the positions of capitals that only mark the start of a
    sentence. ``hints`` are those of :func:`capitalised`."""
    letters = list(text)
    starts = {start for start, _ in split_sentences(text)}
    raised = set()
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        before = text[start - 1] if start else " "
        after = text[match.end() : match.end() + 1] or " "
        if word == "i" and before not in "'’" and after in " '’,!?":
            form = "I"
        elif before in "'’" and len(word) <= 2:  # the "s" of "it's"
            form = word
        elif word in hints or word in _ALWAYS_RAISED:
            form = hints.get(word, word.capitalize())
        elif len(word) == 1 and (
                before == "." or text[start + 1 : start + 4] in (".s.", ".k.", ".c.")):
            form = word.upper()
        else:
            form = word
        if form == word and (start in starts or (start - 1 in starts and not before.isalnum())):
            form = form[0].upper() + form[1:]
            raised.add(start)
        if len(form) == len(word):  # "ß" has no capital of one character
            letters[start : match.end()] = form
    return "".join(letters), frozenset(raised)
