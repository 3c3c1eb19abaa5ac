"""The settings of Q² and SCALE, and their reading from keywords with clear error messages."""

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from q2_metric.errors import InputError
from q2_metric.runtime_config import RUNTIME_FIELDS, RuntimeConfig, check_fields
from q2_metric.text.given import kind
from q2_metric.text.windows import PAPER_CHUNK_SIZE

T = TypeVar("T")


def settings_and_runtime(
    settings: type[T], given: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> tuple[T, RuntimeConfig]:
    """Settings that are missing or ``None`` in ``given`` have their value from ``defaults``, or
    else the dataclass's. Raises ``InputError`` for an unknown keyword."""
    names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
    known = [*names, *RUNTIME_FIELDS]
    for other, metric in ((Q2Settings, "Q²"), (ScaleSettings, "SCALE")):
        for name in (one.name for one in dataclasses.fields(other)):
            if name in given and name not in known:
                raise InputError(f"{name!r} is a setting of {metric} alone")
    refuse_unknown(given, known, "setting")
    chosen = {name: value for name, value in given.items() if name in names and value is not None}
    return settings(**{**(defaults or {}), **chosen}), RuntimeConfig.of(given)


def check_stages(*stages: tuple[str, object, str]) -> None:
    """Raises ``InputError`` if a stage, given as (keyword, object, method), lacks its method."""
    for role, stage, method in stages:
        if not callable(getattr(stage, method, None)):
            raise InputError(f"{role} is {kind(stage)}, which has no method {method!r}; "
                             "from_preset makes a metric with all its stages")


def check_labels(text: str | None) -> tuple[str, ...] | None:
    """Splits "entailment,neutral,contradiction"; ``InputError`` for names that NLI models lack."""
    from q2_metric.models.hub.nli import given_labels

    return None if text is None else given_labels(text)


def refuse_unknown(given: Iterable[str], known: Sequence[str], noun: str) -> None:
    """Raises ``InputError`` for an unknown name, with the nearest. ``noun`` says what it is."""
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"unknown {noun} {name!r}{hint} (known: {', '.join(known)})")


@dataclass(frozen=True, slots=True)
class Q2Settings:
    """Settings of Q²: what the two versions of the paper leave open or do differently. The defaults
    are those of the EMNLP version; "v1" is the first version on arXiv.

    ``--help`` shows the first sentence of each setting.

    Attributes:
        decoding: how a question model generates questions (section 2.2; table 8's ablation).
        questions_per_span: keep a span's first valid question only, or all its valid questions.
        personal: remove questions about the speakers, or keep them for persona data.
        nli: compare unequal answers by NLI; if false, by token F1 alone.
        fallback: score a response without a valid question by end-to-end NLI; if false, its value
            is ``None``.
        drop_unanswerable: leave out the questions that the knowledge does not answer, if it answers
            at least one. This is v1's Q²*, for persona data.
        coreference: first replace pronouns by what they refer to, turn by turn through the
            dialogue history (v1, appendix A). It needs a resolver of your own
            (``coreference_model``).
        seed: random seed of ``decoding="sample"``.
        nli_labels: the classes of ``nli_model`` in the order of its outputs, such as
            "entailment,neutral,contradiction", if its config does not name them.
        recipe: how questions are asked and answers compared: as in the "paper", as in the "authors"
            program q-squared, or as the "bundled" models need it. "paper" corrects mistakes of that
            program. "authors" also scores responses that claim nothing. "bundled" skips markup,
            reads tables, compares values in any notation, seeks answers in the nearest passages,
            and lowers the score of a question if NLI finds its claim contradicted. A question that
            the knowledge does not answer scores P(entailment) of its claim, and NLI also judges
            each claim without an answered question.
    """

    decoding: Literal["beam", "greedy", "sample"] = "beam"
    questions_per_span: Literal["first_valid", "all"] = "first_valid"
    personal: Literal["remove", "keep"] = "remove"
    nli: bool = True
    fallback: bool = True
    drop_unanswerable: bool = False
    coreference: bool = False
    seed: int = 0
    nli_labels: str | None = None
    recipe: Literal["paper", "authors", "bundled"] = "paper"

    def __post_init__(self) -> None:
        check_fields(self)
        check_labels(self.nli_labels)


