"""Makes questions with known answers, which teach the reader the style of the syntactic generator.

The generator asks about the spans of a hypothesis, so the answers are known. In the hypothesis, the
answer is the span itself (Q²'s round trip). In a premise that supports the hypothesis, the answer
has the same words. If the hypothesis adds something to the premise, the premise has no answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence

from q2_metric.text.normalise import normalise
from q2_metric.types import Example, QuestionGenerator, SpanFinder
from tools.training.examples import ExampleSource, TrainingExample

OWN, PREMISE, NONE = 0.3, 0.5, 0.3
"""For each kind of question: how often an epoch contains it."""


def find(text: str, words: str) -> tuple[int, int] | None:
    """The character range of the first occurrence of ``words`` as whole words. Case is ignored."""
    match = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE)
    return match.span() if match else None


def questions(
    pairs: Iterable[TrainingExample], spans: SpanFinder, generator: QuestionGenerator,
    rng: random.Random, locate: Callable[[str, str], tuple[int, int] | None] = find,
) -> Sequence[ExampleSource]:
    """Three sources of questions: answered in the hypothesis, answered in the premise, without an
    answer.

    ``locate`` finds the character range of a span's words in a premise; ``None`` if they do not
    occur.
    """
    by_pair = {Example(pair.query, pair.text): pair for pair in pairs}
    found = [span for group in spans.find(list(by_pair)) for span in group]
    asked = generator.generate(found)
    own: list[TrainingExample] = []
    premise: list[TrainingExample] = []
    none: list[TrainingExample] = []
    for span, candidates in zip(found, asked, strict=True):
        if not candidates or not normalise(span.text):
            continue
        question = candidates[0] if rng.random() < 0.7 else rng.choice(candidates)
        pair = by_pair[span.example]
        own.append(TrainingExample(question, pair.query, (span.start, span.start + len(span.text)),
                                   "asked_own"))
        place = locate(pair.text, re.sub(r"^(the|a|an) ", "", span.text, flags=re.IGNORECASE))
        if pair.target == "supported" and place:
            premise.append(TrainingExample(question, pair.text, place, "asked_premise"))
        elif pair.target == "not_supported" and not place:
            none.append(TrainingExample(question, pair.text, None, "asked_none"))
    return [ExampleSource("asked_own", OWN, own), ExampleSource("asked_premise", PREMISE, premise),
            ExampleSource("asked_none", NONE, none)]
