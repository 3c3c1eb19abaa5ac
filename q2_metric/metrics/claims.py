"""Keeps back the examples that metrics do not score: blank texts, and responses without a claim.

The rules are :func:`q2_metric.text.given.is_blank` and
:func:`q2_metric.english.claims.checkable.has_claim`.
:mod:`q2_metric.scoring.scores` applies these rules to every metric. The decorators in this module
apply the same rules when one of our metrics is called directly, as in
``Q2.from_preset().score(examples)``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from q2_metric.english.claims.checkable import has_claim
from q2_metric.english.claims.short_answers import decides, is_short
from q2_metric.errors import InputError
from q2_metric.text.excerpts import Excerpt, with_tables
from q2_metric.text.given import all_text, encodable, is_blank, kind
from q2_metric.text.markup import laid_out, unmarked
from q2_metric.types import Claim, ClaimFinder, Example, Reason, Score

Stated = Callable[[Sequence[Example]], list[str | None]]
"""A function that turns each response that is a short answer ("In 1903.") into a statement, with
the help of its question. It returns ``None`` for other responses."""

Scoring = TypeVar("Scoring", bound=Callable[..., list[Score]])


def texts_only(score: Scoring) -> Scoring:
    """A decorator for a metric's method ``score``. Examples with a blank text do not reach it.

    If the knowledge or the response of an example is blank, the example's score has the value
    ``None`` and the reason "no_knowledge" or "empty".

    Raises:
        InputError: an item is not an :class:`~q2_metric.types.Example`.
    """
    return _given_only(score, lambda _metric, example: blank(example))


def claims_only(score: Scoring) -> Scoring:
    """A decorator like :func:`texts_only`. Responses that claim nothing do not reach ``score``
    either.

    The score of such a response has no value and the reason "no_claim". If the metric's attribute
    ``scores_all`` is true, the metric gets these responses after all. If its attribute
    ``reads_question`` is true, it also gets a bare "yes" or "no" that answers the question of its
    example.
    """
    return _given_only(score, _left_out)


def without_marks(example: Example) -> Example:
    """The example with citation marks and markup replaced by blanks. Character offsets do not
    change."""
    return replace(example, response=unmarked(example.response),
                   knowledge=unmarked(laid_out(example.knowledge)))


def as_read(example: Example) -> tuple[Example, Excerpt]:
    """The example as metrics read it: without citation marks and markup, and with the tables and
    JSON of the knowledge as sentences. The second result maps character offsets of this rewritten
    knowledge back to the original knowledge."""
    bare = without_marks(example)
    known = with_tables(bare.knowledge)
    return replace(bare, knowledge=known.text), known


def _left_out(metric: object, example: Example) -> Reason | None:
    """The reason why this metric does not score an example; ``None`` if the metric scores it."""
    if getattr(metric, "scores_all", False):
        return blank(example)
    return unclaimed(example, with_question=getattr(metric, "reads_question", False))


def _given_only(score: Scoring, why_not: Callable[[object, Example], Reason | None]) -> Scoring:
    @functools.wraps(score)
    def scored(self: Any, examples: Sequence[Example], **keywords: Any) -> list[Score]:
        check_examples(examples)
        reasons = [why_not(self, example) for example in examples]
        checked = [one for one, reason in zip(examples, reasons, strict=True) if reason is None]
        scores = iter(score(self, checked, **keywords) if checked else ())
        return [
            Score(example, None, reason=reason) if reason else next(scores)
            for example, reason in zip(examples, reasons, strict=True)
        ]

    return cast(Scoring, scored)


def check_examples(examples: Any) -> None:
    """Checks that ``examples`` is a sequence of :class:`~q2_metric.types.Example` with valid texts.

    Raises:
        InputError: an item is not an :class:`~q2_metric.types.Example`, or a text is not a string.
    """
    if isinstance(examples, (str, Example)) or not isinstance(examples, Sequence):
        raise InputError(f"examples are {_kind(examples)}, not a list of q2_metric.Example")
    for i, example in enumerate(examples):
        if not isinstance(example, Example):
            raise InputError(f"examples[{i}] is {_kind(example)}, not a q2_metric.Example")
        for name in ("response", "knowledge"):
            text = getattr(example, name)
            if not isinstance(text, str):
                raise InputError(f"the {name} of examples[{i}] is {kind(text)}, not a string")
            encodable(text, f"the {name} of examples[{i}]")
        turns: object = example.history
        if not isinstance(turns, tuple) or not all_text(turns):
            what = kind(list(turns) if isinstance(turns, tuple) else turns)
            raise InputError(f"the history of examples[{i}] is {what}, not a tuple of strings, "
                             "one for each turn")


def _kind(value: object) -> str:
    return "one Example" if isinstance(value, Example) else kind(value)


def blank(example: Example) -> Reason | None:
    """The reason for no score if a text is blank: "no_knowledge" if it is the knowledge, "empty" if
    it is the response. ``None`` if neither is blank."""
    if is_blank(example.knowledge):
        return "no_knowledge"
    return "empty" if is_blank(example.response) else None


def is_verdict(example: Example) -> bool:
    """Whether the response is a bare "yes" or "no", and the example's question asks for it.

    Such a response makes a claim: for "Is it open?", "Yes." claims that it is open.
    """
    return decides(unmarked(example.response), example.question)


def short_answers(examples: Sequence[Example], finder: ClaimFinder) -> dict[Example, list[Claim]]:
    """The claims of those examples whose response is a short answer, such as "In 1903.".

    ``finder`` reads each answer together with the example's question. The list of an example is
    empty if the answer is "yes" or "no" and no rule can turn the question into a statement.
    """
    asked = [example for example in examples if example.question and is_short(example.response)]
    claimed = finder.find(asked) if asked else []
    return {example: claims for example, claims in zip(asked, claimed, strict=True)
            if is_verdict(example) or [one.kind for one in claims] == ["answer"]}


def unclaimed(example: Example, *, with_question: bool = False) -> Reason | None:
    """The reason why an example has no claim to judge; ``None`` if it has claims.

    If ``with_question`` is true, "yes" or "no" as the answer to a yes/no question also counts as a
    claim.
    """
    reason = blank(example)
    if reason is None and not has_claim(unmarked(example.response), example.history):
        return None if with_question and is_verdict(example) else "no_claim"
    return reason
