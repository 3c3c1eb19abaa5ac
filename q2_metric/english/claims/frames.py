"""Finds frames: words beside a claim that say how the speaker knows it or feels about it ("I do
know that", "according to the document"). Words that deny the claim ("I doubt that ...") or ask
about it ("do you know if ...") are no frame."""

import re

from q2_metric.english.lexicon import TEXTS
from q2_metric.text.markup import FILE

_NOUN = rf"(?:{'|'.join(sorted(TEXTS))}|information)s?"
_TEXT = (rf"(?:(?:the|this|that|your|these) (?:\w+ )?{_NOUN}(?: provided| given| above)?"
         rf"|{_NOUN} \d{{1,3}}|{FILE})")
"""As in "the article", "document 2"."""
_BY = r"(?:according to|based (?:only |solely )?on|as (?:stated|described) in|as per|per|from)"
_OPENING = re.compile(
    r"[\s,;:.!–—-]+"
    r"|(?:yes|yeah|yea|yep|yup|no|nope|nah|oh|ah|wow|well|so|and|but|ok|okay|sure|actually|also"
    r"|indeed|true|right|correct|hmm|haha|lol|hi|hello|hey|cool|nice|great|fun fact|however|in fact"
    r"|of course|absolutely|definitely|exactly|plus|anyway|really|interestingly|apparently"
    r"|basically|honestly|that(?:'s| is) (?:true|right|correct|cool|great|interesting|awesome|nice"
    r"|good|a good point)|(?:un)?fortunately|sadly|luckily|thankfully|surprisingly|funnily|funny"
    r"|personally|to be (?:honest|fair|exact|precise)|believe it or not|in my (?:\w+ )?opinion"
    r"|by the way|btw)(?: enough)?"
    r"\b(?=\s*[,.!:;]|\s+(?:yes|yeah|no|but|and|i|its?|they|he|she|there|the|that)\b)",
    re.IGNORECASE)
"""As in "yes,", "oh, that's true, but", "sadly,"."""
_GOOD = (r"(?:(?:so|very|really|quite|pretty|also|kind of|rather|truly|just) )*"
         r"(?:a shame|a pity|sad|great|good|nice|cool|crazy|funny|fun|amazing|awesome|incredible"
         r"|wonderful|interesting|fascinating|impressive|surprising|unfortunate|strange|weird|odd"
         r"|hard to believe|best|coolest|worst)")
"""As in "it's a shame that"."""
_SOURCE = (r"(?:as far as (?:i|we)(?:'m| am|'re| are)? (?:know|can tell|remember|recall|aware)"
           r"|from what (?:i|we)(?:'ve| have| can)? (?:know|read|heard|hear|understand|remember"
           r"|gather|see|saw|seen|learned|tell)"
           r"|if (?:i|we) (?:remember|recall)(?: (?:it|this))?(?: (?:correctly|right|well))?"
           r"|if (?:i'm|i am) not (?:mistaken|wrong)|if memory serves(?: me(?: \w+)?)?"
           r"|to (?:my|the best of my) knowledge)")
"""As in "as far as I know"."""
_FRAME = re.compile(
    # I do know that, as an AI assistant I can tell you that
    r"(?:as an? [\w\s-]{2,40}?(?:model|assistant|ai|bot)\b,? )?(?:i|we)"
    r"(?:'m| am|'ve| have| do| did| can| could| would| just| also| really| only)*\s"
    r"(?:sure|know|knew|think|believe|heard|hear|read|guess|tell you|say|bet|remember|understand"
    r"|see|learned|found out|confirm|mention|assume|suppose|aware|glad|surprised)"
    r"(?: to know| about it)? that\s"
    rf"|(?:it(?:'s| is)|(?:i|we) (?:find|found|think) it(?:'s| is)?) (?:true|correct|known|{_GOOD}"
    r"|important to note|worth noting) that\s"
    rf"|isn't it {_GOOD} that\s"
    rf"|(?:what(?:'s| is) {_GOOD}|the {_GOOD} (?:thing|part|fact|news))(?: about \w+)? is that\s"
    r"|(?:i|we)(?: \w+)? (?:like|love|enjoy|hate|appreciate) (?:the fact that\s"
    r"|(?:it )?that\s(?=(?:it|they|he|she|there|the|you)\b))"
    r"|(?:(?:i|we)(?: was| were|'m| am|'re| are)|you (?:may|might|will|would) be)(?: \w+)? "
    r"(?:surprised|interested|glad|happy|shocked|excited|pleased) to "
    r"(?:know|learn|hear|find out|read|see|discover) that\s"
    r"|(?:all (?:i|we) (?:do )?know|(?:my|the) (?:\w+ )?(?:understanding|guess|answer|point)) is"
    r" that\s"
    r"|(?:please )?(?:note|keep in mind|be aware) that\s"
    r"|it says (?:here |there )?that\s"
    rf"|(?:(?:i|we)(?:'m| am|'re| are) (?:no|not an?) \w+,? but )?{_SOURCE},?\s"
    r"|(?:did|do) (?:you|u) (?:ever )?(?:know|hear|realize|realise)(?: that)?\s(?!if|whether|about)"
    rf"|{_BY} {_TEXT},? "
    rf"|{_TEXT} (?:says|states|mentions|notes|indicates|explains|reports|shows|confirms) that ",
    re.IGNORECASE)
_ENDING = re.compile(
    rf"(?:,? (?:lol|haha|btw|by the way|{_SOURCE})|(?:, {_BY}| according to) {_TEXT}"
    r"|(?:, (?:i|we)|(?<!\bthan)(?<!\bwhat)(?<!\bhow)(?<!\bas) (?-i:i)) "
    r"(?:think|believe|guess|suppose))"
    r"(?=[\s.!)]*$)",
    re.IGNORECASE)
"""As in ", I think". "It comes from the article" is no frame."""
_PRESENTING = re.compile(
    r"(?:sure |certainly |ok )?(?:here(?:'s| is| are)|below (?:is|are)|the following (?:is|are)) "
    r"(?:a|an|the|your|some|my|what)\b[^.]*[.:]?|\w[\w ]{0,30}:",
    re.IGNORECASE)


def opening(text: str) -> int:
    """The number of characters at the start that only answer, react or greet."""
    end = 0
    while (match := _OPENING.match(text, end)) and match.end() > end:
        end = match.end()
    return end


def frame(text: str) -> int:
    """The number of characters before the claim: an opening ("Well,") and a frame.

    >>> frame("Well, I do know that it is red."), frame("I doubt that it is red.")
    (21, 0)
    """
    end = opening(text)
    while match := _FRAME.match(text, end):
        end = match.end()
        end += opening(text[end:])
    return end


def ending(text: str) -> int:
    """The number of characters before a frame at the end; without one, the text's length."""
    match = _ENDING.search(text)
    return match.start() if match else len(text)


def is_framed(text: str) -> bool:
    """"Yes," alone is no frame."""
    return frame(text) > opening(text) or ending(text) < len(text)


def presents(text: str) -> bool:
    """Whether a text only announces the text after it.

    >>> presents("Here is a summary:"), presents("Here the river meets the sea.")
    (True, False)
    """
    return bool(_PRESENTING.fullmatch(text[opening(text):].strip()))
