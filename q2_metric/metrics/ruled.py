"""Judges claims by rules on values (numbers, amounts, dates, times) and arithmetic. The verdict of
a rule replaces the verdict of the neural network that judges claims.

A network of this size takes "23:10" and "11:10 pm" for different times. If a rule confirms a claim,
the claim's support is at least :data:`HELD`. If a rule refutes it, its support is at most
:data:`REFUTED`. If no rule applies, the network's support is kept.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from q2_metric.text.nearest import WordIndex
from q2_metric.text.overlap import stems
from q2_metric.text.sentences import split_sentences
from q2_metric.text.values import (
    by_row,
    changed,
    combines,
    compare_values,
    follows,
    has_wrong_value,
    may_be_meant,
    may_follow,
    mispaired,
    of_another,
    ranks,
    respectively,
    share_of,
    values_in,
    without_values,
    worked_out,
)
from q2_metric.types import Example, Judgement

HELD = 0.9
"""Minimum support of a claim that the knowledge's values confirm."""
REFUTED = 0.1
"""Maximum support of a claim that the knowledge's values contradict."""
ABOUT = 0.3
"""Minimum share of a claim's content words that a sentence must contain to be able to contradict
one of the claim's values."""
_DENIES = re.compile(r"\b(?:not|no|never|nor|none|neither|nobody|nothing|without|cannot|unable)\b"
                     r"|n['’]t\b", re.IGNORECASE)
_NOT = re.compile(r"\b(is|are|was|were|does|do|did|has|have|had|can|ca|could|will|wo|would)"
                  r"(?: ?not|n['’]t| n['’]t)\b", re.IGNORECASE)
_NOT_SO_PLAIN = re.compile(
    r"\b(?:only|just|until|till|because|but|all|every|each|any|than|least|most|if|that|who|which"
    r"|merely|necessarily|and|or|yet|least|think|believe|know|say|says|said)\b", re.IGNORECASE)
"""If a claim contains one of these words, its "not" may deny more or less than the verb, as in "not
only" and "not all"."""
_HOW = stems(
    "together total combined altogether sum average mean last lasted lasting exist existed "
    "ran run took take old age cost costs price pay most least than more fewer largest smallest "
    "highest lowest biggest greatest cheapest dearest expensive longest shortest deeper taller "
    "longer larger bigger higher heavier older wider faster costlier hotter warmer further richer "
    "shallower shorter smaller lower lighter younger narrower slower cheaper less colder nearer "
    "gained rose grew increased lost fell declined decreased dropped plans plan amount number "
    "died death dead aged heaviest lightest")
"""Stems of words that say how a value was computed ("total") or what it measures ("cost")."""
NEAREST = 3
"""Number of sentences examined for each claim. The sentences that share most words with it are
chosen."""


def ruled(
    examples: Sequence[Example], judged: Sequence[Sequence[Judgement]],
    places: Sequence[tuple[int, int]],
) -> list[list[Judgement]]:
    """Applies the rules to the judgements of each example, and returns the judgements.

    If a rule decides about a claim, it changes the support and the verdict of the judgement.

    Args:
        examples: the examples as the metric read them.
        judged: the judgements of each example.
        places: for each judgement, in order, the character range of the chunk of the knowledge on
            which it is based.
    """
    chunk = iter(places)
    return [[_decided(one, example.knowledge[slice(*next(chunk))], example.knowledge)
             for one in found] for example, found in zip(examples, judged, strict=True)]


def _decided(judged: Judgement, chunk: str, knowledge: str) -> Judgement:
    held = by_values(judged.claim.text, chunk, knowledge)
    if held is None:
        return judged
    return replace(judged, support=_bounded(judged.support, held), rule="values",
                   verdict="supported" if held else "contradicted")


def supports(pairs: Sequence[tuple[str, str]], found: Sequence[float]) -> list[float]:
    """The support of each claim by its passage, corrected by the rules on values (numbers, amounts,
    dates, times).

    Args:
        pairs: (passage, claim) pairs.
        found: for each pair, the support that the neural network computed.
    """
    held = [by_values(claim, text, text) for text, claim in pairs]
    return [support if one is None else _bounded(support, one)
            for one, support in zip(held, found, strict=True)]


def _bounded(support: float, held: bool) -> float:
    """Raises the support of a claim to :data:`HELD` if values (numbers, amounts, dates, times)
    confirm it (``held`` is true), or lowers it to :data:`REFUTED` if they contradict it."""
    return max(support, HELD) if held else min(support, REFUTED)


def by_values(claim: str, chunk: str, knowledge: str) -> bool | None:
    """True if values (numbers, amounts, dates, times) or arithmetic support a claim, false if they
    contradict it, else ``None``.

    Args:
        claim: the claim as written.
        chunk: the part of the knowledge that supports the claim best.
        knowledge: the whole knowledge, with tables as sentences.

    >>> by_values("It opened in 1962.", "It opened in 1926.", "It opened in 1926.")
    False
    """
    near = _nearest(claim, chunk)
    if values_in(claim):
        affirmed = _affirmed(claim)
        if affirmed is not None:
            return _denied(affirmed, by_values(affirmed, chunk, knowledge))
        held = _held(claim, near, _parts(knowledge)[0])
        if held is not None:
            return held
    worked = ranks(claim, _parts(knowledge)[0])
    if worked is None:
        worked = _worked_out(claim, near, chunk, knowledge)
    if worked and not _is_told(claim, knowledge):
        return None
    if worked is not None or combines(claim) or not _is_about(near[0], claim):
        return worked
    wrong = has_wrong_value(claim, near[0], knowledge) and not may_follow(claim, near[0])
    return False if wrong else None


