"""Finds the words that belong to a noun, as bit masks over word positions."""

from q2_metric.english.lexicon import NOUN_TAGS
from q2_metric.english.parse.phrases import is_aside, spell
from q2_metric.english.parse.tree import Tree, Word, is_verb


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
