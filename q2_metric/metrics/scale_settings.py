"""SCALE's settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from q2_metric.checks import check_fields
from q2_metric.errors import InputError
from q2_metric.metrics.settings import check_labels
from q2_metric.text.windows import PAPER_CHUNK_SIZE

OVERLAP = 0.25
"""Share of a chunk that the next repeats (the authors' code)."""


Reading = Literal["attributable", "consistent"]
"""What counts as supported, by the guidelines of two families of labelled sets."""


@dataclass(frozen=True, slots=True)
class ScaleSettings:
    """SCALE's settings.

    Attributes:
        chunk_size: tokens of a chunk, at least 1.
        overlap: share of a chunk that the next repeats, in [0, 1).
        chunking: what ``chunk_size`` counts: the tokens of the knowledge (section 3.1); those of
            the whole "prompt", windows and all as in the authors' package scale-score (of Yes/No
            backbones only); or the words of whole "sentences", which never overlap (MiniCheck).
        prompt: of a Yes/No model: "scale" (the paper's), "scale-score" (the authors'
            package's) or "minicheck"; ``None`` for the one that fits the model.
        unit: what is judged at a time: each "sentence", the whole "response" as it is written
            (section 3; the authors' runs on TRUE), or each "claim": what of a sentence is true or
            false by itself (``models/english/claims.py``).
        aggregate: how a response's sentences make its score: their mean (the paper),
            the least of them, or their harmonic mean.
        top_chunks: of how many chunks a sentence is judged by, those that share most of its
            words, rare ones above all; 0 for all (section 3.1). Where it is not 0, the
            evidence is sought in the chunk that supports most, not in the whole knowledge.
        judged_chunks: of how many of those a sentence is judged by the backbone itself, the ones
            that the package's small entailment network finds to support it most; 0 for all.
        branches: parts a level of the evidence search, at least 2.
        support: the reading, what counts as supported. "attributable": every sentence must stand
            in the knowledge, chat and opinion too; support is e, the probability of entailment (the
            paper), and with claims as the unit each sentence is one, and a response that claims
            nothing scores 0. "consistent": chat and
            opinion do not count where something else is claimed, and what is claimed must not
            be contradicted or invented; support is e / (e + c + 0.1 n), with n and c the
            probabilities of neutral and contradiction (of a Yes/No backbone, whose "No" is
            neither, e).
        chat: "keep" sentences that claim nothing among the response's sentences (the paper),
            or "skip" them where another sentence claims something. A response that claims nothing
            at all has no score, except with "score" (the authors' programs).
        markup: "keep" (the papers), or "skip" the marks of citations, HTML, Markdown and numbered
            lists in response and knowledge, which claim nothing; the cells of a table of the
            knowledge and the values of JSON are then read with row and column.
        values: how numbers, amounts, dates and times are read: as "text" (the paper), or by
            "value": a claim is judged with its values as the knowledge writes them, is supported
            where it follows by them and contradicted where they are others (with ``unit="claim"``).
        context: "off" (the paper), or "check" the sentence of the knowledge that is nearest to a
            claim: where it denies the claim or leaves it open, the claim is contradicted.
        nli_labels: the classes of a classifier as ``scale_model`` in the order of its outputs,
            as "entailment,neutral,contradiction", where its config does not name them.
    """

    chunk_size: int = field(
        default=PAPER_CHUNK_SIZE, metadata={"default": "the preset's; the paper's is 512"}
    )
    overlap: float = OVERLAP
    chunking: Literal["knowledge", "prompt", "sentences"] = "knowledge"
    prompt: str | None = field(default=None, metadata={"option": "--scale-prompt"})
    unit: Literal["sentence", "response", "claim"] = "sentence"
    aggregate: Literal["mean", "min", "hmean"] = "mean"
    top_chunks: int = 0
    judged_chunks: int = 0
    branches: int = 2
    support: Reading = "attributable"
    chat: Literal["keep", "skip", "score"] = "keep"
    markup: Literal["keep", "skip"] = "keep"
    values: Literal["text", "value"] = "text"
    context: Literal["off", "check"] = field(
        default="off", metadata={"option": "--answer-context"})  # --context is the knowledge
    nli_labels: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_labels(self.nli_labels)
        if self.chunk_size < 1:
            raise InputError(f"chunk_size must be at least 1 token, not {self.chunk_size}")
        if not 0 <= self.overlap < 1:
            raise InputError(f"overlap must be at least 0 and below 1, not {self.overlap}")
        if self.overlap and self.chunking == "sentences":
            raise InputError("chunking='sentences' goes with overlap=0 only")
        for name in ("top_chunks", "judged_chunks"):
            most = getattr(self, name)
            if most < 0:
                raise InputError(f"{name} must be at least 0 (all), not {most}")
            if most and self.chunking == "prompt":
                raise InputError(f"{name} does not go with chunking='prompt'")
        if self.branches < 2:
            raise InputError(
                f"branches must be at least 2, not {self.branches}: the search would never end"
            )

    def signed_rules(self) -> dict[str, object]:
        """What signatures say of the rules that decide beside the backbone."""
        return {**({"values": "value"} if self.values == "value" else {}),
                **({"context": "check"} if self.context == "check" else {})}
