"""Resolves coreference over a dialogue (Q² v1, appendix A) with coreferee. Experimental: the tests
give the chains instead of running coreferee. ``python -m coreferee install en`` fetches its English
model from GitHub; after that, no internet access is needed."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from q2_metric import forks
from q2_metric.errors import ModelError, optional

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

    from q2_metric.types import CoreferenceResolver

EXTRA = "coref"

SPACY_MODEL = "core_web_sm"
"""The spaCy model that coreferee's English model was trained on."""

_PRONOUNS = """
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself
it its itself we us our ours ourselves they them their theirs themselves this that these those
who whom whose which one
"""
PRONOUNS = frozenset(_PRONOUNS.split())
"""A pronoun never replaces another mention, because it names nothing."""
POSSESSIVES = frozenset({"my", "your", "his", "its", "our", "their", "whose"})
"""Without "her", which can also be an object."""


# --- rewriting --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """The characters from ``start`` to before ``end`` of a turn. ``possessive`` must be true for
    "her" in "her dog"; for "his" and "the dog's" it may be false."""

    turn: int
    start: int
    end: int
    possessive: bool = False


def replace_mentions(turns: Sequence[str], clusters: Sequence[Sequence[Mention]]) -> str:
    """The last turn, in which each mention is replaced by its entity's first mention.

    Not replaced are mentions of an entity whose first mention is a pronoun, and a mention inside
    its own entity's first mention ("the man and his dog").

    >>> turns = ["Mary has a dog.", "Does it like her bed?"]
    >>> dog = [Mention(0, 9, 14), Mention(1, 5, 7)]
    >>> mary = [Mention(0, 0, 4), Mention(1, 13, 16, possessive=True)]
    >>> replace_mentions(turns, [dog, mary])
    "Does a dog like Mary's bed?"
    """
    if not turns:
        return ""
    ordered = [sorted(cluster) for cluster in clusters if len(cluster) > 1]
    known = [cluster for cluster in ordered if _text(turns, cluster[0]).lower() not in PRONOUNS]
    last = len(turns) - 1
    return _resolve(turns, known, Mention(last, 0, len(turns[last])), frozenset())


def _resolve(
    turns: Sequence[str],
    clusters: Sequence[Sequence[Mention]],
    part: Mention,
    busy: frozenset[int],
) -> str:
    """``busy`` has the clusters whose first mention is being written: it would contain itself."""
    inside = [
        (mention, number)
        for number, cluster in enumerate(clusters)
        if number not in busy
        for mention in cluster[1:]
        if _within(mention, part) and not _within(mention, cluster[0])
    ]
    # Of nested mentions, the longest is replaced. It starts first or ends last.
    inside.sort(key=lambda item: (item[0].start, -item[0].end))
    text = turns[part.turn]
    pieces, done = [], part.start
    for mention, number in inside:
        if mention.start < done:
            continue
        first = clusters[number][0]
        name = _resolve(turns, clusters, first, busy | {number})
        pieces.append(text[done : mention.start])
        pieces.append(_inflected(name, text[mention.start : mention.end], mention.possessive))
        done = mention.end
    return "".join(pieces) + text[done : part.end]


def _inflected(name: str, mention: str, possessive: bool) -> str:
    name = _without_possessive(name)
    possessive = possessive or mention.lower() in POSSESSIVES
    return f"{name}'s" if possessive or _without_possessive(mention) != mention else name


def _without_possessive(text: str) -> str:
    for ending in ("'s", "’s"):
        text = text.removesuffix(ending)
    return text[:-1] if text.endswith(("s'", "s’")) else text


def _text(turns: Sequence[str], mention: Mention) -> str:
    return turns[mention.turn][mention.start : mention.end]


def _within(mention: Mention, part: Mention) -> bool:
    return mention.turn == part.turn and part.start <= mention.start and mention.end <= part.end


def resolve_turns(
    resolver: CoreferenceResolver, dialogues: Sequence[Sequence[str]]
) -> list[str]:
    """The last turn of each dialogue. As in v1, appendix A, each turn is resolved with the turns
    before it as they were resolved."""
    resolved: list[list[str]] = [[] for _ in dialogues]
    for turn in range(max(map(len, dialogues), default=0)):
        places = [i for i, dialogue in enumerate(dialogues) if turn < len(dialogue)]
        texts = resolver.resolve([(*resolved[i], dialogues[i][turn]) for i in places])
        for i, text in zip(places, texts, strict=True):
            resolved[i].append(text)
    return [turns[-1] if turns else "" for turns in resolved]


# --- the backend ------------------------------------------------------------------------


class CorefereeResolver:
    """Resolves dialogues with coreferee. ``nlp`` is a spaCy pipeline with coreferee in it, or the
    name or folder of one (as in :func:`load_pipeline`, which gives the errors raised)."""

    name = "coreferee"

    def __init__(self, nlp: str | Language | None = None) -> None:
        self._nlp = load_pipeline(nlp) if nlp is None or isinstance(nlp, str) else nlp

    def resolve(self, dialogues: Sequence[Sequence[str]]) -> list[str]:
        """The last turn of each dialogue, as by :func:`replace_mentions`; "" for a dialogue without
        turns. The turns are parsed as one document to link their mentions."""
        texts = ["\n".join(turns) for turns in dialogues]
        return [
            replace_mentions(turns, _clusters(doc, turns))
            for doc, turns in zip(self._nlp.pipe(texts), dialogues, strict=True)
        ]


@functools.cache
def load_pipeline(model: str | None = None) -> Language:
    """Loads a spaCy pipeline (``None``: the package's own) and adds coreferee, once each.

    Raises:
        MissingExtra: spaCy, its small English model or coreferee is not installed.
        ModelError: there is no such pipeline, or coreferee has no model for it.
    """
    with forks.held_off():
        optional("coreferee", "coreference resolution", "coreferee", EXTRA)
        nlp = _own_pipeline() if model is None else _named_pipeline(model)
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # coreferee prints its errors too
                nlp.add_pipe("coreferee")
        except Exception as error:  # coreferee's errors have no common base class
            reason = " ".join(str(error).split())[:150]
            raise ModelError(
                f"coreferee cannot start ({reason}); 'python -m coreferee install en' "
                "installs its English models"
            ) from error
        return nlp


def _own_pipeline() -> Language:
    from q2_metric.english.parse import parser as spacy_parser

    # A second copy outside the cache, because coreferee must not slow down other parsing.
    nlp = spacy_parser.load.__wrapped__()
    # coreferee knows spaCy's models by name, but the copy on PyPI has another name.
    nlp.meta["name"] = SPACY_MODEL
    return nlp


def _named_pipeline(model: str) -> Language:
    import spacy

    try:
        return spacy.load(model)
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(
            f"spaCy cannot load the pipeline {model!r}: give the name of an "
            "installed one (en_core_web_lg) or a folder"
        ) from error


def _clusters(doc: Doc, turns: Sequence[str]) -> list[list[Mention]]:
    """A mention that spans two turns is left out."""
    starts = list(accumulate((len(turn) + 1 for turn in turns[:-1]), initial=0))
    clusters = []
    for chain in doc._.coref_chains or ():
        found = [_mention(doc, mention.token_indexes, turns, starts) for mention in chain]
        clusters.append([mention for mention in found if mention is not None])
    return clusters


def _mention(
    doc: Doc, tokens: Sequence[int], turns: Sequence[str], starts: Sequence[int]
) -> Mention | None:
    """The whole phrase of ``tokens``, its head or heads; ``None`` if it spans two turns. ``starts``
    has the first character of each turn in ``doc``."""
    head = doc[min(tokens)]
    left, right = _phrase(head)
    if len(tokens) > 1:
        right = max(right, max(tokens) + 1)
    start, end = doc[left].idx, doc[right - 1].idx + len(doc[right - 1])
    turn = max(i for i, at in enumerate(starts) if at <= start)
    if end > starts[turn] + len(turns[turn]):
        return None
    shift = starts[turn]
    return Mention(turn, start - shift, end - shift, head.tag_ == "PRP$" and len(tokens) == 1)


def _phrase(head: Token) -> tuple[int, int]:
    """The head, the words before it, and the named entity that contains it."""
    if head.pos_ == "PRON":
        return head.i, head.i + 1
    left, right = head.left_edge.i, head.i + 1
    entity: Any = next((e for e in head.doc.ents if e.start <= head.i < e.end), None)
    if entity is not None:
        left, right = min(left, entity.start), max(right, entity.end)
        if head.doc[right - 1].tag_ == "POS":
            right -= 1
    return left, right
