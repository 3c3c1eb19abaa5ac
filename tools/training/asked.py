"""Self-labelled questions, which teach the reader the style of the syntactic generator.

The generator asks about the spans of a hypothesis, so the answers are known. In the hypothesis the
answer is the span itself (the round trip of Q²); a premise that supports the hypothesis answers
with the same words. If the hypothesis adds something, the premise has no answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence

from q2_metric.text.normalise import normalise
from q2_metric.types import Example, QuestionGenerator, SpanFinder
from tools.training.examples import ExampleSource, TrainingExample

OWN, PREMISE, NONE = 0.3, 0.5, 0.3
"""How often the questions of each kind are seen in an epoch."""


def find(text: str, words: str) -> tuple[int, int] | None:
    """Characters of the first occurrence as whole words; case is ignored."""
    match = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE)
    return match.span() if match else None


def questions(
    pairs: Iterable[TrainingExample], spans: SpanFinder, generator: QuestionGenerator,
    rng: random.Random, locate: Callable[[str, str], tuple[int, int] | None] = find,
) -> Sequence[ExampleSource]:
    """Three sources of questions: answered in the hypothesis, answered in the premise, without
    answer.

    ``locate`` finds the characters of a span's words in a premise; ``None`` if they are not there.
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
