"""Forms the past tense and the third person of a verb from its base form."""

import re

_IRREGULAR = """
arise arose|awake awoke|bear bore|beat beat|become became|begin began|bend bent|bet bet|bid bid
bind bound|bite bit|bleed bled|blow blew|break broke|breed bred|bring brought|broadcast broadcast
build built|burst burst|buy bought|cast cast|catch caught|choose chose|cling clung|come came
cost cost|creep crept|cut cut|deal dealt|dig dug|do did|draw drew|drink drank|drive drove|eat ate
fall fell|feed fed|feel felt|fight fought|find found|flee fled|fly flew|forbid forbade
forget forgot|forgive forgave|freeze froze|get got|give gave|go went|grow grew|hang hung|have had
hear heard|hide hid|hit hit|hold held|hurt hurt|keep kept|know knew|lay laid|lead led|leave left
lend lent|let let|light lit|lose lost|make made|mean meant|meet met|overcome overcame|pay paid
put put|quit quit|read read|ride rode|ring rang|rise rose|run ran|say said|see saw|seek sought
sell sold|send sent|set set|shake shook|shine shone|shoot shot|shrink shrank|shut shut
sing sang|sink sank|sit sat|sleep slept|speak spoke|spend spent|spin spun|split split
spread spread|stand stood|steal stole|stick stuck|strike struck|swear swore|sweep swept|swim swam
swing swung|take took|teach taught|tear tore|tell told|think thought|throw threw
undergo underwent|understand understood|wake woke|wear wore|win won|withdraw withdrew|write wrote
lie lay|refer referred|occur occurred|prefer preferred|admit admitted|commit committed
permit permitted|submit submitted|transfer transferred|control controlled|compel compelled
"""
_PASTS: dict[str, str] = {
    pair.split()[0]: pair.split()[1] for pair in re.split(r"[|\n]", _IRREGULAR.strip())}
_DOUBLED = re.compile(r"[^aeiou]*[aeiou][bdgklmnprt]")


def past(verb: str) -> str:
    """The past tense of a verb, given its base form.

    >>> past("open"), past("write"), past("stop"), past("carry")
    ('opened', 'wrote', 'stopped', 'carried')
    """
    if verb in _PASTS:
        return _PASTS[verb]
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return verb + verb[-1:] * bool(_DOUBLED.fullmatch(verb)) + "ed"


def third(verb: str) -> str:
    """The third person singular of a verb in the present tense, given its base form.

    >>> third("open"), third("have"), third("pass"), third("carry")
    ('opens', 'has', 'passes', 'carries')
    """
    if verb == "have":
        return "has"
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return verb + "es"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + "s"
