"""SCALE's settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from q2_metric.checks import check_fields
from q2_metric.errors import InputError
from q2_metric.metrics.settings import check_labels
from q2_metric.text.windows import PAPER_CHUNK_SIZE

OVERLAP = 0.25
"""Share of a chunk that the next chunk repeats (the authors' code)."""


Reading = Literal["attributable", "consistent"]
"""When a response counts as supported: if no claim is contradicted or invented ("consistent"), or
only if the knowledge states every statement ("attributable"). Labelling guidelines differ in this.
"""


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
        unit: what is judged at a time: each "sentence", the whole "response", or each "claim" that
            rules cut from it. Section 3 and the authors' runs on TRUE use "response". A claim is a
            part of a sentence that is true or false by itself (``models/english/claims.py``).
        aggregate: how the supports of a response's units are combined into its score: by their mean
            (the paper), minimum or harmonic mean.
        top_chunks: number of chunks that judge a unit (0: all, as in section 3.1). The chunks that
            share most words with the unit are chosen, and rare words count more. With a number
            above 0, evidence is sought only in the chunk that supports the unit most.
        judged_chunks: how many of the ``top_chunks`` the backbone itself judges (0: all). The
            package's small entailment network (a neural network) chooses the chunks that it finds
            most supportive.
        branches: number of parts at each level of the evidence search, at least 2.
        support: when a response counts as supported: only if the knowledge states every sentence
            ("attributable"), or if no claim is contradicted or invented ("consistent"). With
            "attributable", chat and opinion count too. The support of a unit is e, the probability
            of entailment, as in the paper. If the unit is "claim", each sentence is one claim, and
            a response that claims nothing scores 0. With "consistent", chat and opinion do not
            count if something else is claimed. The support of a unit is e / (e + c + 0.1 n), where
            n and c are the probabilities of neutral and contradiction. With a Yes/No backbone the
            support is e, because its "No" does not tell neutral from contradiction.
        chat: "keep" sentences that claim nothing (the paper), "skip" them if another sentence
            claims something, or "score" responses that claim nothing too. "score" is what the
            authors' programs do. With "keep" or "skip", a response without a claim has no
            score.
        markup: "keep", as in the papers, or "skip" what claims nothing: citation marks, HTML,
            Markdown and list numbers. With "skip", each table cell and each JSON value of the
            knowledge is read together with its row and column.
        values: read numbers, amounts, dates and times as "text", as in the paper, or by "value" in
            any notation. By value, with ``unit="claim"``, a claim is judged with its values as the
            knowledge writes them. A claim is supported if its values show that it follows, and
            contradicted if the knowledge has other values.
        nli_labels: the classes of a classifier as ``scale_model`` in the order of its outputs, such
            as "entailment,neutral,contradiction", if its config does not name them.
    """

    chunk_size: int = field(
        default=PAPER_CHUNK_SIZE, metadata={"default": "the preset's; the paper's is 512"}
    )
    overlap: float = OVERLAP
    chunking: Literal["knowledge", "prompt", "sentences"] = "knowledge"
    prompt: str | None = None
    unit: Literal["sentence", "response", "claim"] = "sentence"
    aggregate: Literal["mean", "min", "hmean"] = "mean"
    top_chunks: int = 0
    judged_chunks: int = 0
    branches: int = 2
    support: Reading = "attributable"
    chat: Literal["keep", "skip", "score"] = "keep"
    markup: Literal["keep", "skip"] = "keep"
    values: Literal["text", "value"] = "text"
    nli_labels: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_labels(self.nli_labels)
        if self.chunk_size < 1:
            raise InputError(f"chunk_size must be at least 1 token, not {self.chunk_size}")
        if not 0 <= self.overlap < 1:
            raise InputError(f"overlap must be at least 0 and below 1, not {self.overlap}")
        if self.overlap and self.chunking == "sentences":
            raise InputError("chunking='sentences' needs overlap=0")
        for name in ("top_chunks", "judged_chunks"):
            most = getattr(self, name)
            if most < 0:
                raise InputError(f"{name} must be at least 0 (all), not {most}")
            if most and self.chunking == "prompt":
                raise InputError(f"{name} cannot be used with chunking='prompt'")
        if self.branches < 2:
            raise InputError(
                f"branches must be at least 2, not {self.branches}: the search would never end"
            )

    def signed_rules(self) -> dict[str, object]:
        """The entry of a signature for the rules on values (numbers, amounts, dates, times), which
        correct the backbone (the model that judges claims); empty if they are not used."""
        return {"values": "value"} if self.values == "value" else {}
