"""Makes answer pairs with labels, which teach the entailment network the answers that Q² compares.

Q² runs on training pairs whose label is known. If the two answers to a question differ, the answer
pair gets the label of the response. The reason for the difference has no effect (a looser date, a
shorter name, an answer beside the point). Equal and missing answers are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.metrics.answers import answer_sentence
from q2_metric.metrics.q2 import Q2
from q2_metric.types import Comparison, Example
from tools.training.examples import ExampleSource, TrainingExample, held_out

RATE = 1.5


def comparisons(pairs: Sequence[TrainingExample], q2: Q2) -> ExampleSource:
    """The pairs of different answers that Q² finds for ``pairs``.

    Args:
        pairs: responses (``query``) with their knowledge (``text``) and label.
        q2: Q² with ``nli=False`` and ``fallback=False``. Only its questions and answers are used.
    """
    found = []
    # The texts of the answers are new. So the texts of the original pair decide whether the answer
    # pair is held out.
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
