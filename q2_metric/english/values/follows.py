"""Decides by a claim's values whether a sentence supports it, without an entailment model."""

import re

from q2_metric.english.values.compare import compare_values
from q2_metric.english.values.find import values_in
from q2_metric.english.values.value import Value
from q2_metric.text.normalise import words

_OPEN = words(
    "not no never none nobody nothing neither nor without hardly barely scarcely rarely cannot may "
    "might could would should if unless whether perhaps maybe possibly allegedly supposedly "
    "reportedly probably only except until instead former formerly previously once rather than")
"""If a sentence has one of these, a clause of it may not hold by itself."""
_LEFT_OUT = words("a an the is are about around approximately roughly circa exactly")
_HEDGES = words("almost nearly over under some")
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
                      or (found[-1] in _HEDGES and value.near)):
            found.pop()
        found.append(value)
        done = value.end
    return found + _words(text[done:])


def _words(text: str) -> list[str]:
    return [word for word in _TOKEN.findall(text.lower()) if word not in _LEFT_OUT]