def _held(claim: str, near: Sequence[str], sentences: Sequence[str]) -> bool | None:
    """True if values (numbers, amounts, dates, times) in the knowledge support a claim, false if
    they contradict it, otherwise ``None``.

    Args:
        claim: a claim that contains values.
        near: the sentences that have most words in common with the claim, best match first.
        sentences: all sentences of the knowledge.
    """
    if _is_about(near[0], claim) and (
            changed(claim, near[0]) or mispaired(claim, near[0])):
        return False
    if any(follows(claim, sentence) for sentence in near):
        return True
    for rule, unknown in ((respectively, 0), (by_row, 1), (share_of, 0)):
        verdict = rule(claim, sentences)
        if verdict is False or (verdict and _is_told(claim, " ".join(sentences), unknown)):
            return verdict
    if of_another(claim, sentences):
        return False
    return None if stems(without_values(claim)) else _only_value(claim, sentences)


def _only_value(claim: str, sentences: Sequence[str]) -> bool | None:
    """Whether the knowledge confirms a claim that states one value (a number, amount, date or time)
    and nothing else, such as "It was minus 12 degrees".

    The claim is compared with the knowledge's value of the same kind. The result is ``None`` if the
    knowledge has several such values or none.
    """
    values = values_in(claim)
    known = [other for sentence in sentences for other in values_in(sentence)
             if may_be_meant(values[0], other)]
    alone = len(values) == len(known) == 1 and values[0].kind in ("quantity", "money", "share")
    return compare_values(values[0], known[0]) if alone else None


def _denied(affirmed: str, held: bool | None) -> bool | None:
    """Whether "not S" is true, for a statement S; ``None`` if that is unknown.

    If S is refuted, "not S" is true only if the values of S are dates: an event that happened on
    one date did not happen on another. With numbers, nothing is known: someone who won four medals
    has also won three.

    Args:
        affirmed: the statement S.
        held: true if the knowledge confirms S, false if it refutes S, ``None`` if neither.
    """
    if held is None or held:
        return None if held is None else False
    dated = all(value.kind == "date" for value in values_in(affirmed))
    return True if dated else None


def _affirmed(claim: str) -> str | None:
    """The statement that a claim denies; ``None`` unless a "not" at the verb is its only negation.

    >>> _affirmed("It did not open in 1890."), _affirmed("Not one of 12 came.")
    ('It did open in 1890.', None)
    """
    denials = list(_DENIES.finditer(claim))
    found = _NOT.search(claim)
    if found is None or len(denials) != 1 or _NOT_SO_PLAIN.search(claim):
        return None
    front = {"ca": "can", "wo": "will"}.get(found[1].lower(), found[1])
    return claim[: found.start()] + front + claim[found.end() :]


def _is_told(claim: str, knowledge: str, unknown: int = 0) -> bool:
    """Whether the knowledge contains all words of a claim, except for at most ``unknown`` words.
    Words that only say how a value was computed are ignored. For "The rival will cut 5 % of its
    jobs", the knowledge must mention the rival."""
    return len(stems(without_values(claim)) - _HOW - stems(knowledge)) <= unknown


def _worked_out(claim: str, near: Sequence[str], chunk: str, knowledge: str) -> bool | None:
    """True if arithmetic with the knowledge's values (numbers, amounts, dates, times) confirms a
    claim, false if it refutes the claim, otherwise ``None``.

    First, the one or two sentences nearest to the claim are tried. They can only confirm it,
    because other sentences may contain further values. Then all sentences are tried together.

    Args:
        claim: the claim.
        near: the sentences of ``chunk`` that share most words with the claim, best match first.
        chunk: the part of the knowledge that supports the claim best.
        knowledge: the whole knowledge.
    """
    if any(worked_out(claim, sorted(near[:most], key=chunk.find), knowledge) for most in (1, 2)):
        return True
    return worked_out(claim, _parts(knowledge)[0], knowledge)


def _is_about(sentence: str, claim: str) -> bool:
    """Whether a sentence contains at least the share :data:`ABOUT` of a claim's content words, and
    at least one of them."""
    said = stems(without_values(claim))
    return len(said & stems(sentence)) >= max(1, ABOUT * len(said))


@functools.lru_cache(maxsize=1024)
def _nearest(claim: str, chunk: str) -> tuple[str, ...]:
    """The sentences of the chunk that share most words with the claim, best match first."""
    sentences, parts = _parts(chunk)
    return tuple(sentences[at] for at in parts.ranked(claim)[:NEAREST])


@functools.lru_cache(maxsize=256)
def _parts(text: str) -> tuple[list[str], WordIndex]:
    sentences = [text[start:end] for start, end in split_sentences(text)] or [text]
    return sentences, WordIndex(sentences)
