"""Word lists: words that deny, words that leave something open, and pairs of opposites."""

from __future__ import annotations

import re

from q2_metric.text.alignment import stem
from q2_metric.text.normalise import words

NEVER = words("not n't never hardly barely scarcely rarely seldom nowhere")
NOTHING = words("none nobody nothing neither")
WRONGLY = words("falsely wrongly incorrectly mistakenly untruthfully")
DENIERS = words("""
    fail refuse decline deny doubt dispute refute disprove reject forget neglect avoid prevent stop
    forbid prohibit ban unable impossible false untrue incorrect wrong myth hoax lie falsehood
    failure refusal inability denial unlikely unwilling
""")
"""Words that deny the words after them: "refused to sign", "it is false that"."""
WISHES = words("""
    plan hope hop want intend expect aim try attempt seek consider propose threaten promise wish
    allege claim speculate pretend goal mission purpose likely possible able ready
    rumour rumor desire effort attempt proposal promise decision suppose urge ask
""") - {"able", "decision"}
"""Words that leave open whether something happens: "plans to build", "it is possible that". The
list contains "hop" because spaCy's small model gives it as the lemma of "hoped"."""
MODALS = words("may might could should")
PERHAPS = words("perhaps maybe possibly allegedly supposedly reportedly probably")

_PAIRS = """
open closed|open close|open shut|allow forbid|allow prohibit|allow ban|allowed forbidden
permit forbid|permit prohibit|permit ban|alive dead|present absent|possible impossible|true false
gain lose|rise fall|increase decrease|increase fall|increase drop|rise drop|grow shrink|raise lower
raise cut|accept reject|accept refuse|accept decline|approve reject|include exclude|start end
begin end|start stop|begin stop|legal illegal|safe dangerous|safe unsafe|win lose|pass fail
enable disable|enabled disabled|connect disconnect|agree disagree|like dislike|appear disappear
know unknown|married unmarried|divorce marry|arrive leave|enter leave|add remove
up down|easy difficult|cheap expensive|full empty|hot cold|high low|long short|old new|big small
free paid|active inactive|healthy ill|edible poisonous|available unavailable|able unable
guilty innocent|public private|optional mandatory|optional required|optional compulsory|alive die
male female|north south|east west|strengthen weaken|improve worsen|support oppose|live die
love hate|acquit convict|hire fire|import export|attack defend|succeed fail
fast slow|strong weak|rich poor|wet dry|deep shallow|heavy light|thick thin|wide narrow
"""
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in re.split(r"[|\n]", _PAIRS.strip()):
    _one, _other = map(stem, _pair.split())
    OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
    OPPOSITES[_other] = OPPOSITES.get(_other, frozenset()) | {_one}

CONVERSES: dict[tuple[str, str], tuple[str, bool]] = {
    ("beat", ""): ("beat", False), ("defeat", ""): ("beat", False),
    ("overcome", ""): ("beat", False), ("win", "against"): ("beat", False),
    ("win", "over"): ("beat", False), ("lose", "to"): ("beat", True),
    ("lose", "against"): ("beat", True),
    ("lend", ""): ("lend", False), ("borrow", "from"): ("lend", True),
    ("sell", "to"): ("sell", False), ("buy", "from"): ("sell", True),
    ("teach", ""): ("teach", False), ("learn", "from"): ("teach", True),
    ("employ", ""): ("employ", False), ("work", "for"): ("employ", True),
}
"""Verbs that describe the same event: "A beat B", "A won against B", "B lost to A". The key is the
verb's lemma and its preposition ("" for none). The value is the verb that stands for all of them,
and whether agent and patient are swapped."""

CUES = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|hardly|barely|scarcely|rarely"
    r"|seldom|cannot|until|may|might|could|would|should|if|unless|whether|perhaps|maybe|possibly"
    r"|allegedly|supposedly|reportedly|probably|fail\w*|refus\w*|declin\w*|den(?:y|ie[sd])"
    r"|doubt\w*|disput\w*|reject\w*|forgot|avoid\w*|prevent\w*|unable|impossible|false\w*|untrue"
    r"|wrong\w*|incorrect\w*|mistaken\w*|myth|hoax|plan\w*|hop(?:e|ed|es|ing)|want\w*|intend\w*"
    r"|expect\w*|aim\w*|tr(?:y|ied|ies)|attempt\w*|seek\w*|consider\w*|propos\w*|claim\w*|beat|beats"
    r"|fell|rose|grew|grown|shrank|shrunk|won|lost|began|begun|left|found|risen|died|dead|death"
    r"|win|wins|won|old|new|big|hot|wet|dry|ill"
    r"|alleg\w*|un\w+|dis\w+|" + "|".join(sorted({f"{w}\\w*" for p in re.split(
        r"[|\n ]", _PAIRS.strip()) if len(w := p) > 3})) + r")\b|n['’]t\b", re.IGNORECASE)
"""Words that can deny something or leave it open, and words with an opposite. If two sentences
contain none of them, they are not parsed to compare their stances (see ``stance.may_oppose``)."""
