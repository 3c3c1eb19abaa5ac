"""Finds the claims of a response from its parse: parts that can be true or false by themselves. A
sentence is cut at coordinated clauses, and at relative clauses and appositions that add something
to a name. Reported speech, conditions, alternatives and denials are not cut."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from q2_metric.english import lexicon
from q2_metric.english.claims.checkable import decides, has_claim, is_content, read_ahead
from q2_metric.english.claims.frames import ending, frame, is_framed, presents
from q2_metric.english.claims.lists import TITLE, items
from q2_metric.english.claims.statements import stated
from q2_metric.english.parse import clauses
from q2_metric.english.parse.parser import Parsed, ParsedSentence, parse_responses
from q2_metric.english.parse.phrases import core, spell
from q2_metric.english.parse.repair import Repaired
from q2_metric.english.parse.tree import Tree, Word, first, is_verb
from q2_metric.memory import LruCache
from q2_metric.types import Claim, ClaimKind, Example

_EDGES = frozenset(",;:.-–—")
_CLOSING = frozenset([",", ")", ";", "–", "—", "-"])
"""Marks that may follow words which were cut out of a sentence."""
_HOW = lexicon.QUESTION_WORDS - {"whom", "whose", "which"} | {"if", "whether"}
"""They begin an indirect question or a free relative clause, which states nothing."""
_LINE = 2000
"""Characters in which the line below a title is looked for."""
_FOUND: LruCache[Example, list[Claim]] = LruCache(4096, 10_000_000)
"""The claims of responses, which every metric needs."""


class _Kind(IntEnum):
    """If a response has claims of several kinds, only those of the first are judged."""

    FACT = 0
    OPINION = 1
    PERSONAL = 2
    """As in "i have two cats"; also a claim that only announces other text."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A frame ("i know that") only introduces another part, and is no claim."""

    head: Word
    kind: ClaimKind
    is_frame: bool = False


class EnglishClaims:
    """Finds the claims of responses by rules over the parse."""

    name = "english-9"

    def find(self, examples: Sequence[Example]) -> list[list[Claim]]:
        """The claims of each response, in order; an empty list if a response claims nothing."""
        found = {example: _FOUND.get(example) for example in examples}
        new = [example for example, claims in found.items() if claims is None]
        drafts = [_drafted(*one) for one in zip(new, parse_responses(new), strict=True)]
        read_ahead(claim.text for draft in drafts for claim, _ in draft)
        for example, draft, said in zip(new, drafts, stated(new), strict=True):
            claims = ([Claim(said, *_bounds(example.response), "answer")] if said
                      else [] if decides(example.response, example.question)
                      else list(_claims(example, draft)))
            _FOUND.put(example, claims, len(example.response) + len(example.knowledge))
            found[example] = claims
        return [found[example] or [] for example in examples]


def _drafted(example: Example, parsed: Parsed) -> list[tuple[Claim, _Kind]]:
    """Parts of a response that may be claims."""
    listed = items(example.response)
    starts = [item.start for item in listed]
    found: list[tuple[Claim, _Kind]] = []
    used: set[int] = set()
    for sentence in parsed.sentences:
        start, end = parsed.place(sentence, sentence.doc[:])
        at = bisect_right(starts, start) - 1
        if at >= 0 and start < listed[at].end:
            if at not in used:  # an item may have several sentences
                found += [(claim, _Kind.FACT) for claim in listed[at].claims]
            used.add(at)
        elif (not _is_title(example.response, start, end, sentence)
              and has_claim(sentence.doc.text, example.history)):
            found += _of_sentence(parsed, sentence)
    return found


def _claims(example: Example, found: Sequence[tuple[Claim, _Kind]]) -> Iterator[Claim]:
    """If nothing else is claimed, the whole response is the claim."""
    claimed = [(claim, max(kind, _Kind.PERSONAL * presents(claim.text)))
               for claim, kind in found if has_claim(claim.text)]
    first = min((kind for _, kind in claimed), default=None)
    whole = Claim(example.response.strip(), *_bounds(example.response))
    yield from [claim for claim, kind in claimed if kind == first] or [whole]


