"""Q²'s settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from q2_metric.checks import check_fields
from q2_metric.errors import InputError
from q2_metric.metrics.settings import check_labels


@dataclass(frozen=True, slots=True)
class Q2Settings:
    """What the papers leave open or vary; the defaults are the EMNLP paper's.

    Attributes:
        decoding: how questions are generated (section 2.2, and table 8's ablation).
        questions_per_span: stop at a span's first valid question, or keep all.
        personal: remove questions about the speakers, or keep them (persona data).
        nli: compare unequal answers by NLI; otherwise by token F1 alone.
        fallback: score a response without valid question by end-to-end NLI; otherwise
            its value is ``None``.
        drop_unanswerable: leave out the questions that the knowledge does not answer
            where it answers at least one (v1's Q²*, for persona data).
        coreference: resolve the response with its dialogue history first (v1, appendix A).
        seed: of ``decoding="sample"``.
        comparison: what two different answers score: "verdict", by the class that NLI gives
            them (section 2.3), or "expected", the mean of the classes' scores weighted with
            their probabilities: e + n * token F1.
        fallback_score: the same for end-to-end NLI: "verdict" gives 1, 0.5 or 0 (section
            4.2), "expected" e + 0.5 n.
        reading: what a span's questions are made from (by a model) and read in: "neighbours",
            its sentence and the ones beside it, or the whole "response" as in the papers. They
            are the same up to three sentences; beyond, the cost of "response" grows with the
            square of its length.
        round_trip: the answer that makes a question valid: "exact", the span; "list", the span
            or a list that has it as an item; "off", any question is valid, and none is read in
            the response, which is less than half of the work. Meant for questions made by
            rule, of which few are invalid.
        nli_labels: the classes of ``nli_model`` in the order of its outputs, as
            "entailment,neutral,contradiction", where its config does not name them.
        recipe: whose spans, answers and comparisons: "paper", the paper's, with what went wrong
            in the authors' program put right, or the "authors", as their program q-squared has
            them. It also scores responses that claim nothing.
        values: how answers with numbers, amounts, dates and times are compared: as "text" (the
            papers), or by "value", so that "25" and "twenty-five" are equal and "25" and "52"
            contradict each other.
        context: "off" (the papers), or "check" each answer's claim, a sentence of the response: an
            answer counts for less where NLI finds the claim contradicted, for nothing where the
            sentence that the knowledge has it in denies the claim, leaves it open or has other
            values; a claim without any answered question is judged by NLI and counts like one.
        top_passages: in how many passages of the knowledge, of about 200 tokens, an answer is
            sought, those that share most words with question and claim; 0 for all (the papers).
        markup: "keep" (the papers), or "skip" the marks of citations, HTML, Markdown and numbered
            lists in response and knowledge, which claim nothing; the cells of a table of the
            knowledge are then read with row and column.
    """

    decoding: Literal["beam", "greedy", "sample"] = "beam"
    questions_per_span: Literal["first_valid", "all"] = "first_valid"
    personal: Literal["remove", "keep"] = "remove"
    nli: bool = True
    fallback: bool = True
    drop_unanswerable: bool = False
    coreference: bool = False
    seed: int = 0
    comparison: Literal["verdict", "expected"] = "verdict"
    fallback_score: Literal["verdict", "expected"] = "verdict"
    reading: Literal["neighbours", "response"] = "neighbours"
    round_trip: Literal["exact", "list", "off"] = "exact"
    markup: Literal["keep", "skip"] = "keep"
    nli_labels: str | None = None
    recipe: Literal["paper", "authors"] = "paper"
    values: Literal["text", "value"] = "text"
    context: Literal["off", "check"] = field(
        default="off", metadata={"option": "--answer-context"})  # --context is the knowledge
    top_passages: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check_labels(self.nli_labels)
        for name, theirs in _NOT_THEIRS.items() if self.recipe == "authors" else ():
            if (given := getattr(self, name)) != theirs:
                raise InputError(f"recipe='authors' goes with {name}={theirs!r}, not {given!r}")
        if self.top_passages < 0:
            raise InputError(f"top_passages must be at least 0 (all), not {self.top_passages}")


_NOT_THEIRS = {"comparison": "verdict", "fallback_score": "verdict", "round_trip": "exact",
               "values": "text", "context": "off", "top_passages": 0}
"""Settings that are at their defaults with ``recipe="authors"``, which has its own."""

FURTHER = {"comparison": "verdict", "fallback_score": "verdict", "reading": "response",
            "round_trip": "exact", "markup": "keep", "recipe": "paper", "values": "text",
            "context": "off", "top_passages": 0}
"""Settings that the papers do not have: they are signed where they are not as there."""
