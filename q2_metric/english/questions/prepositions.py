"""Finds out how a question can ask for the object of a preposition (arguments as in ``gaps``)."""

from __future__ import annotations

from collections.abc import Iterator

from q2_metric.english import lexicon
from q2_metric.english.parse.phrases import core, spell
from q2_metric.english.parse.tree import Tree, Word
from q2_metric.english.questions.nouns import besides, is_example, kept_modifiers
from q2_metric.english.questions.words import Gap, plain_wh, time_wh


def prepositional_gaps(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """Yields the ways to ask when or where, or who or what with the preposition, best first."""
    preposition = tree.words[top.head]
    holder = tree.words[preposition.head]
    around = _around(tree, preposition, holder)
    time = _time_gap(tree, root, top, around, label, text)
    if time is not None:
        yield time
        return
    place = label in lexicon.LOCATIONS or (not label and root.lemma.lower() in lexicon.PLACES)
    if place and preposition.lower in lexicon.LOCATIVE and holder.lower != "based":
        yield from _place_gaps(tree, root, top, around, label)
        if label:
            return
    if is_example(tree, preposition) or holder.label in ("DATE", "ORDINAL"):
        return
    yield from _object_gaps(tree, root, top, label, text)


def _around(tree: Tree, preposition: Word, holder: Word) -> int:
    around = tree.below[preposition.i]
    if holder.tag == "RB" and holder.lower in ("back", "early", "far", "late", "long", "recently"):
        around |= tree.below[holder.i]  # "as far back as 1272"
    if preposition.i and tree.words[preposition.i - 1].lower == "back":
        around |= 1 << (preposition.i - 1)
    return around


def _time_gap(
    tree: Tree, root: Word, top: Word, around: int, label: str, text: str
) -> Gap | None:
    preposition = tree.words[top.head]
    holder = tree.words[preposition.head]
    prep = preposition.lower
    date = label == "DATE" or (
        label in ("CARDINAL", "")
        and bool(lexicon.YEAR.match(text) or (prep == "in" and lexicon.OLD_YEAR.match(text)))
    )
    when = not label and (root.lemma in lexicon.TIME_NOUNS or root.lower in lexicon.TIME_NOUNS)
    time = time_wh(prep, text, date or when)
    if prep == "of" and holder.lower == "as":
        return Gap("when", tree.below[holder.i])
    if time is not None:
        wh, replaces = time
        return Gap(wh, around if replaces else tree.below[top.i])
    if label == "TIME" and prep in lexicon.BARE_TIME:
        return Gap("what time" if prep == "at" else "when", around)
    return None


def _place_gaps(tree: Tree, root: Word, top: Word, around: int, label: str) -> Iterator[Gap]:
    prep, whole, after = tree.words[top.head].lower, tree.below[top.i], besides(tree, root)
    inner = tree.child(root, ("appos", "npadvmod"))
    if inner is not None and inner.label in lexicon.LOCATIONS and prep in ("in", "at"):
        yield Gap(f"where in {spell(tree, core(tree, inner))}", around)
    if prep == "from":
        yield Gap("where", whole, after=after)
    elif prep in ("on", "around", "across", "throughout") and not label:
        yield Gap("what", whole, after=after)
    else:
        yield Gap("where", around, after=after)
        if after:
            yield Gap("where", around)


def _object_gaps(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """As in "What is it made of?"."""
    preposition = tree.words[top.head]
    holder = tree.words[preposition.head]
    whole, after = tree.below[top.i], besides(tree, root)
    wh = plain_wh(tree, root, label, text)
    if preposition.dep == "agent" and holder.lemma in lexicon.AGENT_VERBS:
        wh = "who"
    wh = {"how many": "what number", "when": "what date"}.get(wh, wh)
    if after:
        yield Gap(wh, whole, after=after)
    yield Gap(wh, whole)
    kept = kept_modifiers(tree, top)
    if kept:
        yield Gap(wh, whole & ~kept)
