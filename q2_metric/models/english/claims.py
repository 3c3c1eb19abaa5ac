"""Finds the claims of a response from its parse: parts that can be true or false by themselves.

A sentence is cut into parts that can be judged alone. Each part gets the subject that it shares
with another part. Cuts are made at coordinated clauses. They are also made at relative clauses and
appositions that add something to a name. Frames ("I do know that ...") are removed
(:mod:`q2_metric.text.frames`). Chat, feelings and questions claim nothing. Reported speech,
conditions, alternatives and denials are not cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from q2_metric.models.english.answers import EnglishAnswers
from q2_metric.models.english.clauses import clause_of, finite_clause, is_negated
from q2_metric.models.english.parser import Parsed, ParsedSentence, Parser, default_parser
from q2_metric.models.english.phrases import core, is_aside, spell
from q2_metric.models.english.speakers import is_liking, is_opinion, is_personal
from q2_metric.models.english.tree import Tree, Word, is_verb
from q2_metric.models.english.verbs import is_finite_clause
from q2_metric.models.english.vocabulary import (
    AUXILIARIES,
    EITHER,
    KNOWING,
    PASTS,
    PRESUPPOSING,
    SPEAKING,
    STATING,
    SUBJECTS,
    SURE,
    TEXTS,
)
from q2_metric.text.answers import decides
from q2_metric.text.claims import has_claim
from q2_metric.text.frames import ending, frame, is_framed, presents
from q2_metric.text.lists import Item, items
from q2_metric.types import Claim, ClaimKind, Example

_EDGES = frozenset(",;:.-–—")
"""Marks at the edges of a clause that are not part of the clause."""
_CLOSING = frozenset([",", ")", ";", "–", "—", "-"])
"""Marks that may follow the place where words were cut out of a sentence."""
_HOW = frozenset("if whether why how what who where when".split())
"""Words that begin an indirect question or a free relative clause. Such a clause states nothing."""
_OBJECTS = ("dobj", "agent")
"""Dependencies of a verb's object and agent, without which the verb's meaning changes."""


class _Kind(IntEnum):
    """What a claim is about. If a response has claims of several kinds, only those of the first
    kind in this order are judged."""

    FACT = 0
    OPINION = 1
    PERSONAL = 2
    """About the speakers: "i have two cats". Also a claim that only announces other text."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part that a sentence is cut into.

    ``head`` is the verb of a clause, or the noun of an apposition. ``is_frame`` is true if the part
    only introduces another part ("i know that"), so that it is no claim.
    """

    head: Word
    kind: ClaimKind
    is_frame: bool = False


class EnglishClaims:
    """Finds the claims of responses by rules over the parse.

    Args:
        parser: parses the responses.
    """

    name = "english-3"

    def __init__(self, parser: Parser | None = None) -> None:
        self.parser = parser or default_parser()
        self.answers = EnglishAnswers(self.parser)

    def find(self, examples: Sequence[Example]) -> list[list[Claim]]:
        """The claims of each response, in order; an empty list if a response claims nothing."""
        parses = self.parser.parse(
            [example.response for example in examples],
            [example.knowledge for example in examples],
        )
        return [
            [Claim(said, *_bounds(example.response), "answer")] if said
            else [] if decides(example.response, example.question)
            else list(_claims(example, parsed))
            for example, parsed, said in zip(
                examples, parses, self.answers.stated(examples), strict=True)
        ]


def _claims(example: Example, parsed: Parsed) -> Iterator[Claim]:
    """The claims of a response: those of the first kind (:class:`_Kind`) that occurs in it. If
    there are none, the whole response is the claim."""
    listed = items(example.response)
    starts = [item.start for item in listed]
    found: list[tuple[Claim, _Kind]] = []
    begun: set[int] = set()
    for sentence in parsed.sentences:
        start, _ = parsed.place(sentence, sentence.doc[:])
        at = bisect_right(starts, start) - 1
        new: list[tuple[Claim, _Kind]] = []
        if at >= 0 and start < listed[at].end:
            if starts[at] >= start or starts[at] not in begun:
                new = _of_item(listed[at])
        elif has_claim(sentence.doc.text, example.history):
            new = _of_sentence(parsed, sentence)
        found += new
        begun |= {claim.start for claim, _ in new}
    claimed = [(claim, max(kind, _Kind.PERSONAL * presents(claim.text)))
               for claim, kind in found if has_claim(claim.text)]
    first = min((kind for _, kind in claimed), default=None)
    whole = Claim(example.response.strip(), *_bounds(example.response))
    yield from [claim for claim, kind in claimed if kind == first] or [whole]


def _bounds(text: str) -> tuple[int, int]:
    """The character offsets (start, end) of a text without the blanks at both ends."""
    start = len(text) - len(text.lstrip())
    return start, start + len(text.strip())


def _of_item(item: Item) -> list[tuple[Claim, _Kind]]:
    return [(Claim(text, start, end, item.kind), _Kind.FACT) for text, start, end in item.claims]


def _of_sentence(parsed: Parsed, sentence: ParsedSentence) -> list[tuple[Claim, _Kind]]:
    """The claims of a sentence with their kinds."""
    tree = Tree(sentence.doc, sentence.raised)
    parts = _parts(tree)
    heads = [part.head.i for part in parts]
    found = []
    for part in parts:
        if part.is_frame:
            continue
        bits = tree.below[part.head.i]
        for other in heads:
            if other != part.head.i and bits >> other & 1:
                bits &= ~tree.below[other]
        words = tree.words if len(parts) == 1 else _trimmed(tree.members(bits))
        if words:
            first, last = words[0].i, words[-1].i
            place = parsed.place(sentence, sentence.doc[first : last + 1])
            claim = (Claim(sentence.doc.text, *place) if len(parts) == 1
                     else Claim(_text(tree, part, words), *place, part.kind))
            shorter = _unframed(parsed, sentence.start + sentence.doc[first].idx, claim)
            framed = shorter != claim and is_framed(claim.text)
            personal = shorter.text.split()[0].lower() in ("i", "my") if framed else (
                is_personal(tree, part.head, coordinated=part.kind == "clause"))
            kind = (_Kind.OPINION if is_opinion(tree, part.head, words) else
                    _Kind.PERSONAL if personal else _Kind.FACT)
            found.append((shorter, kind))
    return found


def _unframed(parsed: Parsed, start: int, claim: Claim) -> Claim:
    """The claim without its frame: "I do know that bees fly" → "Bees fly".

    Args:
        parsed: the response.
        start: the claim's first character in the repaired text of the response.
        claim: the claim with its frame.
    """
    text = claim.text
    cut, end = frame(text), ending(text)
    rest = text[cut:end]
    if claim.kind not in ("sentence", "clause") or rest == text or not has_claim(rest):
        return claim
    place, _ = parsed.repaired.to_original(start + cut, start + cut + 1)
    told = rest[:1].upper() + rest[1:].removesuffix("?")
    return replace(claim, text=told + "." * (rest.endswith("?") or end < len(text)),
                   start=min(place, claim.end - 1), end=_end(parsed, claim))


def _end(parsed: Parsed, claim: Claim) -> int:
    """The character offset where a claim ends in the response, before a frame such as ", I think".
    """
    bounds = parsed.repaired.from_original(claim.start, claim.end)
    if bounds is None:
        return claim.end
    start, end = bounds
    kept = ending(parsed.repaired.text[start:end])
    return parsed.repaired.to_original(start, start + kept)[1] if start + kept < end else claim.end


# --- the parts of a sentence ------------------------------------------------------------------


def _parts(tree: Tree) -> list[_Part]:
    """The parts of a sentence in order. A sentence that is not cut has one part."""
    found = {word.i: _Part(word, "clause") for word in tree.words if word.dep == "ROOT"}
    _add_clauses(tree, found)
    for i in list(found):
        _open_frames(tree, tree.words[i], found)
    _add_clauses(tree, found)
    for word in tree.words:
        if word.i not in found and _adds_claim(tree, word):
            kind: ClaimKind = "apposition" if word.dep == "appos" else "relative"
            found[word.i] = _Part(word, kind, is_frame=is_liking(tree, word))
    return [found[i] for i in sorted(found)]


def _add_clauses(tree: Tree, found: dict[int, _Part]) -> None:
    """Adds to ``found`` the clauses that are coordinated with a clause in it.

    Examples are "…, and it opened in 1962" and "… and allows pets". The keys of ``found`` are the
    positions of the clauses' verbs.
    """
    for word in tree.words:
        if (word.i not in found and word.head in found and _stands_beside(tree, word)
                and is_finite_clause(tree, word)
                and (tree.child(word, SUBJECTS | {"expl"}) or _shares_subject(tree, word))):
            found[word.i] = _Part(word, "clause")


def _stands_beside(tree: Tree, verb: Word) -> bool:
    """Whether a verb's clause stands beside the clause of its head, and is claimed by itself.

    This is not so for a clause that the head reports ("it opened, the mayor said"), nor for an
    alternative ("it opened or closed").
    """
    head = tree.words[verb.head]
    if verb.dep == "conj":
        return not {c.lower for c in tree.children[head.i] if c.dep in ("cc", "preconj")} & EITHER
    run_on = verb.dep == "parataxis" or (verb.dep == "ccomp" and verb.i < head.i)
    return run_on and not {verb.lemma, head.lemma} & SPEAKING


def _shares_subject(tree: Tree, verb: Word) -> bool:
    """Whether a coordinated verb has the subject of the verb before it and can be a claim alone.

    The second verb cannot be a claim alone if the first verb is denied, or if both verbs may
    have the same object ("wrote and directed the film").
    """
    first = tree.words[verb.head]
    return (is_verb(verb) and not is_negated(tree, first) and not _shares_object(tree, first, verb)
            and finite_clause(tree, verb) is not None)


def _shares_object(tree: Tree, first: Word, verb: Word) -> bool:
    """Whether two verbs may share an object after the second verb: "wrote and directed the film".

    A cut would separate the first verb from its object.
    """
    between = tree.words[first.i + 1 : verb.i]
    own = tree.below[verb.i]
    return (tree.child(verb, AUXILIARIES) is None
            and any(child.i > verb.i and child.dep in _OBJECTS for child in tree.children[verb.i])
            and all(word.dep in ("cc", "punct") or own >> word.i & 1 for word in between))


def _open_frames(tree: Tree, verb: Word, found: dict[int, _Part]) -> None:
    """Marks ``verb`` as a frame in ``found`` if it only introduces a clause, and adds that clause.

    In "i know that it is red", "know" becomes a frame, and the clause of "is" is added. This is
    repeated if the clause is a frame itself.
    """
    inner = _verb_in_frame(tree, verb)
    while inner is not None:
        found[verb.i] = replace(found[verb.i], is_frame=True)
        found[inner.i] = _Part(inner, "clause")
        verb, inner = inner, _verb_in_frame(tree, inner)


def _verb_in_frame(tree: Tree, verb: Word) -> Word | None:
    """The verb of the clause that ``verb`` only introduces.

    For "know" in "i know that it is red", the result is "is". ``None`` if ``verb`` introduces no
    clause, or if it does more than introduce a clause ("the mayor said that it is red").
    """
    subject, state = tree.child(verb, SUBJECTS | {"expl"}), tree.child(verb, ("acomp",))
    inner = [child for child in (*tree.children[verb.i], *(tree.children[state.i] if state else ()))
             if child.dep == "ccomp" and child.i > verb.i and is_finite_clause(tree, child)]
    if subject is None or not inner:
        return None
    denied = tree.child(verb, ("neg",)) is not None
    if subject.lower in ("i", "we", "you"):
        unsaid = denied and verb.lemma not in PRESUPPOSING - {"believe", "hear", "see"} and not any(
            child.lower in ("ca", "can", "could") for child in tree.children[verb.i])
        frames = (state.lemma in SURE and not denied if state else
                  verb.lemma in KNOWING and not unsaid)
    elif subject.lemma in TEXTS:
        frames = verb.lemma in STATING and not denied
    else:
        frames = bool(subject.lower == "it" and state and state.lemma == "true" and not denied)
    opener = next((c for c in tree.children[inner[0].i] if c.i < inner[0].i and c.lower in _HOW),
                  None)
    return inner[0] if frames and opener is None else None


def _adds_claim(tree: Tree, word: Word) -> bool:
    """Whether ``word`` heads a relative clause or an apposition that makes a claim about a noun.

    Such a clause follows a comma, a bracket or a dash: "the inn, which opened in 1962". Without
    such a mark, the clause says which thing is meant.
    """
    noun = tree.words[word.head]
    if word.dep == "appos":
        return (is_aside(tree, word) and word.tag == "NN" and noun.tag[:3] == "NNP"
                and bool(tree.children[word.i]))
    if word.dep not in ("relcl", "acl") or noun.tag[:2] not in ("NN", "CD"):
        return False
    first = (tree.below[word.i] & -tree.below[word.i]).bit_length() - 1
    if first == 0 or tree.words[first - 1].text not in (",", "(", "-", "–", "—"):
        return False
    if any(child.tag == "WRB" for child in tree.children[word.i]):
        return False
    clause = clause_of(tree, word)
    return is_liking(tree, word) or (clause is not None and bool(clause.subject))


# --- the words of a claim ---------------------------------------------------------------------


def _text(tree: Tree, part: _Part, words: Sequence[Word]) -> str:
    """The text of a claim, with the subject and auxiliary that another part of the sentence has.

    "allows pets" in "it has rooms and allows pets" → "It allows pets."
    """
    if part.kind == "apposition":
        noun = tree.words[part.head.head]
        return _sentence(f"{spell(tree, core(tree, noun))} is {_joined(words)}")
    clause = clause_of(tree, part.head) if is_verb(part.head) else None
    borrows = part.kind == "relative" or not tree.child(part.head, SUBJECTS | {"expl"})
    if clause is None or not clause.subject or not borrows:
        return _sentence(_joined(words))
    said = [word for word in words if not clause.subject_bits >> word.i & 1]
    finite = clause.auxiliary_bits or part.head.lower in PASTS
    auxiliary = "" if finite else clause.auxiliary
    return _sentence(" ".join(filter(None, (clause.subject, auxiliary, _joined(said)))))


def _trimmed(words: Sequence[Word]) -> list[Word]:
    """The words without conjunctions and punctuation marks at both ends."""
    kept = list(words)
    while kept and (kept[0].dep in ("cc", "mark", "punct") or kept[0].text in _EDGES):
        kept.pop(0)
    while kept and (kept[-1].dep == "cc" or kept[-1].text in _EDGES):
        kept.pop()
    return kept


def _joined(words: Sequence[Word]) -> str:
    """Joins words as they are written in the sentence.

    Where words are left out in between, one blank separates the others, and the commas and brackets
    around the gap are dropped.
    """
    text, last = "", words[0].i - 1
    for word in words:
        gap = word.i != last + 1
        if gap:
            text = text.rstrip(" ,;(–—-")
            if word.text in _CLOSING:
                last = word.i
                text += " "
                continue
        text += (" " if gap and not text.endswith(" ") else "") + word.text + " " * word.blank
        last = word.i
    return " ".join(text.split())


def _sentence(text: str) -> str:
    """The text with a capital at the start and a full stop at the end. A question mark is removed.
    """
    text = text.strip(" ,;?")
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!")) else ".")
