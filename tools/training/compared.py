"""Self-labelled comparisons: the entailment network meets the answers that Q² compares.

The pipeline runs on training pairs whose label is known. Where the two answers to a
question differ, the pair is supported if the response is, however the answers came to
differ (a looser date, a shorter name, a reader that answered beside the point), and not
supported if the response is not. Equal answers and missing ones need no comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.metrics.answers import answer_sentence
from q2_metric.metrics.q2 import Q2
from q2_metric.types import Comparison, Example
from tools.training.examples import ExampleSource, TrainingExample, held_out

RATE = 1.5


def comparisons(pairs: Sequence[TrainingExample], q2: Q2) -> ExampleSource:
    """The answer pairs of ``pairs`` that differ.

    Args:
        pairs: responses (``query``) with their knowledge (``text``) and label.
        q2: with ``nli=False`` and ``fallback=False``: only its questions and answers count.
    """
    found = []
    # The answers are other texts than the pair's own: its share is decided by the pair.
    pairs = [pair for pair in pairs if not held_out(pair.text)]
    scores = q2.score([Example(pair.query, pair.text) for pair in pairs])
    for pair, score in zip(pairs, scores, strict=True):
        label = "supported" if pair.target == "supported" else "not_supported"
        for item in score.evidence:
            if isinstance(item, Comparison) and item.how == "token_f1":
                question, answer = item.question.text, item.knowledge_answer or ""
                found.append(TrainingExample(
                    answer_sentence(question, item.response_answer),
                    answer_sentence(question, answer), label, "compared"))
    return ExampleSource("compared", RATE, found)
