"""Turns a question and its short answer into a statement: "1889." as the answer to "When did it
open?" becomes "It opened in 1889." The rules cover questions with a fronted auxiliary and questions
about the subject."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from q2_metric.english.claims.checkable import YesNo, has_claim, is_short, last_question, verdict_of
from q2_metric.english.lexicon import AUXILIARY_VERBS, FINITE, MONTHS, QUESTION_WORDS, listed
from q2_metric.english.parse.parser import PARSER, Parsed
from q2_metric.english.parse.phrases import expand, past, spell, third
from q2_metric.english.parse.tree import Tree, Word, bits_of, first
from q2_metric.text.normalise import words
from q2_metric.types import Example

_ASKING = QUESTION_WORDS - {"whose", "why"}
_DO = words("do does did")
_THIS = words("this that these those")
_ADVERBS = words("also ever really actually currently originally usually often still first "
                 "officially finally")
_PREPOSITIONS = listed("prepositions")
_ADDRESSED = words("you your we our us")
_ASKER = {"i am": "you are", "i 'm": "you are", "i was": "you were", "i": "you", "my": "your",
          "me": "you"}
"""How an answer speaks of the one who asked."""
_OF_ASKER = re.compile(rf"\b(?:{'|'.join(_ASKER)})\b", re.IGNORECASE)
_YES_AND = re.compile(r"(?:yes|yeah|yep|yup)[,:;\s–-]+(\w.*)", re.IGNORECASE | re.DOTALL)
_UNSURE = words("or any anyone anybody anything ever yet either")
"""With one of these in the question, "yes" makes no clear statement."""
_MOTION = words("go return travel move fly sail run drive emigrate lead migrate relocate flee")
_LASTING = words("last take")
_TIMES = words("year month date day time century decade season")
_IN = re.compile(r"(?:the |early |late |mid-?)*(?:\d{3,4}(?:s|'s)?(?: (?:bc|ad|bce|ce))?"
                 rf"|(?:{MONTHS})(?:,? \d{{4}})?|(?:\d+(?:st|nd|rd|th)|\w+) century(?: \w+)?"
                 r"|(?:spring|summer|autumn|fall|winter)(?: (?:of )?\d{4})?)", re.IGNORECASE)
_ON = re.compile(r"(?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?[a-z]+"
                 r"|[a-z]+ \d{1,2}(?:st|nd|rd|th)?)(?:,? \d{4})?|\d{4}-\d\d-\d\d"
                 r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?", re.IGNORECASE)
_AT = re.compile(r"\d{1,2}(?:[:.]\d\d)? ?(?:am|pm|a\.m\.|p\.m\.|o'clock)|\d{1,2}:\d\d|noon"
                 r"|midnight", re.IGNORECASE)


class _QuestionParts(NamedTuple):
    """As in "When | did | it | open?". ``auxiliary`` is ``None`` if the subject is asked for."""

    tree: Tree
    asking: Sequence[Word]
    auxiliary: Word | None
    subject: Sequence[Word]
    rest: Sequence[Word]


def stated(examples: Sequence[Example]) -> list[str | None]:
    """``None`` for a response that is no short answer, or if no rule applies."""
    asked = [last_question(one.question or "") if is_short(one.response) else ""
             for one in examples]
    said = [one.response if question else "" for one, question in zip(examples, asked, strict=True)]
    return list(map(_statement, PARSER.parse(asked), PARSER.parse(said)))


def _statement(question: Parsed, answer: Parsed) -> str | None:
    if len(question.sentences) != 1 or len(answer.sentences) != 1:
        return None
    asked = _parts(question.sentences[0].tree())
    if asked is None:
        return None
    said = answer.sentences[0].doc.text
    verdict = verdict_of(said)
    if not asked.asking:
        if verdict is not None:
            return _decided(asked, verdict)
        more = _YES_AND.fullmatch(said)  # "Yes, on weekends."
        if more is None or more[1].split()[0].lower() not in _PREPOSITIONS or any(
                token.tag_ in FINITE for token in answer.sentences[0].doc):
            return None
        yes = _decided(asked, "yes")
        return yes and f"{yes[:-1]} {more[1].rstrip('.! ')}."
    if verdict is not None or not has_claim(said):
        return None
    words_of = answer.sentences[0].tree()
    return _filled(asked, words_of) if _is_fragment(words_of) else None


def _is_fragment(tree: Tree) -> bool:
    """Such as "in 1889", but not a sentence, a "no" or an order."""
    first = tree.words[0]
    if tree.asks or first.dep == "cc" or first.tag in ("WP", "WDT", "WRB", "UH") or (
            first.lower in ("no", "not", "none", "yes")) or tree.words[-1].dep == "cc" or (
            first.tag == "VB" and first.dep == "ROOT"):
        return False
    clause = ("nsubj", "nsubjpass", "expl", "csubj", "aux", "auxpass", "neg", "ccomp", "parataxis")
    return not any(word.tag in FINITE or tree.child(word, clause)
                   for word in tree.words if word.dep in ("ROOT", "conj"))


# --- the parts of a question ------------------------------------------------------------------


def _parts(tree: Tree) -> _QuestionParts | None:
    said = list(tree.words)
    while said and (said[-1].dep == "punct" or said[-1].text in "?."):
        said.pop()
    if len(said) < 2 or any(
        word.dep == "neg" or word.text in ",;:"
        or (word.tag in ("WP", "WRB", "WDT") and word.i and tree.words[word.i - 1].dep == "cc")
        for word in said):
        return None
    at = next((n for n, word in enumerate(said) if word.lower in AUXILIARY_VERBS | {"'s"}),
              len(said))
    asking = said[:at]
    if asking and not any(word.lower in _ASKING for word in asking[:2]):
        return None
    if asking and (found := _asked_subject(tree, said)):
        return found
    if at >= len(said) - 1:
        return None
    subject = _subject(tree, said, at)
    if not any(w.tag[:2] in ("NN", "PR", "CD", "VB", "EX") or w.lower in _THIS for w in subject):
        return None
    # "Can I pay by card?" asks about any customer, "Do you like it?" for a taste.
    by_asker = not asking and not {"i", "my"}.isdisjoint(word.lower for word in subject)
    speakers = _ADDRESSED if by_asker else _ADDRESSED | _ASKER.keys()
    if subject[-1].tag == "IN" or any(
            word.lower in speakers for word in (said if by_asker else subject)):
        return None
    asked = _QuestionParts(tree, asking, said[at], subject, said[at + 1 + len(subject) :])
    if said[at].lower not in _DO:
        return asked
    verb = asked.rest[_used_words(asked) - 1] if asked.rest else None
    bare = verb and (verb.tag in ("VB", "VBP", "NN", "JJ", "RB") or verb.lower == past(verb.lower))
    return asked if bare else None


def _asked_subject(tree: Tree, said: Sequence[Word]) -> _QuestionParts | None:
    """As in "Who wrote the book"."""
    head = next((word for word in said if word.dep in ("nsubj", "nsubjpass")
                 and first(tree.below[word.i]) == said[0].i), None)
    if head is None or not any(w.lower in _ASKING for w in tree.members(tree.below[head.i])):
        return None
    size = tree.below[head.i].bit_count()
    if size == len(said):
        return None
    verb, after = said[size], said[size + 1] if size + 1 < len(said) else None
    turned = after is not None and verb.lower in AUXILIARY_VERBS and (
        after.tag in ("PRP", "PRP$", "DT") or (verb.lemma == "be" and verb.dep == "ROOT"
                                               and after.tag[:2] == "NN"))
    if turned or verb.tag not in FINITE or verb.lower in _DO:
        return None  # "Who was the director?", "Which city was he born in?"
    return _QuestionParts(tree, said[:size], None, (), said[size:])


def _subject(tree: Tree, said: Sequence[Word], at: int) -> list[Word]:
    """The subject after the auxiliary ``said[at]``; empty if none is found."""
    start = said[at].i + 1
    with_do = said[at].lower in _DO
    rest = bits_of(said[at + 1 :])  # the parser may take the auxiliary for a part of the subject
    head = next((word for word in said[at + 1 :] if first(tree.below[word.i] & rest) == start
                 and word.dep in ("nsubj", "nsubjpass", "attr", "expl")), None)
    if head is None:
        verb = next((n for n, word in enumerate(said) if n > at + 1 and word.tag == "VB"
                     and said[n - 1].lower != "to"), 0)
        return list(said[at + 1 : verb]) if with_do and verb else []
    bits = tree.below[head.i] & rest
    for child in tree.children[head.i]:
        if (said[at].lemma == "be" and said[at].dep == "ROOT" and child.i > head.i
                and _is_predicate(tree, child, said, at)):
            bits &= ~tree.below[child.i]  # "Was the tower built in 1889": no "tower built"
    if at == 0 and said[at].dep == "ROOT" and bits == rest:
        # "Is the inn in Rome": nothing would be left to say of it
        last = next((child for child in reversed(tree.children[head.i]) if child.i > head.i), None)
        bits &= ~tree.below[last.i] if last else ~0
    after = said[head.i + 1 - said[0].i :]
    if with_do and head.tag == "NN" and head.i > start + (said[at + 1].tag == "DT") and not any(
            word.tag[:2] == "VB" for word in said[at + 1 :]) and (
            not after or after[0].tag == "IN"):
        bits &= (1 << head.i) - 1  # "does a ticket cost": "ticket cost" is no noun phrase
    words = tree.members(bits)
    return words if [w.i for w in words] == list(range(start, start + len(words))) else []


def _is_predicate(tree: Tree, word: Word, said: Sequence[Word], at: int) -> bool:
    """In "Was the tower built in 1889", "built" is the predicate, and no part of the subject."""
    below = tree.below[word.i]
    if word.dep not in ("acl", "amod") or word.tag not in ("VBN", "VBG", "JJ") or (
            below.bit_length() != said[-1].i + 1):
        return False
    adverbial = at == 0 or said[0].lower in ("when", "where", "how")
    return adverbial or below.bit_count() == 1 or (
        said[-1].tag == "IN" and not tree.children[said[-1].i])


# --- statements -------------------------------------------------------------------------------


def _decided(asked: _QuestionParts, verdict: YesNo) -> str | None:
    """The answer "No." to "Did it open?" → "It did not open"."""
    lower = {word.lower for word in (*asked.subject, *asked.rest)}
    if asked.auxiliary is None or not asked.rest or "or" in lower or (
            verdict == "yes" and lower & _UNSURE):
        return None
    verbs, used = ((_verbs(asked), _used_words(asked)) if verdict == "yes"
                   else ([expand(asked.tree, asked.auxiliary), "not"], 0))
    return _sentence(asked, [*verbs, *(word.text for word in asked.rest[used:])])


def _used_words(asked: _QuestionParts) -> int:
    """How many words of ``rest`` :func:`_verbs` gives: two for "did it also open"."""
    if asked.auxiliary is None or asked.auxiliary.lower not in _DO:
        return 0
    return next((n for n, word in enumerate(asked.rest) if word.lower not in _ADVERBS), 0) + 1


def _verbs(asked: _QuestionParts) -> list[str]:
    """As in "did it also open" → ["also", "opened"], "is it open" → ["is"]."""
    front = asked.auxiliary
    assert front is not None
    if front.lower not in _DO:
        return [expand(asked.tree, front)]
    *adverbs, verb = asked.rest[: _used_words(asked)]
    forms: dict[str, Callable[[str], str]] = {"did": past, "does": third, "do": str}
    return [*(word.text for word in adverbs), forms[front.lower](verb.lower)]


def _sentence(asked: _QuestionParts, said: Sequence[str]) -> str:
    text = " ".join(" ".join([spell(asked.tree, asked.subject), *said]).split())
    if not {"i", "my"}.isdisjoint(word.lower for word in asked.subject):
        text = _OF_ASKER.sub(lambda word: _ASKER[word[0].lower()], text)
    text = re.sub(r" (['’](?:s|re|ve|ll)?\b|,)", r"\1", text).replace(" - ", "-")
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _filled(asked: _QuestionParts, answer: Tree) -> str | None:
    """The answer "1889" to "When did it open?" → "It opened in 1889"."""
    text = _inside(answer)
    wh = next(word for word in asked.asking if word.lower in _ASKING)
    kind = " ".join(word.lower for word in asked.asking)
    if wh.lower == "how" and not re.match(
            r"how (?:many|much|long|old|tall|high|deep|wide|big|heavy|large|often)\b", kind):
        return None
    if kind.startswith(("how many", "how much", "what percentage", "what proportion")):
        text = _counted(asked, answer, text)
    if asked.auxiliary is None:
        return _sentence(asked, [text, *(word.text for word in asked.rest)])
    if not asked.rest:
        return _copula(asked, kind, text)
    if asked.rest[0].lower == "do" or any(
            word.dep in ("nsubj", "nsubjpass") for word in asked.rest[_used_words(asked) :]):
        return None
    place, text = _place(asked, wh, kind, text)
    if place is None:
        return None
    done, rest = _used_words(asked), [word.text for word in asked.rest]
    return _sentence(asked, [*_verbs(asked), *rest[done:place], text, *rest[max(done, place):]])


def _inside(answer: Tree) -> str:
    """As in "The red one." → "the red one"."""
    members = [word for word in answer.words if word.i or word.text not in "-–—•*,;:"]
    while members and members[-1].text in (".", "!", ";", ","):
        members.pop()
    first = members[0] if members else answer.words[0]
    text = "".join(word.text + " " * word.blank for word in members).strip()
    plain = first.text[1:].islower() or first.text == "A"
    if plain and (answer.raised or first.tag in ("DT", "IN", "CD", "RB", "PRP$")):
        return text[:1].lower() + text[1:]
    return text


def _counted(asked: _QuestionParts, answer: Tree, text: str) -> str:
    """The answer "12" to "how many rooms" → "12 rooms"."""
    if any((word.tag[:2] == "NN" and word.text != "%") or word.text in "$€£"
           for word in answer.words):
        return text
    return " ".join([text, *(word.text for word in asked.asking[2:])])


def _copula(asked: _QuestionParts, kind: str, text: str) -> str:
    """As in "How tall is the tower"."""
    if kind.startswith("when") or (kind.split()[-1] in _TIMES and len(kind.split()) > 1):
        text = _dated(text)
    elif kind == "where" and text.split()[0].lower() not in _PREPOSITIONS | {"here", "there"}:
        text = f"in {text}"
    elif kind.startswith("how ") and kind.split()[1] not in ("many", "much", "often"):
        scale = kind.split()[1]
        said = text.lower().split()
        if scale == "old" and re.fullmatch(r"\d+|[a-z]+(?:-[a-z]+)?", text.lower()):
            text += " years old"
        elif scale not in said and scale not in ("big", "large", "heavy"):
            text += f" {scale}"
    return _sentence(asked, [*_verbs(asked), text])


def _place(asked: _QuestionParts, wh: Word, kind: str, text: str) -> tuple[int | None, str]:
    """How many words of ``rest`` come before the answer (``None`` if no rule applies), and the
    answer's text with a preposition ("1889" → "in 1889")."""
    end, done = len(asked.rest), _used_words(asked)
    first = text.split()[0].lower()
    head = asked.tree.words[asked.asking[-1].head]
    if kind.startswith("when") or asked.asking[-1].lower in _TIMES:
        return end, _dated(text)
    fronted = asked.asking[0].lower
    if fronted in _PREPOSITIONS:
        return end, text if first in _PREPOSITIONS else f"{fronted} {text}"
    if any(word.tag == "IN" and not asked.tree.child(word, ("pobj", "pcomp"))
           for word in asked.rest):
        # If words follow the preposition, the parse may lack the preposition's object.
        return end if asked.rest[-1].tag == "IN" else None, text
    if wh.lower == "where":
        to = "to" if asked.rest[max(done, 1) - 1].lemma in _MOTION else "in"
        known = first in _PREPOSITIONS | words("here there home abroad")
        return end, text if known else f"{to} {text}"
    if kind.startswith("how long"):
        bare = asked.rest[0].lower in _LASTING or first in _PREPOSITIONS
        return end, text if bare else f"for {text}"
    if first in _PREPOSITIONS - words("over about around under between") or (kind.startswith(
            "how") and "many" not in kind and "much" not in kind):
        return None, text
    verb = next((n for n, word in enumerate(asked.rest) if word.i == head.i), None)
    if verb is None and not (done or asked.rest[0].tag[:2] == "VB"):
        return None, text
    at = max(done, 1) if verb is None else verb + 1
    while at < end and asked.rest[at].dep in ("prt", "dative"):
        at += 1
    # "What did it end up having": the parse has the wrong verb.
    astray = at < end and asked.rest[at].tag in ("VB", "VBG")
    return None if astray or asked.rest[at - 1].lower == "do" else at, text


def _dated(text: str) -> str:
    """As in "1889" → "in 1889", "4 May" → "on 4 May"."""
    if _IN.fullmatch(text):
        return f"in {text}"
    return f"at {text}" if _AT.fullmatch(text) else f"on {text}" if _ON.fullmatch(text) else text