def _is_title(response: str, start: int, end: int, sentence: ParsedSentence) -> bool:
    """A line of a few words without a verb, above sentences or a list: "Prices"."""
    after = response[end : end + _LINE].lstrip(" \t")
    below = after.strip().partition("\n")[0]
    return (TITLE.fullmatch(response[start:end]) is not None and after.startswith("\n")
            and (below[:1] in ("-", "*", "•", "|") or below.endswith((".", "!", "?", ":")))
            and not any(token.tag_ in lexicon.FINITE for token in sentence.doc))


def _bounds(text: str) -> tuple[int, int]:
    start = len(text) - len(text.lstrip())
    return start, start + len(text.strip())


def _of_sentence(parsed: Parsed, sentence: ParsedSentence) -> list[tuple[Claim, _Kind]]:
    tree = sentence.tree()
    parts = _parts(tree)
    found = []
    for part in parts:
        if part.is_frame:
            continue
        below = tree.below[part.head.i]
        bits = below & ~tree.under(other.head for other in parts
                                   if other is not part and below >> other.head.i & 1)
        words = tree.words if len(parts) == 1 else _trimmed(tree.members(bits), part.head)
        if words:
            tokens = sentence.doc[words[0].i : words[-1].i + 1]
            place = parsed.place(sentence, tokens)
            claim = (Claim(sentence.doc.text, *place) if len(parts) == 1
                     else Claim(_text(tree, part, words), *place, part.kind))
            left, right = (sentence.start + at for at in (tokens.start_char, tokens.end_char))
            shorter = _unframed(parsed.repaired, left, right, claim)
            framed = shorter != claim and is_framed(claim.text)
            personal = shorter.text.split()[0].lower() in ("i", "my") if framed else (
                _is_personal(tree, part.head))
            kind = (_Kind.OPINION if _is_opinion(tree, part.head, words) else
                    _Kind.PERSONAL if personal else _Kind.FACT)
            found.append((shorter, kind))
    return found


def _unframed(repaired: Repaired, left: int, right: int, claim: Claim) -> Claim:
    """As in "I do know that bees fly" → "Bees fly". The claim stands at [left, right) in the
    repaired text."""
    text = claim.text
    cut, end = frame(text), ending(text)
    rest = text[cut:end]
    if rest == text or not has_claim(rest):
        return claim
    start, _ = repaired.to_original(left + cut, left + cut + 1)
    # Before a frame such as ", I think".
    _, stop = repaired.to_original(left, left + ending(repaired.text[left:right]))
    told = rest[:1].upper() + rest[1:].removesuffix("?")
    return replace(claim, text=told + "." * (rest.endswith("?") or end < len(text)),
                   start=min(start, claim.end - 1), end=stop)


# --- the parts of a sentence ------------------------------------------------------------------


def _parts(tree: Tree) -> list[_Part]:
    found = {word.i: _Part(word, "clause") for word in tree.words if word.dep == "ROOT"}
    _add_clauses(tree, found)
    for i in list(found):
        _open_frames(tree, tree.words[i], found)
    _add_clauses(tree, found)
    for word in tree.words:
        if word.i not in found and _adds_claim(tree, word):
            kind: ClaimKind = "apposition" if word.dep == "appos" else "relative"
            found[word.i] = _Part(word, kind, is_frame=_is_liking(tree, word))
    verbs = [part for part in found.values() if is_verb(part.head)]
    if len(verbs) == 1 and all(
            head.dep == "ROOT" and (head.tag != "UH" or head.i > verbs[0].head.i)
            for head in (part.head for part in found.values())):
        return verbs  # the parse ended the sentence at a noun: "from -5 °C | to 30 °C"
    return [found[i] for i in sorted(found)]


def _add_clauses(tree: Tree, found: dict[int, _Part]) -> None:
    """As in "…, and it opened in 1962", "… and allows pets"."""
    for word in tree.words:
        if (word.i not in found and word.head in found and _stands_beside(tree, word)
                and clauses.is_finite_clause(tree, word)
                and (tree.child(word, lexicon.SUBJECTS | {"expl"}) or _shares_subject(tree, word))):
            found[word.i] = _Part(word, "clause")


