"""SCALE's settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from q2_metric.checks import check_fields
from q2_metric.errors import InputError
from q2_metric.metrics.settings import check_labels
from q2_metric.text.windows import PAPER_CHUNK_SIZE

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
            claim nothing. "bundled" judges each claim, reads tables, skips markup, compares values
            by rules, and lets a small network choose the chunk that a larger one judges.
        escalate: a band of support, such as "0.3,0.7". The preset's model judges all claims, and
            the endpoint that ``scale_model`` names judges again those whose support is in the band.
    """

    chunk_size: int = field(
        default=PAPER_CHUNK_SIZE, metadata={"default": "the preset's; the paper's is 512"}
    )
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
                f"branches must be at least 2, not {self.branches}: the search would never end"
            )
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
