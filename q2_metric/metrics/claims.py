"""Decides which examples a metric scores, for :mod:`q2_metric.scoring.scores` and for direct calls
of our metrics."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from q2_metric.english.claims.checkable import decides, has_claim, read_ahead
from q2_metric.english.claims.language import not_english
from q2_metric.errors import InputError
from q2_metric.runtime_config import RuntimeConfig
from q2_metric.text.excerpts import Excerpt, with_tables
from q2_metric.text.given import all_text, encodable, is_blank, kind
from q2_metric.text.markup import body, laid_out, unmarked
from q2_metric.types import Example, Metric, Passage, Reason, Score

Scoring = TypeVar("Scoring", bound=Callable[..., list[Score]])
AnyMetric = TypeVar("AnyMetric", bound=Metric)


def gated(score: Scoring) -> Scoring:
    """Keeps from a method ``score`` the examples that its metric does not score
    (:func:`why_not`); each gets a score with the reason. Raises ``InputError`` if an item is no
    example."""
    @functools.wraps(score)
    def scored(self: Any, examples: Sequence[Example], **keywords: Any) -> list[Score]:
        check_examples(examples)
        if not _takes_all(self):
            read_ahead(_said(example) for example in examples)
        reasons = [why_not(self, example) for example in examples]
        kept = [one for one, reason in zip(examples, reasons, strict=True) if reason is None]
        scores = iter(score(self, kept, **keywords) if kept else ())
        return [Score(example, None, reason=reason) if reason else next(scores)
                for example, reason in zip(examples, reasons, strict=True)]

    return cast(Scoring, scored)


def why_not(metric: Metric, example: Example) -> Reason | None:
    """Why a metric does not score an example: "no_knowledge" or "empty" if a text is blank,
    "knowledge_language" or "language" if one is not English, "no_claim" if the response claims
    nothing. The last two are scored if the metric's entry has ``any_text`` or its attribute
    ``scores_all`` is true, other languages if ``any_language`` is true, and a bare "yes" or "no" to
    the example's question if ``reads_question`` is true."""
    if _takes_all(metric):
        return blank(example)
    if not getattr(metric, "any_language", False) and language(example):
        foreign: Reason = "knowledge_language" if not_english(example.knowledge) else "language"
        return blank(example) or foreign
    return unclaimed(example, with_question=getattr(metric, "reads_question", False))


def _takes_all(metric: Metric) -> bool:
    # Imported here, because the registry imports metrics of other packages, which may import this.
    from q2_metric.metrics.registry import entry

    return entry(metric.name).any_text or getattr(metric, "scores_all", False)


FOREIGN: frozenset[Reason] = frozenset({"language", "knowledge_language"})


def language(example: Example) -> str | None:
    """The code of the response's language, or else the knowledge's, if one is not English."""
    return not_english(example.response) or not_english(example.knowledge)


def reads(metric: AnyMetric, config: RuntimeConfig) -> AnyMetric:
    """Lets a metric score all languages if its settings say so, and says so in its signature."""
    if config.any_language:
        metric.any_language = True  # type: ignore[attr-defined]
        metric.signature += "|any_language:yes"
    return metric


def without_marks(example: Example) -> Example:
    """Blanks replace citation marks, markup, and what stands around the response, so that character
    offsets do not change."""
    return replace(example, response=unmarked(body(example.response)),
                   knowledge=unmarked(laid_out(example.knowledge)))


def as_read(example: Example) -> tuple[Example, Excerpt]:
    """Without marks, and with the tables and JSON of the knowledge as sentences. The second result
    maps offsets in this knowledge back to the original."""
    bare = without_marks(example)
    known = with_tables(bare.knowledge)
    return replace(bare, knowledge=known.text), known


def check_examples(examples: Any) -> None:
    """Raises ``InputError`` if ``examples`` is no sequence of examples with valid texts."""
    if isinstance(examples, (str, Example)) or not isinstance(examples, Sequence):
        raise InputError(f"examples are {_kind(examples)}, not a list of q2_metric.Example")
    for i, example in enumerate(examples):
        if not isinstance(example, Example):
            raise InputError(f"examples[{i}] is {_kind(example)}, not a q2_metric.Example")
        for name in ("response", "knowledge", "question"):
            text = getattr(example, name)
            if text is None and name == "question":
                continue
            if not isinstance(text, str):
                raise InputError(f"the {name} of examples[{i}] is {kind(text)}, not a string"
                                 + "; join passages by line breaks" * isinstance(text, list))
            encodable(text, f"the {name} of examples[{i}]")
        turns: object = example.history
        if not isinstance(turns, tuple) or not all_text(turns):
            what = kind(list(turns) if isinstance(turns, tuple) else turns)
            raise InputError(f"the history of examples[{i}] is {what}, not a tuple of strings, "
                             "one for each turn")
        if not all(isinstance(passage, Passage) for passage in example.passages):
            raise InputError(f"the passages of examples[{i}] are not q2_metric.types.Passage; "
                             "leave them out, or use q2_metric.scoring.example(response, "
                             "[passages])")


def _kind(value: object) -> str:
    return "one Example" if isinstance(value, Example) else kind(value)


def blank(example: Example) -> Reason | None:
    if is_blank(example.knowledge):
        return "no_knowledge"
    return "empty" if is_blank(example.response) else None


def unclaimed(example: Example, *, with_question: bool = False) -> Reason | None:
    """Why an example has no claim; ``with_question`` counts "yes" or "no" to a question as one."""
    said = _said(example)
    if (reason := blank(example)) or has_claim(said, example.history):
        return reason
    return None if with_question and decides(said, example.question) else "no_claim"


def _said(example: Example) -> str:
    return unmarked(body(example.response))
