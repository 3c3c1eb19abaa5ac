"""Makes training examples for the NLI model from the pairs of answers that Q² compares.

Q² is run on responses whose label is known. If the two answers to a question differ, the pair of
answers gets the label of the response, whatever the difference (a looser date, a shorter name, an
answer beside the point). Equal answers and missing answers are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.metrics.q2 import Q2, answer_sentence
from q2_metric.types import Comparison, Example
from tools.training.examples import ExampleSource, TrainingExample, held_out

RATE = 1.5
"""How often an epoch contains such a pair of answers, on average."""


def comparisons(pairs: Sequence[TrainingExample], q2: Q2) -> ExampleSource:
    """Makes a source of examples from the pairs of different answers that Q² finds.

    Args:
        pairs: responses (``query``) with their knowledge (``text``) and label.
        q2: Q² with the settings ``nli=False`` and ``fallback=False``, because only its questions
            and answers are used.
    """
    found = []
    # Held-out pairs are removed here, because a pair of answers does not contain the knowledge, by
    # which held-out pairs are recognised.
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
