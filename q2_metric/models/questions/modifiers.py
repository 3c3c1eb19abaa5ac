"""Gaps for what modifies a noun, asked with the rest of the noun's phrase."""

from __future__ import annotations

from q2_metric.models.english.phrases import spell
from q2_metric.models.english.tree import Tree, Word, bits_of
from q2_metric.models.english.vocabulary import AGE, IDIOMS, LIGHT_NOUNS, LOOSE, YEAR
from q2_metric.models.questions.gap import Gap


def modifier_gap(tree: Tree, root: Word, top: Word, label: str, text: str) -> Gap | None:
    """A gap for what modifies a noun, asked with the rest of the noun's phrase.

    "three types of guitar": how many types of guitar; "ford's cars": whose cars.
    """
    noun = tree.words[top.head]
    rest = tree.below[noun.i] & ~tree.below[top.i]
    for child in tree.children[noun.i]:
        before = child.dep in ("amod", "advmod") and child.i < top.i
        after = child.dep == "prep" and child.lower != "of"
        if before or after or child.dep in LOOSE | {"det", "predet"}:
            rest &= ~tree.below[child.i]
    for word in tree.members(rest):
        if word.dep in ("relcl", "appos", "acl") and not tree.below[word.i] >> noun.i & 1:
            rest &= ~tree.below[word.i]
    members = tree.members(rest)
    if not members or noun not in members:
        return None
    phrase = spell(tree, members)
    if top.dep == "poss":
        return Gap(f"whose {phrase}", rest | tree.below[top.i])
    determiners = bits_of(c for c in tree.children[noun.i] if c.dep in ("det", "predet"))
    gone = rest | tree.below[top.i] | determiners
    for child in tree.children[noun.i]:
        if child.dep in ("amod", "advmod") and child.i < top.i:
            gone |= tree.below[child.i]
        if child.dep in ("relcl", "acl", "appos", "conj", "cc", "preconj", "punct"):
            gone |= tree.below[child.i]
    if AGE.search(text):
        return None
    if label == "ORDINAL" and noun.tag == "NN" and noun.lemma not in IDIOMS | LIGHT_NOUNS:
        bare = [word for word in members if word.dep != "poss" and word.text != "'s"]
        return Gap(f"what number {spell(tree, bare)}", gone)
    if label == "DATE":
        if not YEAR.match(text) or not phrase:
            return None
        return Gap(f"what year's {phrase}", gone)
    if any(child.lower == "top" for child in tree.children[noun.i]):
        return None  # "the top 5 places"
    if (
        top.dep == "nummod"
        and label in ("CARDINAL", "QUANTITY", "")
        and noun.tag in ("NNS", "NNPS")
    ):
        return Gap(f"how many {phrase}", gone)
    if label in ("MONEY", "PERCENT", "ORDINAL", "QUANTITY", "CARDINAL", "TIME"):
        return None
    if top.dep in ("amod", "compound", "nmod") and label and label != "PERSON":
        if noun.tag in ("NNP", "NNPS"):
            return None  # a part of a name
        if noun.lower in ("language", "country", "city", "state"):
            return Gap(f"what {phrase}", gone)
        return Gap(f"what kind of {phrase}", gone)
    return None
