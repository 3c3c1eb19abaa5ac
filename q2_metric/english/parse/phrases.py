"""Writes noun phrases, auxiliaries and verbs in the form that a question or statement needs."""

import re
from collections.abc import Sequence

from q2_metric.english.lexicon import CONTRACTED, IRREGULAR, NAMES
from q2_metric.english.parse.tree import Tree, Word, first

_DOUBLED = re.compile(r"[^aeiou]*[aeiou][bdgklmnprt]")


def expand(tree: Tree, word: Word) -> str:
    """The full form of a contracted auxiliary: "'re" → "are", "'s" → "is" or "has"."""
    if word.lower == "'s":
        rest = [w for w in tree.words[word.i + 1 : word.i + 5] if w.dep != "neg"]
        has = any(w.lower in ("been", "got", "had") for w in rest) or (
            word.dep == "aux" and tree.words[word.head].tag == "VBN"
        )
        return "has" if has else "is"
    if word.lower == "'d":
        return "had" if tree.words[word.head].tag == "VBN" else "would"
    return CONTRACTED.get(word.lower, word.lower)


def lowered(tree: Tree, word: Word) -> str:
    """As inside a sentence: only names have a capital."""
    if word.lower == "n't":
        return "not"
    if word.lower == "us" and word.label == "GPE":
        return "US"
    is_name = word.label in NAMES and word.tag in ("NNP", "NNPS", "JJ")
    if is_name and word.text.islower():
        return word.text.capitalize()
    if word.lower == "i" or word.i > 1 or (word.i == 1 and tree.words[0].text.isalnum()):
        return word.text
    if is_name or not word.text[1:].islower():
        return word.text if len(word.text) > 1 else word.lower
    if word.tag == "NNP" and not tree.raised:
        return word.text
    return word.lower


def spell(tree: Tree, members: Sequence[Word]) -> str:
    """Joins words as in the sentence."""
    text = ""
    before: Word | None = None
    for word in members:
        if before and (before.i + 1 != word.i or before.blank or word.lower == "n't"):
            text += " "
        text, before = text + lowered(tree, word), word
    return text


def is_aside(tree: Tree, word: Word) -> bool:
    """As in "Paris, the capital, …", but not in 'the word "pizza"'."""
    edge = first(tree.below[word.i])
    return word.dep == "appos" and edge > 0 and tree.words[edge - 1].text in (",", "(", "-", "–")


def core(tree: Tree, noun: Word) -> list[Word]:
    """The noun phrase without relative clauses, asides and marks."""
    bits = tree.below[noun.i]
    for child in tree.children[noun.i]:
        aside = child.dep in ("relcl", "acl", "parataxis", "advcl") or child.text in ",.;:!?"
        if child.dep == "intj" or (child.i > noun.i and (aside or is_aside(tree, child))):
            bits &= ~tree.below[child.i]
    return tree.members(bits)


def named(tree: Tree, noun: Word) -> str:
    """The noun phrase when mentioned again: "a band" → "the band"."""
    members = core(tree, noun)
    while len(members) > 1 and members[0].dep == "punct":
        members = members[1:]
    if members[0].lower in ("a", "an", "some"):
        return f"the {spell(tree, members[1:])}"
    the = "the " if members[0].tag in ("NN", "JJ", "JJS") and noun.tag == "NN" else ""
    return the + spell(tree, members)


def past(verb: str) -> str:
    """The past tense of a verb, given its base form.

    >>> past("open"), past("write"), past("stop"), past("carry")
    ('opened', 'wrote', 'stopped', 'carried')
    """
    if verb in IRREGULAR:
        return IRREGULAR[verb]
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
