"""Finds frames: words before a claim that say how the speaker knows it, and are no part of it.

"I'm not sure, but I do know that it is red", "according to the document, it is red" and "yes, it is
red" make the same claim, namely that it is red. Words that deny the claim ("I doubt that ...", "it
is false that ...") or ask about it ("do you know if ...") are no frame.
"""

from __future__ import annotations

import re

_TEXT = (r"(?:the|this|that|your|these) (?:\w+ )?(?:text|passage|document|article|source|context"
         r"|paragraph|excerpt|snippet|knowledge|information)s?(?: provided| given| above)?")
"""Phrases with which a response refers to its knowledge, such as "the article"."""

_OPENING = re.compile(
    r"[\s,;:.!–—-]+"
    r"|(?:yes|yeah|yep|yup|no|nope|nah|oh|ah|wow|well|so|and|but|ok|okay|sure|actually|also|indeed"
    r"|true|right|correct|hmm|haha|lol|hi|hello|hey|cool|nice|great|fun fact|however|in fact"
    r"|of course|absolutely|definitely|exactly|plus|anyway|really|interestingly|apparently"
    r"|basically|honestly|that(?:'s| is) (?:true|right|correct|cool|great|interesting|awesome|nice"
    r"|good|a good point))"
    r"\b(?=\s*[,.!:;]|\s+(?:yes|yeah|no|but|and|i|it|they|he|she|there|the|that)\b)",
    re.IGNORECASE,
)
"""Matches answers and sounds before a claim: "yes,", "oh, that's true, but"."""

_FRAME = re.compile(
    # I do know that, as an AI assistant I can tell you that
    r"(?:as an? [\w\s-]{2,40}?(?:model|assistant|ai|bot)\b,? )?(?:i|we)"
    r"(?:'m| am|'ve| have| do| did| can| could| would| just| also| really| only)*\s"
    r"(?:sure|know|knew|think|believe|heard|hear|read|guess|tell you|say|bet|remember|understand"
    r"|see|learned|found out|confirm|mention|assume|suppose|aware|glad|surprised)"
    r"(?: to know| about it)? that\s"
    r"|it(?:'s| is) (?:true|correct|known|interesting|funny|amazing|important to note"
    r"|worth noting) that\s"
    r"|(?:did|do) (?:you|u) (?:ever )?(?:know|hear|realize|realise)(?: that)?\s(?!if|whether|about)"
    rf"|(?:according to|based (?:only |solely )?on|as stated in|from) {_TEXT},? "
    rf"|{_TEXT} (?:says|states|mentions|notes|indicates|explains|reports|shows|confirms) that ",
    re.IGNORECASE,
)

_PRESENTING = re.compile(
    r"(?:sure |certainly |ok )?(?:here(?:'s| is| are)|below (?:is|are)|the following (?:is|are)) "
    r"(?:a|an|the|your|some|my|what)\b[^.]*[.:]?|.*\b(?:the following|as follows)\W*:\W*"
    r"|\w[\w ]{0,30}:",
    re.IGNORECASE,
)


def opening(text: str) -> int:
    """The number of characters at the start of a text that only answer, react or greet.

    >>> opening("Yes, that's true, but it is red.")
    22
    """
    end = 0
    while (match := _OPENING.match(text, end)) and match.end() > end:
        end = match.end()
    return end


def frame(text: str) -> int:
    """The number of characters before the claim at the start of a text.

    These characters are an opening ("Well,") and a frame ("I do know that").

    >>> text = "Well, I do know that it is red."
    >>> text[frame(text):]
    'it is red.'
    >>> frame("I doubt that it is red.")
    0
    """
    end = opening(text)
    while match := _FRAME.match(text, end):
        end = match.end()
        end += opening(text[end:])
    return end


def is_framed(text: str) -> bool:
    """Whether a text starts with a frame, such as "I know that". "Yes," alone is no frame."""
    return frame(text) > opening(text)


def presents(text: str) -> bool:
    """Whether a text only announces the text after it.

    >>> presents("Here is a summary:"), presents("Here the river meets the sea.")
    (True, False)
    """
    return bool(_PRESENTING.fullmatch(text[opening(text):].strip()))