def _stands_beside(tree: Tree, verb: Word) -> bool:
    """Not a clause that its head reports ("it opened, the mayor said"), nor an alternative, nor one
    under a condition that it has ("… and if you agree") or shares ("if it rains, we stay and
    read")."""
    head = tree.words[verb.head]
    if verb.dep == "conj":
        joins = {c.lower for c in tree.children[head.i] if c.dep in ("cc", "preconj")}
        own = {child.lower for child in tree.children[verb.i] if child.dep == "mark"}
        return not joins & lexicon.EITHER and own <= {"that"} and not _has_condition(tree, head)
    run_on = verb.dep == "parataxis" or (verb.dep == "ccomp" and verb.i < head.i)
    return run_on and not {verb.lemma, head.lemma} & lexicon.SPEAKING


def _has_condition(tree: Tree, verb: Word) -> bool:
    return any(mark.lower in ("if", "unless")
               for clause in tree.children[verb.i] if clause.dep == "advcl" and clause.i < verb.i
               for mark in tree.children[clause.i])


def _shares_subject(tree: Tree, verb: Word) -> bool:
    first = tree.words[verb.head]
    return (not clauses.is_negated(tree, first) and not _shares_object(tree, first, verb)
            and clauses.finite_clause(tree, verb) is not None)


def _shares_object(tree: Tree, first: Word, verb: Word) -> bool:
    """As in "wrote and directed the film": a cut would separate the first verb from its object."""
    between = tree.words[first.i + 1 : verb.i]
    own = tree.below[verb.i]
    return tree.child(verb, ("dobj", "agent")) is not None and all(
        word.dep in ("cc", "punct") or own >> word.i & 1 for word in between)


def _open_frames(tree: Tree, verb: Word, found: dict[int, _Part]) -> None:
    """In "i know that it is red", "know" becomes a frame, and the clause of "is" is added."""
    while (inner := _verb_in_frame(tree, verb)) is not None:
        found[verb.i] = replace(found[verb.i], is_frame=True)
        found[inner.i] = _Part(inner, "clause")
        verb = inner


def _verb_in_frame(tree: Tree, verb: Word) -> Word | None:
    """In "i know that it is red", the result for "know" is "is". It is ``None`` if ``verb`` does
    more than introduce a clause ("the mayor said that it is red")."""
    subject, state = tree.child(verb, lexicon.SUBJECTS | {"expl"}), tree.child(verb, ("acomp",))
    inner = [child for child in (*tree.children[verb.i], *(tree.children[state.i] if state else ()))
             if child.dep == "ccomp" and child.i > verb.i and clauses.is_finite_clause(tree, child)]
    if subject is None or not inner:
        return None
    denied = tree.child(verb, ("neg",)) is not None
    if subject.lower in ("i", "we", "you"):
        known = lexicon.PRESUPPOSING - {"believe", "hear", "see"}
        unsaid = denied and verb.lemma not in known and not any(
            child.lower in ("ca", "can", "could") for child in tree.children[verb.i])
        frames = (state.lemma in lexicon.SURE and not denied if state else
                  verb.lemma in lexicon.KNOWING and not unsaid)
    elif subject.lemma in lexicon.TEXTS:
        frames = verb.lemma in lexicon.STATING and not denied
    else:
        frames = bool(state and state.lemma == "true" and not denied)
    asks = any(child.lower in _HOW for child in tree.children[inner[0].i])
    return inner[0] if frames and not asks else None


def _adds_claim(tree: Tree, word: Word) -> bool:
    """As in "the inn, which opened in 1962" and "the inn, built in 1962, is closed". Without a
    comma, it says which thing is meant. What only ends a sentence often belongs to another noun:
    "it costs 2 euros at a campsite, collected by the host"."""
    noun, below = tree.words[word.head], tree.below[word.i]
    start, end = first(below), below.bit_length()
    if (start == 0 or tree.words[start - 1].text not in (",", "(", "-", "–", "—")
            or core(tree, noun)[-1].i > start):
        return False
    if word.dep in ("appos", "acl"):
        return any(after.text in _CLOSING for after in tree.words[end : end + 1]) and (
            clauses.clause_of(tree, word) is not None if word.dep == "acl"
            else noun.tag[:3] == "NNP" and word.tag == "NN" and bool(tree.children[word.i]))
    if word.dep != "relcl" or noun.tag[:2] not in ("NN", "CD"):
        return False
    subject = clauses.subject_of(tree, word)
    return _is_liking(tree, word) or (
        subject is not None and subject.lower in ("who", "which")
        and clauses.clause_of(tree, word) is not None)


