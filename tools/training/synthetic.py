"""Makes contrastive training pairs from sentences, in the style of a dialogue model.

The premise is a sentence of an encyclopaedia. The hypothesis retells one clause of it, often with a
pronoun for the name and a chatty opening. In half of the pairs, one change (to a name, a number, a
noun, a role, a negation, or an invented addition) makes the hypothesis unsupported. spaCy's parse
shows where a change is possible.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from tools.training.corrupt import ParsedClause, Replacements, corrupt
from tools.training.examples import TrainingExample

OPENINGS = (
    "yes , ", "yes , i know that ", "i ' m not sure , but i know ", "i ' m not sure but ",
    "i do know that ", "that ' s cool ! ", "wow , ", "oh , ", "well , ", "i think ",
    "i believe ", "i know that ", "did you know that ", "i love it ! ", "i like that too . ",
    "i ' ve never been there , but i know that ", "i haven ' t tried it , but i heard that ",
    "that is a good question . ", "me too ! ", "no , but ", "i don ' t know much about it , but ",
    "interesting ! ", "i agree . ", "sure ! ", "yeah , ", "i didn ' t know that ! ",
    "oh that ' s interesting . ", "it ' s great . ", "ok , so ", "actually , ",
)
ENDINGS = (" .", " . do you like it ?", " . that is so cool .", " . have you ever tried it ?",
           " !", " . i love that .", " , right ?", " . what about you ?",
           " . i find that amazing .", " . it ' s pretty interesting .")
SYNONYMS = {
    "created": "made", "founded": "established", "established": "founded", "located": "situated",
    "began": "started", "started": "began", "known": "famous", "released": "published",
    "produced": "made", "largest": "biggest", "usually": "often", "typically": "usually",
    "many": "lots of", "several": "a number of", "often": "frequently", "film": "movie",
    "movie": "film", "big": "large", "large": "big", "important": "significant",
    "became": "turned into", "primarily": "mainly", "mainly": "mostly", "received": "got",
    "contains": "includes", "includes": "contains", "wrote": "authored", "children": "kids",
    "popular": "well - liked", "approximately": "about", "around": "about", "died": "passed away",
    "comprises": "consists of", "originated": "started", "occurs": "happens", "city": "town",
    "constructed": "built", "built": "constructed", "purchased": "bought", "assist": "help",
    "difficult": "hard", "commonly": "often", "entire": "whole", "main": "primary",
}
CHAT = (
    "that ' s cool !", "that is so interesting .", "i love {0} !", "i love it .", "me too !",
    "do you like {0} ?", "i ' ve never been there .", "i haven ' t seen it .", "wow !",
    "i didn ' t know that .", "that ' s great .", "i ' m not sure .", "i don ' t know .",
    "have you ever tried it ?", "i would love to try it .", "what do you think ?",
    "i like {0} too .", "i am a big fan of {0} .", "that sounds like fun !", "yes , i do .",
    "i know what you mean .", "i ' ve heard of {0} .", "oh , i see .", "good question .",
    "i hope you have fun .", "that ' s a good point .", "i ' m sorry to hear that .",
    "i can ' t wait !", "thanks for telling me .", "tell me more about {0} .", "i agree .",
)
"""Sentences without a factual claim. ``{0}`` stands for a topic."""
_MONTH = ("(?:january|february|march|april|may|june|july|august|september|october|november"
          "|december)")
_DATE = re.compile(
    rf"\b(?:(on|in|since|from|until|by|of|before|after) )?"
    rf"(?:({_MONTH}) (?:\d{{1,2}} ?,? )?|\d{{1,2}} ({_MONTH}) )?(1\d\d\d|20[0-2]\d)\b(?! ?s\b)",
    re.IGNORECASE)
_COUNT = re.compile(r"\b(\d{1,3}(?: ?, ?\d{3})+|\d{4,})\b")
_OPTIONAL = {"advmod": 0.4, "npadvmod": 0.4, "advcl": 0.7, "prep": 0.3, "appos": 0.7,
             "relcl": 0.7, "acl": 0.5, "amod": 0.25, "conj": 0.45, "parataxis": 0.8,
             "nummod": 0.0, "mark": 0.0, "intj": 1.0, "meta": 1.0}
_PRONOUNS = ("it", "they", "he", "she")


def _join(tokens: Sequence[Any], replaced: dict[int, str]) -> str:
    """Joins the texts of ``tokens``. ``replaced`` has other texts for some, by token index.

    A token with the text "" is left out.
    """
    return " ".join(
        text for text in (replaced.get(t.i, t.text) for t in tokens) if text
    )


def _clause(doc: Any, rng: random.Random) -> tuple[list[Any], list[Any]] | None:
    """The tokens of a clause of a parsed sentence: those of its subject, and all others.

    The main clause is the likeliest choice. Optional phrases are dropped at random. ``None`` means
    that no clause of suitable length was found.
    """
    verbs = [
        t for t in doc
        if t.pos_ in ("VERB", "AUX") and t.dep_ in ("ROOT", "conj", "relcl", "ccomp")
        and any(c.dep_ in ("nsubj", "nsubjpass") for c in t.children)
    ]
    if not verbs:
        return None
    root = next((v for v in verbs if v.dep_ == "ROOT"), verbs[0])
    verb = root if rng.random() < 0.7 else rng.choice(verbs)
    subject = next(c for c in verb.children if c.dep_ in ("nsubj", "nsubjpass"))
    if verb.dep_ == "relcl":
        if subject.tag_ not in ("WDT", "WP"):
            return None
        subject = verb.head
    negated = any(c.dep_ == "neg" for c in verb.children)
    light = rng.random()

    def keep(token: Any) -> list[Any]:
        return _kept(token, verb, subject, 0.0 if negated else 0.4 + light, rng)

    left, right = keep(subject), list(keep(verb))
    if not 3 <= len(left) + len(right) <= 28 or len(right) < 2:
        return None
    return left, right


def _kept(
    token: Any, verb: Any, subject: Any, light: float, rng: random.Random
) -> list[Any]:
    """A token and its subtree in the parse, in order, without randomly dropped optional phrases.

    Args:
        verb: the verb of the clause.
        subject: the head of the clause's subject.
        light: how many optional phrases are dropped; 0 drops none.
    """
    kept = []
    for child in token.children:
        if (
            (child.dep_ in ("nsubj", "nsubjpass") and token is verb)
            or child is verb
            or (child.dep_ == "relcl" and token is subject)
            or child.dep_ in ("cc", "punct", "preconj")
        ):
            continue
        drop = _OPTIONAL.get(child.dep_, 0.0) * light
        if rng.random() < drop:
            continue
        if child.dep_ == "conj":
            marks = [c for c in token.children if c.dep_ in ("cc", "punct") and c.i < child.i]
            if marks:
                kept.append(marks[-1])
        kept += _kept(child, verb, subject, light, rng)
    return sorted([*kept, token], key=lambda t: t.i)


def _pronoun(subject: Sequence[Any], head_text: str, rng: random.Random) -> str:
    """The pronoun for a subject: "he" or "she" (at random) for a person, otherwise "they" or "it".
    """
    labels = {t.ent_type_ for t in subject}
    if "PERSON" in labels:
        return rng.choice(("he", "she"))
    plural = any(t.tag_ in ("NNS", "NNPS") and t.text == head_text for t in subject)
    return "they" if plural else "it"


def _chat(text: str, rng: random.Random) -> str:
    """The text as a chatty turn: sometimes with an opening such as "wow ," and a closing remark."""
    if rng.random() < 0.4:
        text = rng.choice(OPENINGS) + text
    ending = rng.choice(ENDINGS) if rng.random() < 0.25 else " ."
    return text.rstrip(" .") + ending


def loosen(text: str, rng: random.Random, wrong: bool = False) -> str | None:
    """Makes one date or count in ``text`` less exact.

    "on May 21, 1881" becomes "in 1881", "back in may 1881", "in the 1880s" or "in the late 19th
    century"; "23,768" becomes "over 23,000".

    Args:
        wrong: whether the result contradicts the text, by another date or count.

    Returns:
        The changed text, or ``None`` if ``text`` has neither a date nor a count.
    """
    dates, counts = list(_DATE.finditer(text)), list(_COUNT.finditer(text))
    if not dates:
        counts = [c for c in counts if len(re.sub(r"\D", "", c.group())) >= 4]
        if not counts:
            return None
        place = rng.choice(counts)
        value = int(re.sub(r"\D", "", place.group()))
        if wrong:
            value = int(value * rng.choice((0.1, 0.4, 0.6, 1.6, 2.5, 10)))
        unit = 10 ** (len(str(value)) - rng.choice((1, 2)))
        down = value // unit * unit
        forms = [f"about {down:,}", f"around {down + unit:,}", f"{down:,}"]
        if not wrong:  # "over 14,000" would also be true of 23,768
            forms += [f"over {down:,}", f"more than {down:,}", f"nearly {down + unit:,}"]
        new = rng.choice(forms)
        return text[: place.start()] + new + text[place.end() :]
    place = rng.choice(dates)
    before, month = place.group(1), place.group(2) or place.group(3)
    year = int(place.group(4))
    if wrong:
        year += rng.choice((-1, 1)) * rng.choice((12, 20, 30, 47, 60, 100))
    decade, part = year // 10 * 10, ("early", "mid", "late")[min(2, year % 10 // 3)]
    period = ("early", "mid", "late")[min(2, year % 100 // 34)]
    ordinal = year // 100 + 1
    ending = "th" if 11 <= ordinal <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(ordinal % 10, "th")
    s = rng.choice(("s", " ' s", "'s", "s"))
    forms = [f"{year}", f"{year}", f"{year}", f"{month} {year}" if month else f"{year}",
             f"the {decade}{s}", f"the {decade}{s}", f"the {part} {decade}{s}"]
    if not wrong:  # the wrong year may be in the right century
        forms += [f"the {ordinal}{ending} century", f"the {period} {ordinal}{ending} century"]
    new = rng.choice(forms)
    if before:
        before = "in" if before.lower() in ("on", "in") else before
        lead = rng.choice(("", "", "back ", "way back ")) if before == "in" else ""
        new = f"{lead}{before} {new}"
    return text[: place.start()] + new + text[place.end() :]


def retell(doc: Any, pool: Replacements, rng: random.Random) -> list[TrainingExample]:
    """Makes pairs from a parsed sentence: usually one supported and one unsupported hypothesis.

    For some sentences, there is also a chatty hypothesis that claims nothing.

    Args:
        pool: words of other sentences, which can replace words of this one.
    """
    retellings = [_told(doc, wanted, pool, rng) for wanted in ("supported", "changed")]
    found = [pair for pair in retellings if pair is not None]
    if rng.random() < 0.12:
        subjects = [c.text.lower() for c in doc.noun_chunks if c.root.pos_ != "PRON"] or ["it"]
        chat = rng.choice(CHAT).format(rng.choice(subjects))
        found.append(TrainingExample(chat, doc.text, "not_enough", "retold_chat"))
    return found


def _told(doc: Any, wanted: str, pool: Replacements, rng: random.Random) -> TrainingExample | None:
    """Makes a pair from a clause of the sentence, retold in a chatty style.

    ``wanted`` is "supported" or "changed". The label is not always the same: a loosened date may
    be wrong, for example. ``None`` means that no clause or no change was found.
    """
    parts = _clause(doc, rng)
    if parts is None:
        return None
    subject, rest = parts
    tokens = sorted(subject + rest, key=lambda t: t.i)
    premise, suffix, label = doc.text, "", "supported"
    replaced: dict[int, str] = {}
    if wanted == "changed":
        change = corrupt(ParsedClause(doc, subject, rest), pool, rng)
        if change is None:
            return None
        replaced, suffix, label = change
    if not any(t.i in replaced for t in subject):
        renamed, premise = _named(doc, subject, rng)
        replaced |= renamed
    for t in tokens:
        if t.text.lower() in SYNONYMS and t.i not in replaced and rng.random() < 0.3:
            replaced[t.i] = SYNONYMS[t.text.lower()]
    text = _join(tokens, replaced) + suffix
    if wanted == "supported":
        wrong = rng.random() < 0.4
        loose = loosen(text, rng, wrong) if rng.random() < 0.8 else None
        if loose and wrong:
            label = "refuted"
        text = loose or text
    if rng.random() < 0.7:
        text = text.lower()
    spoken = _chat(text, rng)
    if label == "supported" and " i " in f" {spoken} " and " i " not in f" {text} ":
        label = "not_refuted"
    return TrainingExample(spoken, premise, label, f"retold_{wanted}")


def _named(doc: Any, subject: list[Any], rng: random.Random) -> tuple[dict[int, str], str]:
    """Puts a pronoun for the subject into the hypothesis or into the premise, in some pairs.

    Returns:
        The new texts of the hypothesis's tokens, by token index, and the text of the premise.
    """
    head = next((t for t in subject if t.head not in subject), subject[0])
    pronoun = head.pos_ == "PRON"
    style = rng.random()
    if style < 0.35 and not pronoun:
        new = _pronoun(subject, head.text, rng)
        return {t.i: (new if n == 0 else "") for n, t in enumerate(subject)}, doc.text
    if style < 0.6 and not pronoun and subject[0].i == 0:
        # The premise has "it" where the hypothesis has the name.
        end = subject[-1].idx + len(subject[-1].text)
        new = _pronoun(subject, head.text, rng)
        if subject[-1].i - subject[0].i + 1 == len(subject):
            return {}, new.capitalize() + doc.text[end:]
    return {}, doc.text
