"""Makes questions that have no answer although they are similar to an answered question.

They are training data for the reader's fourth stage. Each variant is made from a generated question
whose answer is in the text. Three kinds of variants have no answer: the question about another
subject, the question with a false premise (a word or number is changed), and the same question for
a text from which the answer was removed. For contrast, other variants keep the answer: a looser
date, a synonym or a pronoun in the question.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from q2_metric.text.normalise import normalise
from tools.training.asked import find
from tools.training.corrupt import Replacements, other_number
from tools.training.entailment_data import Surroundings, opposite
from tools.training.examples import TrainingExample
from tools.training.synthetic import SYNONYMS, loosen

CONTENT = ("NN", "NNS", "VB", "VBD", "VBN", "VBZ", "VBP", "JJ", "JJS")
_WEAK = frozenset(
    "be have do make take get give go come use call name include know see other such many several "
    "own same different new first more most main part type kind number time year thing one two "
    "three people person way form place".split())
"""Lemmas that are not replaced. They have so little meaning that the question might stay the same.
"""
_COUNTED = ("DATE", "CARDINAL", "QUANTITY", "ORDINAL", "PERCENT", "MONEY", "TIME")
_PERIOD = re.compile(r"(?:(early|mid|late) )?(?:the )?(1\d|20)(\d)0 ?'? ?s\b")
_CENTURY = re.compile(r"\b(1\d|20|21)(?:th|st) century\b")
_YEAR = re.compile(r"\b(1\d\d\d|20[0-2]\d)\b(?! ?'? ?s\b)")
_DATE = re.compile(r"(?:\b[A-Z][a-z]+\.? \d{1,2} ?, ?|\b\d{1,2} [A-Z][a-z]+ |\b[A-Z][a-z]{2,8} )?"
                   r"\b(?:1\d\d\d|20[0-2]\d)\b")
_MONTHS = frozenset("january february march april may june july august september october november "
                    "december jan feb mar apr jun jul aug sep sept oct nov dec".split())
_RELATED = ("appos", "conj", "compound", "nmod")


def implied(text: str, words: str) -> tuple[int, int] | None:
    """The character range of the date in ``text`` that lies in the year, decade or century that
    ``words`` name.

    ``None`` if ``text`` contains no such date, or several.
    """
    said = words.lower()
    decade, century, year = _PERIOD.search(said), _CENTURY.search(said), _YEAR.search(said)
    if decade:
        first, years = int(decade.group(2) + decade.group(3) + "0"), 10
    elif century:
        first, years = (int(century.group(1)) - 1) * 100 + 1, 100
    elif year:
        first, years = int(year.group(1)), 1
    else:
        return None
    found = [m for m in _YEAR.finditer(text) if first <= int(m.group(1)) < first + years]
    if len(found) != 1:
        return None
    for date in _DATE.finditer(text):
        if date.end() == found[0].end():
            word = re.match(r"[A-Za-z]+", date.group().lstrip("0123456789 "))
            if word is None or word.group().lower() in _MONTHS:
                return date.span()
    return found[0].span()


@dataclass(slots=True)
class Contrasts:
    """Makes variants of answered questions.

    - ``texts``, ``asked``: spaCy's parses of the texts and of the questions, by text.
    - ``pool``: names and words that can replace those of a question.
    - ``passages``: by text, the longer passage that contains it.
    - ``rng``: random numbers.
    - ``around``: adds parts of the passage to a text.
    - ``names``: by passage, the named entities in it.
    """

    texts: Mapping[str, Any]
    asked: Mapping[str, Any]
    pool: Replacements
    passages: Mapping[str, str]
    rng: random.Random
    around: Surroundings = field(init=False)
    names: dict[str, list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.around = Surroundings(self.passages, share=0.35, words=60)
        self.names = {}
        for text, doc in self.texts.items():
            self.names.setdefault(self.passages.get(text, text), []).extend(doc.ents)

    def of(self, example: TrainingExample) -> Iterator[TrainingExample]:
        """Yields the variants of an answered question: at most one of each kind."""
        for source, make in (("changed_subject", self.subject), ("false_premise", self.premise),
                             ("reworded", self.reworded)):
            query = make(example)
            if query is not None and normalise(query) != normalise(example.query):
                target = example.target if source == "reworded" else None
                yield self.surrounded(TrainingExample(query, example.text, target, source))
        text = self.without(example)
        if text is not None:
            yield TrainingExample(example.query, text, None, "lacking_detail")

    def surrounded(self, example: TrainingExample) -> TrainingExample:
        """The example, often with a part of the passage added around its text.

        The character range of the answer is adapted.
        """
        wide = self.around(example, self.rng)
        shift = wide.text.index(example.text)
        target = example.target and (example.target[0] + shift, example.target[1] + shift)
        return TrainingExample(example.query, wide.text, target, example.source)

    def subject(self, example: TrainingExample) -> str | None:
        """The question with a name replaced by another name of the same type, often from the same
        passage. If it has no name, a noun phrase is replaced. ``None`` if neither is possible."""
        doc, answer = self.texts[example.text], example.text[slice(*example.target)]
        names = [e for e in doc.ents if e.label_ not in _COUNTED and find(example.query, e.text)]
        if not names:
            return self._other_thing(example, doc, answer)
        name = self.rng.choice(names)
        near = [other for other in self.names[self.passages.get(example.text, example.text)]
                if other.label_ == name.label_ and _apart(name, other)]
        if near and self.rng.random() < 0.7:
            new = self.rng.choice(near).text
        else:
            new = self.rng.choice(self.pool.entities[name.label_])
            if find(example.text, new):
                return None
        return self._put(example.query, name.text, new, answer)

    def _other_thing(self, example: TrainingExample, doc: Any, answer: str) -> str | None:
        """The question with a noun phrase replaced by another noun phrase of the text ``doc``.

        ``answer`` is the answer's text, which must not be used. ``None`` if nothing fits.
        """
        phrases = [c for c in doc.noun_chunks if c.root.pos_ == "NOUN" and len(c) <= 5]
        places = [c for c in phrases if find(example.query, c.root.text)
                  and c.root.lemma_ not in _WEAK]
        if not places:
            return None
        place = self.rng.choice(places)
        others = [c for c in phrases if c.root.tag_ == place.root.tag_ and _apart(place, c)
                  and not find(example.query, c.root.text)]
        if not others:
            return None
        whole = find(example.query, place.text) is not None
        other = self.rng.choice(others)
        return self._put(example.query, place.text if whole else place.root.text,
                         other.text if whole else other.root.text, answer)

    def premise(self, example: TrainingExample) -> str | None:
        """The question with a false premise: a number is changed, or a word is replaced by its
        opposite or by another word of the same part of speech. ``None`` if nothing fits."""
        query, answer = example.query, example.text[slice(*example.target)]
        if self.rng.random() < 0.5:
            changed = (loosen(query, self.rng, wrong=True) if self.rng.random() < 0.5
                       else other_number(query, self.rng))
            changed = changed or opposite(example.text, query, self.rng)
            if changed is not None:
                return changed if _new(query, changed, example.text) else None
        known = {t.lemma_ for t in self.texts[example.text]}
        places = [t for t in self.asked[query] if t.tag_ in CONTENT and t.is_alpha
                  and t.lemma_ not in _WEAK and t.lemma_ in known and not t.ent_type_]
        if not places:
            return None
        place = self.rng.choice(places)
        own = [t.text for t in self.texts[example.text] if t.tag_ == place.tag_
               and t.i != place.i and abs(t.idx - example.target[0]) > 1]
        near = bool(own) and self.rng.random() < 0.4
        new = self.rng.choice(own if near else self.pool.words[place.tag_])
        if (new[:4].lower() == place.text[:4].lower() or SYNONYMS.get(place.lower_) == new
                or (not near and find(example.text, new)) or find(query, new)):
            return None
        return self._put(query, place.text, new, answer)

    def reworded(self, example: TrainingExample) -> str | None:
        """The question with a looser date or count, a synonym, or a pronoun in place of a name. The
        answer stays the same. ``None`` if nothing fits."""
        query = example.query
        loose = loosen(query, self.rng)
        if loose is not None and not loose.startswith(("over", "more")):
            return loose
        words = [w for w in SYNONYMS if find(query, w)]
        if words:
            word = self.rng.choice(words)
            return self._put(query, word, SYNONYMS[word], "")
        doc = self.texts[example.text]
        people = [e for e in doc.ents if e.label_ == "PERSON" and find(query, e.text)]
        if len(people) == 1 and not re.search(  # "of he" and "he's" mean something else
                rf"{re.escape(people[0].text)} ?(?:['’?])", query, re.IGNORECASE):
            return self._put(query, people[0].text, self.rng.choice(("he", "she")), "")
        return None

    def without(self, example: TrainingExample) -> str | None:
        """A text that no longer answers the question: the text without the phrase that contains the
        answer, or the passage without the text. ``None`` if nothing fits."""
        answer = example.text[slice(*example.target)]
        if len(example.query.split()) < 5:
            return None  # "what is it ?" is answered by any text
        passage = self.passages.get(example.text)
        left = None
        if passage is not None and self.rng.random() < 0.5:
            start = passage.index(example.text)
            before, after = passage[:start].split(), passage[start + len(example.text):].split()
            room = self.rng.randint(15, 70)
            parts = [" ".join(before[-room:]), " ".join(after[:room])]
            left = " ".join(p for p in parts if p) if self.rng.random() < 0.5 else max(
                parts, key=len)
        left = left or self._phrase_out(example)
        if left is None or len(left.split()) < 5:
            return None
        last = normalise(answer).split()
        return None if find(left, answer) or (last and find(left, last[-1])) else left

    def _phrase_out(self, example: TrainingExample) -> str | None:
        """The text without the smallest phrase that contains the answer and can be left out.

        ``None`` if there is no such phrase.
        """
        doc = self.texts[example.text]
        held = doc.char_span(*example.target, alignment_mode="expand")
        if held is None:
            return None
        word = held.root
        while word.dep_ not in ("prep", "appos", "relcl", "acl", "npadvmod", "advcl", "ROOT"):
            word = word.head
        cut = {t.i for t in word.subtree}
        if word.dep_ == "ROOT" or not all(t.i in cut for t in held) or len(cut) > 0.7 * len(doc):
            return None
        kept = "".join(t.text_with_ws for t in doc if t.i not in cut)
        return re.sub(r"\s+([,.;])", r"\1", re.sub(r",\s*(?=[,.])", "", kept)).strip()

    def _put(self, query: str, old: str, new: str, answer: str) -> str | None:
        """The question with ``old`` replaced by ``new``, in the same case.

        ``None`` if ``old`` does not occur, if ``new`` shares a word with the answer, or if ``new``
        already occurs in the question.
        """
        place = find(query, old)
        if place is None or (answer and _overlap(new, answer)):
            return None
        if query[slice(*place)].islower():
            new = new.lower()
        if re.search(r"\bthe $", query[: place[0]]):
            new = re.sub(r"^the ", "", new, flags=re.IGNORECASE)
        if find(query, new):
            return None
        return query[: place[0]] + new + query[place[1]:]


def _overlap(one: str, other: str) -> bool:
    return bool(set(normalise(one).split()) & set(normalise(other).split()))


def _new(query: str, changed: str, text: str) -> bool:
    """Whether ``changed`` has a word that occurs neither in the question ``query`` nor in ``text``.
    """
    added = set(re.findall(r"\w+", changed.lower())) - set(re.findall(r"\w+", query.lower()))
    return bool(added) and not all(find(text, word) for word in added)


def _apart(one: Any, other: Any) -> bool:
    """Whether two phrases surely name different things: they share no word, and neither is an
    apposition, a part or a list item beside the other."""
    if _overlap(one.text, other.text):
        return False
    if one.doc is not other.doc:
        return True
    if other.root in one.root.conjuncts or one.root.dep_ in _RELATED or other.root.dep_ in _RELATED:
        return False
    return other.root not in set(one.root.subtree) and one.root not in set(other.root.subtree)


def appositions(docs: Iterable[Any]) -> list[TrainingExample]:
    """Makes supported pairs from appositions in parsed sentences.

    "Anna, a cook, sings." becomes the claim "Anna is a cook." with the sentence as its premise.
    """
    found = []
    for doc in docs:
        for word in doc:
            if word.dep_ != "appos" or word.head.pos_ not in ("PROPN", "NOUN"):
                continue
            phrase = doc[word.left_edge.i : word.right_edge.i + 1]
            head = doc[word.head.left_edge.i : word.head.i + 1]
            if not 2 <= len(phrase) <= 14 or len(head) > 6 or phrase.start <= head.start:
                continue
            verb = "are" if word.head.tag_ in ("NNS", "NNPS") else "is"
            query = f"{head.text} {verb} {phrase.text.rstrip(' ,')}."
            found.append(TrainingExample(query, doc.text, "supported", "apposition"))
    return found


def variants(
    examples: Sequence[TrainingExample], make: Contrasts
) -> dict[str, list[TrainingExample]]:
    """The variants of all answered questions, by kind. ``make`` makes the variants."""
    found: dict[str, list[TrainingExample]] = {}
    for example in examples:
        for variant in make.of(example):
            found.setdefault(variant.source, []).append(variant)
    return found