# --- facts, opinions and what speakers say about themselves ----------------------------------


def _is_personal(tree: Tree, head: Word) -> bool:
    """As in "i love it", "my cat is old". A coordinated verb may share a subject."""
    subject = clauses.subject_of(tree, head)
    if subject is None:
        clause = clauses.finite_clause(tree, head)
        return clause is not None and clause.subject.lower() in lexicon.SPEAKERS
    return not lexicon.SPEAKERS.isdisjoint(
        word.lower for word in (subject, *tree.children[subject.i]))


def _is_liking(tree: Tree, word: Word) -> bool:
    """As in ", which I really like"."""
    subject = clauses.subject_of(tree, word) if word.lemma in lexicon.LIKING else None
    return subject is not None and subject.lower in lexicon.SPEAKERS | {"we"}


def _is_opinion(tree: Tree, verb: Word, words: Sequence[Word]) -> bool:
    """As in "that cat is so funny": only an opinion of something named before."""
    subject = clauses.subject_of(tree, verb)
    if verb.lemma not in lexicon.LINKING or subject is None or any(
            word.tag == "MD" for word in words):
        return False
    pointing = {subject.lower, *(child.lower for child in tree.children[subject.i])}
    if pointing.isdisjoint(lexicon.POINTING):
        return False  # "the reviews are terrible" can be checked
    said = [word.lower for word in words
            if not tree.below[subject.i] >> word.i & 1 and word.text.isalnum()]
    return (not lexicon.OPINIONS.isdisjoint(said)
            and not any(is_content(word) and word not in lexicon.OPINIONS for word in said))


# --- the words of a claim ---------------------------------------------------------------------


def _text(tree: Tree, part: _Part, words: Sequence[Word]) -> str:
    """In "it has rooms and allows pets", "allows pets" → "It allows pets"."""
    if part.kind == "apposition":
        noun = tree.words[part.head.head]
        return _sentence(f"{spell(tree, core(tree, noun))} is {_joined(words)}")
    clause = clauses.clause_of(tree, part.head) if is_verb(part.head) else None
    borrows = part.kind == "relative" or not tree.child(part.head, lexicon.SUBJECTS | {"expl"})
    if clause is None or not borrows:
        return _sentence(_joined(words))
    said = [word for word in words if not clause.subject_bits >> word.i & 1]
    finite = clause.auxiliary_bits or part.head.lower in lexicon.PASTS
    auxiliary = "" if finite else clause.auxiliary
    adverb = "" if part.kind == "relative" else _before_subject(tree, part.head)
    return _sentence(" ".join(filter(None, (adverb, clause.subject, auxiliary, _joined(said)))))


def _before_subject(tree: Tree, verb: Word) -> str:
    """In "nearly all paid and left", the parser takes "nearly" as an adverb of "paid"."""
    opening = clauses.first_of(tree, verb)
    subject = clauses.subject_of(tree, opening)
    start = first(tree.below[subject.i]) if subject else 0
    if not start:
        return ""
    word = tree.words[start - 1]
    is_adverb = (word.dep, word.tag, word.head) == ("advmod", "RB", opening.i)
    return word.lower if is_adverb else ""


def _trimmed(words: Sequence[Word], head: Word) -> list[Word]:
    """The mark of a clause inside the claim stays, as in "If it rains, the match is moved"."""
    kept = list(words)
    while kept and (kept[0].dep in ("cc", "punct") or kept[0].text in _EDGES
                    or (kept[0].dep == "mark" and kept[0].lower == "that"
                        and kept[0].head == head.i)):
        kept.pop(0)
    while kept and (kept[-1].dep == "cc" or kept[-1].text in _EDGES):
        kept.pop()
    return kept


def _joined(words: Sequence[Word]) -> str:
    """Commas and brackets around a gap are dropped."""
    text, last = "", words[0].i - 1
    for word in words:
        gap, last = word.i != last + 1, word.i
        if gap:
            text = text.rstrip(" ,;(–—-")
            if word.text in _CLOSING:
                text += " "
                continue
        text += " " * gap + word.text + " " * word.blank
    return " ".join(text.split())


def _sentence(text: str) -> str:
    text = text.strip(" ,;?")
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!")) else ".")
