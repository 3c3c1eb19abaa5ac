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
"""What counts as supported, in two families of labelling guidelines."""


@dataclass(frozen=True, slots=True)
class ScaleSettings:
    """SCALE's settings. ``--help`` shows the first sentence of each.

    Attributes:
        chunk_size: tokens of a chunk, at least 1.
        overlap: share of a chunk that the next chunk repeats, in [0, 1).
        chunking: what ``chunk_size`` counts: tokens of the "knowledge", tokens of the whole
            "prompt", or words of whole "sentences" that never overlap. The first is section 3.1.
            The second cuts windows as the authors' package scale-score does, for Yes/No backbones
            only. The third is MiniCheck's.
        prompt: prompt of a Yes/No model: "scale" (the paper's), "scale-score" (the authors'
            package's) or "minicheck"; ``None`` chooses the one that fits the model.
        unit: what is judged at a time: each "sentence", the whole "response", or each "claim"
            that rules cut from it. "response" is section 3 and the authors' runs on TRUE. A claim
            is a part of a sentence that is true or false by itself
            (``models/english/claims.py``).
        aggregate: how the units of a response make its score: by their mean (the paper), their
            minimum or their harmonic mean.
        top_chunks: number of chunks that judge a unit (0: all, as in section 3.1). They are those
            that share most words with the unit, and rare words count more. If it is not 0,
            evidence is sought only in the chunk that supports most.
        judged_chunks: number of those chunks that the backbone itself judges (0: all). They are
            those that the package's small entailment network finds most supportive.
        branches: parts at each level of the evidence search, at least 2.
        support: the reading: "attributable" wants every sentence stated in the knowledge,
            "consistent" ignores chat and wants no claim contradicted or invented.
            "attributable": chat and opinion count too, and support is e, the probability of
            entailment, as in the paper. With claims as the unit, each sentence is one claim, and a
            response that claims nothing scores 0.
            "consistent": chat and opinion do not count if something else is claimed, and support is
            e / (e + c + 0.1 n), where n and c are the probabilities of neutral and contradiction.
            For a Yes/No backbone it is e, because its "No" is neither of them.
        chat: "keep" sentences that claim nothing (the paper), "skip" them if another sentence
            claims something, or "score" responses that claim nothing too. Without "score", which
            is the authors' programs', a response that claims nothing has no score.
        markup: "keep", as in the papers, or "skip" what claims nothing: citation marks, HTML,
            Markdown and list numbers. With "skip", the cells of tables and the values of JSON in
            the knowledge are read with their row and column.
        values: read numbers, amounts, dates and times as "text", as in the paper, or by "value" in
            any notation. By value, with ``unit="claim"``, a claim is judged with its values as the
            knowledge writes them. It is supported if it follows by its values, and contradicted
            if the knowledge has other values.
        context: "check" whether the nearest sentence of the knowledge denies a claim or leaves it
            open, or switch this "off" as in the paper. Such a claim is contradicted.
        nli_labels: the classes of a classifier as ``scale_model`` in the order of its outputs,
            such as "entailment,neutral,contradiction", if its config does not name them.
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
        """The parts of a signature that name the rules beside the backbone."""
        return {**({"values": "value"} if self.values == "value" else {}),
                **({"context": "check"} if self.context == "check" else {})}
