"""How a question can ask for a modifier: "three types of guitar" → "how many types of guitar"."""

from __future__ import annotations

from q2_metric.english.lexicon import IDIOMS, LIGHT_NOUNS, LOOSE, YEAR
from q2_metric.english.parse.phrases import spell
from q2_metric.english.parse.tree import Tree, Word
from q2_metric.english.questions.words import Gap

AMOUNTS = frozenset(("MONEY", "PERCENT", "ORDINAL", "QUANTITY", "CARDINAL", "TIME"))
AROUND = LOOSE | {"det", "predet"}
"""Dependencies on a noun that the phrase in a question for a modifier of the noun leaves out."""


def modifier_gap(tree: Tree, top: Word, label: str, text: str) -> Gap | None:
    """As in "ford's cars" → "whose cars"."""
    noun = tree.words[top.head]
    around = [child for child in tree.children[noun.i] if child.dep in AROUND
              or (child.dep in ("amod", "advmod") and child.i < top.i)]
    rest = _repeated(tree, noun, tree.under([top, *around]))
    members = tree.members(rest)
    phrase = spell(tree, members)
    if top.dep == "poss":
        return Gap(f"whose {phrase}", rest | tree.below[top.i])
    # "three more types than you know": the comparison stays in the question.
    gone = rest | tree.under([top, *(c for c in around if c.dep not in ("advcl", "intj"))])
    if label == "ORDINAL" and noun.tag == "NN" and noun.lemma not in IDIOMS | LIGHT_NOUNS:
        bare = [word for word in members if word.dep != "poss" and word.text != "'s"]
        return Gap(f"what number {spell(tree, bare)}", gone)
    if label == "DATE":
        return Gap(f"what year's {phrase}", gone) if YEAR.match(text) else None
    asked = _asked(noun, top, label)
    return Gap(f"{asked} {phrase}", gone) if asked else None


def _repeated(tree: Tree, noun: Word, gone: int) -> int:
    rest = tree.below[noun.i] & ~gone & ~tree.under(
        child for child in tree.children[noun.i] if child.dep == "prep" and child.lower != "of")
    return rest & ~tree.under(
        word for word in tree.members(rest)
        if word.dep in ("relcl", "appos", "acl") and not tree.below[word.i] >> noun.i & 1)


def _asked(noun: Word, top: Word, label: str) -> str:
    """Such as "how many"; "" if there are none."""
    if top.dep == "nummod" and label in ("CARDINAL", "QUANTITY") and noun.tag in ("NNS", "NNPS"):
        return "how many"
    if label in AMOUNTS or label == "PERSON" or noun.tag in ("NNP", "NNPS"):
        return ""  # a modifier of a proper noun is part of the name
    if top.dep not in ("amod", "compound", "nmod"):
        return ""
    return "what" if noun.lower in ("language", "country", "city", "state") else "what kind of"
