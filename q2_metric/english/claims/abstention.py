"""Detects a sentence which only says that there is no answer ("The passage does not say."),
apologises, or advises to ask somebody else. The rules are narrow: they match whole sentences."""

from __future__ import annotations

import re

_GIVEN = r"(?:provided|given|supplied|retrieved|available|above|following)"
_TEXT = (
    rf"(?:(?:any of )?(?:the|this|these|that|those)(?: {_GIVEN})?|{_GIVEN})"
    r" (?:(?:text|context|passage|document|article|source|paragraph|excerpt|snippet)s?"
    r"|search results?|knowledge(?: base)?)"
    rf"(?: (?:that )?(?:you |i )?(?:was |were |have |am )?{_GIVEN}"
    r"| (?:that )?(?:i|we) (?:have|got|have access to|can (?:see|access)))?"
    rf"|(?:(?:the|this) )?{_GIVEN} (?:information|knowledge|material)"
    rf"|(?:the|this) information (?:you )?{_GIVEN}"
)
"""As in "the given passage"."""
_IN = r"(?:in|from|by|within|with|on|using|based on|according to|anywhere in|given)"
_NOT = r"(?:(?:do|does|did)(?: not|n't))"
_CANNOT = r"(?:ca(?:n ?not|n't)|could(?: not|n't)|(?:am|was|are|were) (?:not able|unable) to)"
_HOW = r"(?:(?:actually|explicitly|specifically|directly|clearly|really|even) )?"
_TELLS = (r"(?:say|mention|state|specify|contain|include|provide|give|indicate|discuss|cover"
          r"|address|answer|tell|have|explain|describe|reveal|clarify|offer|refer to)")
_TOLD = (r"(?:said|mentioned|stated|specified|contained|included|provided|given|indicated"
         r"|discussed|covered|addressed|answered|explained|described|found|determined|inferred"
         r"|clear|known|available|present|listed|concluded)")
_UNTOLD = (rf" (?:(?:is|are|was|were)(?: not|n't)|(?:ca(?:n ?not|n't)|could(?: not|n't)) be)"
           rf" {_HOW}{_TOLD}\b")
_FIND = r"(?:find|see|locate|answer|determine|tell|say|confirm|identify)"
_NOTHING = r"(?:no|not any|not enough|not sufficient|insufficient|nothing)"
_FACTS = r"(?:information|mention|details?|data|evidence|answers?|indication|context|reference)"

_FOREWORD = re.compile(
    r"(?:unfortunately|however|but|so|well|no(?=,)|i am sorry|sorry|i am afraid(?: that)?"
    r"|i apologi[sz]e|thus|therefore|hence"
    r"|(?:i|we) (?:do not|don't|cannot|can't) (?:know|say|tell)(?: that)?(?= ?[,:;–—-])"
    r"|i am not sure(?= ?[,:;–—-]))\b[ ,:;–—-]*(?:but )?"
)
_AS_AI = re.compile(r"as an? (?:ai|artificial intelligence|language model)(?: language)?"
                    r"(?: model| assistant| chatbot)?\b[ ,:]*")
_FOREWORD_OF_TEXT = re.compile(rf"(?:based (?:only |solely )?on|according to|from|in|given) "
                               rf"(?:{_TEXT})\b[ ,:]*")
_FURTHER = re.compile(
    r"[,;:]|\b(?:but|because|since|although|though|however|while|instead|only|except|other than"
    r"|apart from|besides)\b"
)
"""After these words, a sentence may go on to make a claim."""

