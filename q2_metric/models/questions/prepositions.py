"""Gaps for the object of a preposition: when, where, or a stranded preposition."""

from __future__ import annotations

from collections.abc import Iterator

from q2_metric.models.english.phrases import core, spell
from q2_metric.models.english.tree import Tree, Word
from q2_metric.models.english.vocabulary import (
    AGENT_VERBS,
    BARE_TIME,
    ERA,
    LOCATIONS,
    LOCATIVE,
    OLD_YEAR,
    PLACES,
    TIME_NOUNS,
    YEAR,
)
from q2_metric.models.questions.gap import Gap
from q2_metric.models.questions.nouns import besides, is_example, kept_modifiers
from q2_metric.models.questions.words import plain_wh, time_wh


def prepositional_gaps(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """Gaps for the object of a preposition: when, where, or a stranded preposition."""
    preposition = tree.words[top.head]
    after = besides(tree, root)
    whole = tree.below[top.i]
    prep = preposition.lower
    holder = tree.words[preposition.head]
    around = tree.below[preposition.i]
    if holder.tag == "RB" and holder.lower in ("back", "early", "far", "late", "long", "recently"):
        around |= tree.below[holder.i]  # "as far back as 1272"
    if tree.words[preposition.i - 1].lower == "back":
        around |= 1 << (preposition.i - 1)
    date = label == "DATE" or (
        label in ("CARDINAL", "")
        and bool(YEAR.match(text) or ERA.match(text) or (prep == "in" and OLD_YEAR.match(text)))
    )
    when = not label and (root.lemma in TIME_NOUNS or root.lower in TIME_NOUNS)
    time = time_wh(prep, text, date or when)
    if date and prep == "of" and holder.lower == "as":
        yield Gap("when", tree.below[holder.i])
        return
    if time is not None:
        wh, replaces = time
        yield Gap(wh, around if replaces else whole)
        return
    if label == "TIME" and prep in BARE_TIME:
        yield Gap("what time" if prep == "at" else "when", around)
        return
    place = label in LOCATIONS or (not label and root.lemma.lower() in PLACES)
    if place and prep in LOCATIVE and holder.lower not in ("based", "interested"):
        inner = tree.child(root, ("appos", "npadvmod"))
        if inner is not None and inner.label in LOCATIONS and prep in ("in", "at"):
            yield Gap(f"where in {spell(tree, core(tree, inner))}", around)
        if prep == "from":
            yield Gap("where", whole, after=after)
        elif prep in ("on", "around", "across", "throughout") and not label:
            yield Gap("what", whole, after=after)
        else:
            yield Gap("where", around, after=after)
            if after:
                yield Gap("where", around)
        if label:
            return
    if is_example(tree, preposition) or holder.label in ("DATE", "ORDINAL"):
        return
    wh = plain_wh(tree, root, label, text)
    if preposition.dep == "agent" and holder.lemma in AGENT_VERBS and label != "NORP":
        wh = "who"
    existential = any(tree.child(word, ("expl",)) for word in tree.up(holder))
    if root.lemma == "people" and existential:
        return
    if wh in ("how many", "how much", "when", "how long"):
        wh = {"how many": "what number", "when": "what date"}.get(wh, wh)
    if after:
        yield Gap(wh, whole, after=after)
    yield Gap(wh, whole)
    kept = kept_modifiers(tree, top)
    if kept:
        yield Gap(wh, whole & ~kept)