OVERLAP = 0.25
"""Share of a chunk that the next chunk repeats (the authors' code)."""
Reading = Literal["attributable", "consistent"]
"""As in :class:`ScaleSettings`. Labelling guidelines differ in this."""


@dataclass(frozen=True, slots=True)
class ScaleSettings:
    """SCALE's settings. ``--help`` shows the first sentence of each setting.

    Attributes:
        chunk_size: number of tokens of a chunk, at least 1.
        overlap: share of a chunk that the next chunk repeats, in [0, 1).
        chunking: what ``chunk_size`` counts: tokens of the "knowledge", tokens of the whole
            "prompt", or words of whole "sentences" that never overlap. "knowledge" is section 3.1.
            "prompt" cuts windows as the authors' package scale-score does, and works with Yes/No
            backbones only. "sentences" is MiniCheck's way.
        prompt: prompt of a Yes/No model: "scale" (the paper's), "scale-score" (the authors'
            package's) or "minicheck"; ``None`` chooses the one that fits the model.
        unit: what is judged at a time: each "sentence" or the whole "response". The other recipes
            have their own unit.
        top_chunks: number of chunks that judge a unit (0: all, as in section 3.1). The chunks that
            share most words with the unit are chosen, and rare words count more. With a number
            above 0, evidence is sought only in the chunk that supports the unit most.
        branches: number of parts at each level of the evidence search, at least 2.
        support: when a response counts as supported: only if the knowledge states every sentence
            ("attributable"), or if no claim is contradicted or invented ("consistent"). Only the
            recipe "bundled" differs between the two: with "attributable", it judges sentences
            instead of claims, and a response that claims nothing scores 0.
        nli_labels: the classes of a classifier as ``scale_model`` in the order of its outputs, such
            as "entailment,neutral,contradiction", if its config does not name them.
        recipe: how responses are read: as in the "paper", as in the "authors" package scale-score,
            or as the "bundled" models need it. "authors" judges whole responses, also those that
            claim nothing. "bundled" judges each claim by a chunk and by the nearest sentence, reads
            tables, skips markup, compares values by rules, and lets a small network choose the
            chunk that a larger one judges.
        escalate: a band of support, such as "0.3,0.7". The preset's model judges all claims, and
            the endpoint that ``scale_model`` names judges again those whose support is in the band.
    """

    chunk_size: int = field(
        default=PAPER_CHUNK_SIZE, metadata={"default": "the preset's; the paper's is 512"})
    overlap: float = OVERLAP
    chunking: Literal["knowledge", "prompt", "sentences"] = "knowledge"
    prompt: str | None = None
    unit: Literal["sentence", "response"] = "sentence"
    top_chunks: int = 0
    branches: int = 2
    support: Reading = "attributable"
    nli_labels: str | None = None
    recipe: Literal["paper", "authors", "bundled"] = "paper"
    escalate: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_labels(self.nli_labels)
        if self.chunk_size < 1:
            raise InputError(f"chunk_size must be at least 1 token, not {self.chunk_size}")
        if not 0 <= self.overlap < 1:
            raise InputError(f"overlap must be at least 0 and below 1, not {self.overlap}")
        if self.overlap and self.chunking == "sentences":
            raise InputError("chunking='sentences' needs overlap=0")
        if self.top_chunks < 0:
            raise InputError(f"top_chunks must be at least 0 (all), not {self.top_chunks}")
        if self.top_chunks and self.chunking == "prompt":
            raise InputError("top_chunks cannot be used with chunking='prompt'")
        if self.branches < 2:
            raise InputError(
                f"branches must be at least 2, not {self.branches}: the search would never end")
        _ = self.band

    @property
    def band(self) -> tuple[float, float] | None:
        """The two numbers of ``escalate``."""
        if self.escalate is None:
            return None
        try:
            low, high = map(float, self.escalate.split(","))
        except ValueError:
            low = high = math.nan
        if not 0 <= low < high <= 1:
            raise InputError("escalate must be two numbers from 0 to 1, the lower first, such as "
                             f"0.3,0.7, not {self.escalate!r}")
        return low, high