_BY_ITSELF = re.compile(
    rf"(?:{_TEXT}) (?:{_NOT} {_HOW}{_TELLS}\b.*|(?:says?|contains?|has|have|provides?) "
    rf"{_NOTHING}\b.*|(?:is|are) (?:silent|unclear)\b.*)"
    rf"|(?:there(?:'s| is| are)|i (?:see|find|found)) {_NOTHING}(?: {_FACTS})?\b.* {_IN} "
    rf"(?:{_TEXT})\b.*"
    rf"|there (?:is|are)n't (?:any|enough)(?: {_FACTS})?\b.* {_IN} (?:{_TEXT})\b.*"
    rf"|.(?:(?!{_UNTOLD}).)*{_UNTOLD}.* {_IN} (?:{_TEXT})"  # linear: only at the first such phrase
    rf"|(?:i|we) {_NOT} (?:see|find|know)\b.* {_IN} (?:{_TEXT})"
    rf"|(?:i|we) {_CANNOT} answer (?:(?:this|that|the|your) question|this|that)(?: {_IN} .*)?"
    rf"|(?:i|we) {_NOT} have (?:(?:enough|sufficient|any|the) )?information"
    r"(?: (?:to (?:answer|say|tell|determine)|about|on|regarding|concerning)\b.*)?"
    r"|(?:there is )?(?:no|not enough|insufficient) (?:information|context)"
    r"(?: (?:is |was )?(?:available|provided|given|found)| to (?:answer|say|tell|determine)\b.*)?"
    r"|(?:it is|it's) (?:hard|difficult|impossible) to (?:say|tell|know)(?: for sure)?"
    r"|unanswerable|(?:this|the) question (?:ca(?:n ?not|n't) be answered|is unanswerable)"
    rf"|not {_HOW}(?:mentioned|stated|specified|provided|given)(?: {_IN} (?:{_TEXT}))?"
    r"|no answer(?: (?:was |is )?(?:found|available|given|provided))?"
    rf"|(?:i|we) (?:{_CANNOT}|{_NOT}) (?:find|locate|see) (?:any|enough|sufficient|the)"
    rf"(?: (?:relevant|specific|further|more|reliable|exact))* {_FACTS}\b.*"
    r"|(?:there (?:was|is|were|are) )?no (?:relevant |specific |further |matching )*"
    r"(?:information|data|answers?|results?|documents?|passages?|match(?:es)?)"
    r" (?:(?:was|is|were|are|could be|can be) )?(?:found|available|returned)"
    r"(?: (?:about|on|regarding|concerning|for (?:this|that|your|the)|to answer)\b.*)?"
    r"|(?:unknown|null|nil|nan|n/a|not (?:available|applicable|found|known|sure)|undefined|idk"
    r"|no (?:data|information|answers?|idea|clue|comment|results?)|(?:i|we) (?:do not|don't) know)"
)
_APOLOGY = re.compile(
    r"(?:(?:i|we) (?:do |(?:sincerely|deeply|truly|really) )*apologi[sz]e"
    r"|(?:please accept )?(?:(?:my|our) )?(?:(?:sincere|sincerest|deepest) )?apologies|for)"
    r"(?: (?:again|once more))?"
    r"(?: ?(?:for )?(?:the|any|this|that|my|our|your)(?: (?:earlier|previous|possible|any))? "
    r"(?:confusion|inconvenience|misunderstanding|mistake|error|oversight|delay|trouble|mix-up"
    r"|frustration)\b[^,;:\d]*)?"
)
"""The words "i am sorry" are removed before this pattern is used."""
_HELP = re.compile(
    rf"(?:i|we) {_CANNOT} (?:help|assist)(?: you)?"
    r"(?: (?:with|on) (?:it|(?:that|this|your)(?: (?:request|question|query))?))?"
)
_MORE = (r"(?:for (?:any )?(?:more|further|additional) (?:information|details|help|assistance"
         r"|questions)|if you (?:have|need)(?: any)? (?:more |further |additional |other )?"
         r"(?:questions|information|details|help|assistance)(?: or concerns)?)")
_REFERS = re.compile(
    rf"(?:{_MORE},? )?(?:please )?(?:contact|call|reach out to|get in touch with|consult|check with"
    r"|speak (?:to|with)|refer to|visit) (?:directly )?(?:(?:the|our|your|their) )?"
    r"(?:(?:local|technical|customer|service|support|it|relevant|official|hotel|company) )*"
    r"(?:desk|help ?desk|support|service|care|services|team|front desk|reception|website|helpline"
    rf"|hotline|administrator|department|representative|provider|staff)(?: directly)?(?: {_MORE})?"
)
"""As in "please contact support". With a number or an address, the advice would be a claim."""
_OF_AI = re.compile(rf"(?:i|we) (?:{_NOT} have|{_CANNOT} (?:have|access|provide|give|offer))\b"
                    r".*\b(?:access|opinions?|emotions?|feelings?|beliefs?|preferences?|experiences?"
                    r"|information|data|ability)\b.*")
_BESIDE_TEXT = re.compile(
    r"it is (?:not possible|impossible|unclear|not clear|unknown)\b.*"
    rf"|there (?:is|are) {_NOTHING} {_FACTS}\b.*|(?:i|we) {_CANNOT} {_FIND}\b.*"
    rf"|.+ (?:is|are|was|were)(?: not|n't) {_HOW}{_TOLD}"
    r"|.+ (?:ca(?:n ?not|n't)) be (?:determined|answered|inferred|found)"
)
"""As in "it is unclear who built it". The sentence must also name the given text."""
_ENDING_OF_TEXT = re.compile(rf"(.+) {_IN} (?:{_TEXT})")


def abstains(sentence: str) -> bool:
    """Whether a sentence (lower case, contractions like "doesn't") only says that the given text
    has no answer, apologises or offers help.

    >>> abstains("the passage does not say who built it .")
    True
    >>> abstains("the passage does not say who built it, but it was eiffel .")
    False
    """
    said = " ".join(sentence.replace("i'm ", "i am ").split()).strip(" .!\"'()[]")
    named = model = False
    while foreword := (_FOREWORD_OF_TEXT.match(said) or _FOREWORD.match(said)
                       or _AS_AI.match(said)):
        named, model = named or foreword.re is _FOREWORD_OF_TEXT, model or foreword.re is _AS_AI
        said = said[foreword.end() :]
    if _REFERS.fullmatch(said):
        return True
    if _FURTHER.search(said):
        return False
    if any(pattern.fullmatch(said) for pattern in (_BY_ITSELF, _APOLOGY, _HELP)):
        return True
    if model and _OF_AI.fullmatch(said):
        return True
    if named:
        return bool(_BESIDE_TEXT.fullmatch(said))
    ending = _ENDING_OF_TEXT.fullmatch(said)
    return bool(ending and _BESIDE_TEXT.fullmatch(ending[1]))
