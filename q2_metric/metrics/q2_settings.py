"""Q²'s settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from q2_metric.checks import check_fields
from q2_metric.errors import InputError
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
        coreference: experimental: first replace the response's pronouns by what they refer to in
            the dialogue history (v1, appendix A). The model that it needs is not on the package
            index.
        seed: random seed of ``decoding="sample"``.
        fallback_score: "verdict" scores end-to-end NLI by the most probable class (1, 0.5 or 0),
            "expected" by the probabilities of all classes. "verdict" is the rule of section 4.2.
            With "expected", the score is e + 0.5 n.
        reading: the text in which a span's questions are made and answered: its sentence with its
            "neighbours", or the whole "response" as in the papers. For a response of up to three
            sentences, both are the same text. For longer responses, the cost of "response" grows
            with the square of their length.
        round_trip: which answer from the response makes a question valid: "exact" accepts only the
            span, "list" also a list that contains the span.
        nli_labels: the classes of ``nli_model`` in the order of its outputs, such as
            "entailment,neutral,contradiction", if its config does not name them.
        recipe: whose spans, answers and comparisons are used: those of the "paper", or those of the
            "authors" in their program q-squared. "paper" corrects mistakes of that program.
            "authors" also scores responses that claim nothing.
        values: compare numbers, amounts, dates and times as "text", as in the papers, or by "value"
            in any notation. By value, "25" and "twenty-five" are equal, and "25" and "52"
            contradict each other.
        context: "check" whether NLI or other values of the knowledge contradict a claim, or switch
            this "off" as in the papers. A claim here is a sentence of the response. An answer
            counts for less if NLI finds its claim contradicted. The answer counts for nothing if
            the knowledge's sentence with the answer has other values. A claim without an answered
            question is judged by NLI and counts like one question.
        top_passages: number of passages of about 200 tokens in which an answer is sought (0: all,
            as in the papers). The passages that share most words with the question and its claim
            are chosen.
        markup: "keep", as in the papers, or "skip" what claims nothing: citation marks, HTML,
            Markdown and list numbers. With "skip", each cell of a table in the knowledge is read
            together with its row and column.
    """

    decoding: Literal["beam", "greedy", "sample"] = "beam"
    questions_per_span: Literal["first_valid", "all"] = "first_valid"
    personal: Literal["remove", "keep"] = "remove"
    nli: bool = True
    fallback: bool = True
    drop_unanswerable: bool = False
    coreference: bool = False
    seed: int = 0
    fallback_score: Literal["verdict", "expected"] = "verdict"
    reading: Literal["neighbours", "response"] = "neighbours"
    round_trip: Literal["exact", "list"] = "exact"
    markup: Literal["keep", "skip"] = "keep"
    nli_labels: str | None = None
    recipe: Literal["paper", "authors"] = "paper"
    values: Literal["text", "value"] = "text"
    context: Literal["off", "check"] = "off"
    top_passages: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check_labels(self.nli_labels)
        for name, theirs in _NOT_THEIRS.items() if self.recipe == "authors" else ():
            if (given := getattr(self, name)) != theirs:
                raise InputError(f"recipe='authors' needs {name}={theirs!r}, not {given!r}")
        if self.top_passages < 0:
            raise InputError(f"top_passages must be at least 0 (all), not {self.top_passages}")


_NOT_THEIRS = {"fallback_score": "verdict", "round_trip": "exact", "values": "text",
               "context": "off", "top_passages": 0}
"""With ``recipe="authors"``, these settings must have these values, because the rules of the
authors' program replace them."""

FURTHER = {"fallback_score": "verdict", "reading": "response", "round_trip": "exact",
           "markup": "keep", "recipe": "paper", "values": "text", "context": "off",
           "top_passages": 0}
"""Settings that the papers do not have, each with the value that gives the papers' behaviour. A
signature contains such a setting only if it has another value."""
