"""Capitalises "I", the starts of sentences and names in a lower-case text."""

from __future__ import annotations

import re
from functools import lru_cache

from q2_metric.text.normalise import words
from q2_metric.text.sentences import split_sentences

# Function words that titles capitalise ("The Lord of the Rings"). The knowledge's capitals never
# capitalise them.
_NEVER_RAISED = words(
    "a an and are as at be but by for from had has have he her his if in into is it its not "
    "of on or our out she so than that the their them then there these they this to was we "
    "were what when which who will with would you your my no yes do does did can all one two "
    "also after before first new most some many more other such"
)
# Words that English always writes with a capital and whose lower-case form has no other meaning.
# For "may", "march", "turkey", "china" and "polish", the knowledge's capitals decide.
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


@lru_cache(maxsize=1024)
def capitalised(knowledge: str) -> dict[str, str]:
    """The words that ``knowledge`` always writes with capitals, by their lower-case form. Capitals
    at the start of a sentence do not count, unless a name follows ("Bob Ross …")."""
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
        elif word in hints:
            form = hints[word]
        elif word in _ALWAYS_RAISED:
            form = word.capitalize()
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
