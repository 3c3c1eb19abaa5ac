"""How a question can ask for a modifier: "three types of guitar" → "how many types of guitar"."""

from __future__ import annotations

from q2_metric.models.english.phrases import spell
from q2_metric.models.english.tree import Tree, Word
from q2_metric.models.english.vocabulary import AGE, IDIOMS, LIGHT_NOUNS, LOOSE, YEAR
from q2_metric.models.questions.gap import Gap

AMOUNTS = frozenset(("MONEY", "PERCENT", "ORDINAL", "QUANTITY", "CARDINAL", "TIME"))
AROUND = frozenset(("relcl", "acl", "appos", "conj", "cc", "preconj", "punct"))
"""Dependencies of words on a noun that a question for another modifier of the noun leaves out."""


def modifier_gap(tree: Tree, top: Word, label: str, text: str) -> Gap | None:
    """The way to ask for a modifier (arguments as in ``gaps``), with the rest of the noun phrase in
    the question words: "ford" in "ford's cars" → "whose cars"."""
    noun = tree.words[top.head]
    rest = _repeated(tree, noun, top)
    members = tree.members(rest)
    if not members or noun not in members:
        return None
    phrase = spell(tree, members)
    if top.dep == "poss":
        return Gap(f"whose {phrase}", rest | tree.below[top.i])
    if AGE.search(text):
        return None
    gone = _removed(tree, noun, top, rest)
    if label == "ORDINAL" and noun.tag == "NN" and noun.lemma not in IDIOMS | LIGHT_NOUNS:
        bare = [word for word in members if word.dep != "poss" and word.text != "'s"]
        return Gap(f"what number {spell(tree, bare)}", gone)
    if label == "DATE":
        return Gap(f"what year's {phrase}", gone) if YEAR.match(text) and phrase else None
    if any(child.lower == "top" for child in tree.children[noun.i]):
        return None  # "the top 5 places"
    asked = _asked(noun, top, label)
    return Gap(f"{asked} {phrase}", gone) if asked else None


def _repeated(tree: Tree, noun: Word, top: Word) -> int:
    """The words of the noun phrase that the question repeats, as a bit mask over word positions."""
    rest = tree.below[noun.i] & ~tree.below[top.i]
    for child in tree.children[noun.i]:
        before = child.dep in ("amod", "advmod") and child.i < top.i
        after = child.dep == "prep" and child.lower != "of"
        if before or after or child.dep in LOOSE | {"det", "predet"}:
            rest &= ~tree.below[child.i]
    for word in tree.members(rest):
        if word.dep in ("relcl", "appos", "acl") and not tree.below[word.i] >> noun.i & 1:
            rest &= ~tree.below[word.i]
    return rest


def _removed(tree: Tree, noun: Word, top: Word, rest: int) -> int:
    """The words of the sentence that are removed to form the question, as a bit mask."""
    gone = rest | tree.below[top.i]
    for child in tree.children[noun.i]:
        before = child.dep in ("amod", "advmod") and child.i < top.i
        if before or child.dep in AROUND:
            gone |= tree.below[child.i]
        elif child.dep in ("det", "predet"):
            gone |= 1 << child.i
    return gone


def _asked(noun: Word, top: Word, label: str) -> str:
    """The first question words for the modifier, such as "how many"; "" if there are none."""
    if (
        top.dep == "nummod"
        and label in ("CARDINAL", "QUANTITY", "")
        and noun.tag in ("NNS", "NNPS")
    ):
        return "how many"
    if label in AMOUNTS or label in ("", "PERSON") or noun.tag in ("NNP", "NNPS"):
        return ""  # a modifier of a proper noun is part of the name
    if top.dep not in ("amod", "compound", "nmod"):
        return ""
    return "what" if noun.lower in ("language", "country", "city", "state") else "what kind of"
