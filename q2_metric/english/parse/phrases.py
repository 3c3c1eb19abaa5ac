"""Finds the words of noun phrases, and writes phrases, auxiliaries and verbs in the form that a
question or statement needs."""

import re
from collections.abc import Sequence
from itertools import pairwise

from q2_metric.english.lexicon import CONTRACTED, IRREGULAR, NAMES, NOUN_TAGS
from q2_metric.english.parse.tree import Tree, Word, first, is_verb

_DOUBLED = re.compile(r"[^aeiou]*[aeiou][bdgklmnprt]")


def expand(tree: Tree, word: Word) -> str:
    """The full form of a contracted auxiliary: "'re" → "are", "'s" → "is" or "has"."""
    if word.lower == "'s":
        rest = [w for w in tree.words[word.i + 1 : word.i + 5] if w.dep != "neg"]
        has = any(w.lower in ("been", "got", "had") for w in rest) or (
            word.dep == "aux" and tree.words[word.head].tag == "VBN")
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
    text = "".join(lowered(tree, word) for word in members[:1])
    for before, word in pairwise(members):
        apart = before.i + 1 != word.i or before.blank or word.lower == "n't"
        text += " " * apart + lowered(tree, word)
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


def phrase_bits(tree: Tree, noun: Word) -> int:
    """The phrase without clauses that are coordinated with it."""
    clauses = (c for c in tree.children[noun.i] if c.dep == "conj" and is_verb(c))
    return tree.below[noun.i] & ~tree.under(clauses)


def top_of(tree: Tree, root: Word) -> Word:
    """In "red and blue", the result for "blue" is "red"."""
    while root.dep == "conj" and not is_verb(tree.words[root.head]):
        root = tree.words[root.head]
    return root


def besides(tree: Tree, root: Word) -> str:
    """In "red and green", the result for "green" is "besides red"; for up to five nouns."""
    conjuncts = [top_of(tree, root)]
    while following := tree.child(conjuncts[-1], ("conj",)):
        conjuncts.append(following)
    others = [noun for noun in conjuncts if noun is not root]
    if (not 1 <= len(others) <= 4 or len(others) == len(conjuncts)
            or any(noun.tag not in NOUN_TAGS for noun in others)):
        return ""
    article = tree.child(conjuncts[0], ("det",))
    texts = []
    for noun in others:
        members = tree.members(own_phrase(tree, noun))
        text = spell(tree, members)
        if (article is not None and noun is not conjuncts[0] and noun.tag == "NN"
                and not tree.child(noun, ("det", "poss")) and " " in text):
            text = f"{article.lower} {text}"
        texts.append(text)
    listed = " and ".join([", ".join(texts[:-1]), texts[-1]] if texts[1:] else texts)
    return f"besides {listed}"


def own_phrase(tree: Tree, noun: Word) -> int:
    """The phrase without coordinated nouns after it, relative clauses and asides."""
    others = (c for c in tree.children[noun.i] if c.text == ","
              or c.dep in ("cc", "conj", "relcl", "acl", "appos", "preconj", "advmod"))
    return tree.below[noun.i] & ~tree.under(others)


def kept_modifiers(tree: Tree, top: Word) -> int:
    """Such as "for collectors" in "a fair for collectors"."""
    return tree.under(c for c in tree.children[top.i]
                      if c.dep == "prep" and c.lower not in ("of", "like", "as"))


def has_complement(tree: Tree, noun: Word) -> bool:
    """As in "the age of …", "the right to …", 'the word "tea"'."""
    for child in tree.children[noun.i]:
        infinitive = child.dep == "acl" and tree.words[child.i - 1].lower == "to"
        if infinitive and noun.lemma in ("ability", "right", "attempt", "tendency", "need"):
            return True
        if child.dep == "appos" and not is_aside(tree, child):
            return True  # 'the word "pizza"'
        if child.dep == "prep" and child.lower == "of":
            inner = tree.child(child, ("pobj",))
            return inner is None or inner.lemma not in ("time", "world", "day", "year")
    return False


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
