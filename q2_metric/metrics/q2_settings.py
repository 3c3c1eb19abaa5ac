"""Q²'s settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from q2_metric.checks import check_fields
from q2_metric.metrics.settings import check_labels


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
        coreference: experimental: first replace pronouns by what they refer to, turn by turn
            through the dialogue history (v1, appendix A). The model that it needs is not on the
            package index.
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
