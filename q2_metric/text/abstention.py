"""Whether a sentence says that the knowledge has no answer, and nothing else, by rule.

"The passage does not say." is what a careful system writes when it has nothing to go by. It
states nothing about the world that the knowledge could support or refute. The rule is narrow:
the sentence must speak of the text that was given, in one of a few ways, and end there.
"""

from __future__ import annotations

import re

_GIVEN = r"(?:provided|given|supplied|retrieved|available|above|following)"
_TEXT = (
    rf"(?:(?:any of )?(?:the|this|these|that|those)(?: {_GIVEN})?|{_GIVEN})"
    r" (?:(?:text|context|passage|document|article|source|paragraph|excerpt|snippet)s?"
    r"|search results?|knowledge(?: base)?)"
    rf"(?: (?:that )?(?:you |i )?(?:was |were |have |am )?{_GIVEN})?"
    rf"|(?:(?:the|this) )?{_GIVEN} (?:information|knowledge|material)"
    rf"|(?:the|this) information (?:you )?{_GIVEN}"
)
"""The knowledge, as a response that rests on it would call it."""
_IN = r"(?:in|from|by|within|with|on|using|based on|according to|anywhere in|given)"
_NOT = r"(?:(?:do|does|did)(?: not|n't))"
_CANNOT = r"(?:ca(?:n ?not|n't)|could(?: not|n't)|(?:am|was|are|were) (?:not able|unable) to)"
_HOW = r"(?:(?:actually|explicitly|specifically|directly|clearly|really|even) )?"
_TELLS = (r"(?:say|mention|state|specify|contain|include|provide|give|indicate|discuss|cover"
          r"|address|answer|tell|have|explain|describe|reveal|clarify|offer|refer to)")
_TOLD = (r"(?:said|mentioned|stated|specified|contained|included|provided|given|indicated"
         r"|discussed|covered|addressed|answered|explained|described|found|determined|inferred"
         r"|clear|known|available|present|listed|concluded)")
_FIND = r"(?:find|see|locate|answer|determine|tell|say|confirm|identify)"
_NOTHING = r"(?:no|not any|not enough|not sufficient|insufficient|nothing)"
_FACTS = r"(?:information|mention|details?|data|evidence|answers?|indication|context|reference)"

_FOREWORD = re.compile(
    r"(?:unfortunately|however|but|so|well|no(?=,)|i am sorry|sorry|i am afraid(?: that)?"
    r"|i apologi[sz]e|thus|therefore|hence)\b[ ,:]*(?:but )?"
)
_FOREWORD_OF_TEXT = re.compile(rf"(?:based (?:only |solely )?on|according to|from|in|given) "
                               rf"(?:{_TEXT})\b[ ,:]*")
_FURTHER = re.compile(
    r"[,;:]|\b(?:but|because|since|although|though|however|while|instead|only|except|other than"
    r"|apart from|besides)\b"
)
"""What lets a sentence go on to say something of its own."""

_BY_ITSELF = re.compile(
    rf"(?:{_TEXT}) (?:{_NOT} {_HOW}{_TELLS}\b.*|(?:says?|contains?|has|have|provides?) "
    rf"{_NOTHING}\b.*|(?:is|are) (?:silent|unclear)\b.*)"
    rf"|(?:there(?:'s| is| are)|i (?:see|find|found)) {_NOTHING}(?: {_FACTS})?\b.* {_IN} "
    rf"(?:{_TEXT})\b.*"
    rf"|there (?:is|are)n't (?:any|enough)(?: {_FACTS})?\b.* {_IN} (?:{_TEXT})\b.*"
    rf"|.+ (?:is|are|was|were)(?: not|n't) {_HOW}{_TOLD}\b.* {_IN} (?:{_TEXT})"
    rf"|.+ (?:ca(?:n ?not|n't)|could(?: not|n't)) be {_HOW}{_TOLD}\b.* {_IN} (?:{_TEXT})"
    rf"|(?:i|we) {_NOT} (?:see|find|know)\b.* {_IN} (?:{_TEXT})"
    rf"|(?:i|we) {_CANNOT} answer (?:(?:this|that|the|your) question|this|that)(?: {_IN} .*)?"
    rf"|(?:i|we) {_NOT} have (?:(?:enough|sufficient|any|the) )?information"
    r"(?: (?:to (?:answer|say|tell|determine)|about|on|regarding|concerning)\b.*)?"
    r"|(?:there is )?(?:no|not enough|insufficient) (?:information|context)"
    r"(?: (?:is |was )?(?:available|provided|given|found)| to (?:answer|say|tell|determine)\b.*)?"
    r"|unanswerable|(?:this|the) question (?:ca(?:n ?not|n't) be answered|is unanswerable)"
    rf"|not {_HOW}(?:mentioned|stated|specified|provided|given)(?: {_IN} (?:{_TEXT}))?"
    r"|no answer(?: (?:was |is )?(?:found|available|given|provided))?"
)
_BESIDE_TEXT = re.compile(
    r"it is (?:not possible|impossible|unclear|not clear|unknown)\b.*"
    rf"|there (?:is|are) {_NOTHING} {_FACTS}\b.*|(?:i|we) {_CANNOT} {_FIND}\b.*"
    rf"|.+ (?:is|are|was|were)(?: not|n't) {_HOW}{_TOLD}"
    r"|.+ (?:ca(?:n ?not|n't)) be (?:determined|answered|inferred|found)"
)
"""What says so where the text is named before or after it: "based on the passage, …"."""
_ENDING_OF_TEXT = re.compile(rf"(.+) {_IN} (?:{_TEXT})")


def abstains(sentence: str) -> bool:
    """Whether a sentence only says that the given text has no answer.

    Args:
        sentence: in lower case, with contractions in one piece ("doesn't").

    >>> abstains("the passage does not say who built it .")
    True
    >>> abstains("the passage does not say who built it, but it was eiffel .")
    False
    """
    said = " ".join(sentence.replace("i'm ", "i am ").split()).strip(" .!\"'()[]")
    named = False
    while found := _FOREWORD_OF_TEXT.match(said) or _FOREWORD.match(said):
        named = named or found.re is _FOREWORD_OF_TEXT
        said = said[found.end() :]
    if _FURTHER.search(said):
        return False
    if _BY_ITSELF.fullmatch(said):
        return True
    if named:
        return bool(_BESIDE_TEXT.fullmatch(said))
    ending = _ENDING_OF_TEXT.fullmatch(said)
    return bool(ending and _BESIDE_TEXT.fullmatch(ending[1]))
