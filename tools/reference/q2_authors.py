"""A rewritten copy of the authors' program for Q². Tests compare ``recipe="authors"`` with it.

The program is github.com/orhonovich/q-squared, run with beam search, one question for each span,
and without questions about the speakers. As in the original, each answer and each comparison is one
model call. Only ``run_pipeline.py`` and ``run_nli.py`` are rewritten. The spans and the generated
questions are given as input.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NO_ANSWER = "[CLS]"
SCORES = {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0}


@dataclass
class Step:
    """A valid question and its result.

    - ``span``: the response's answer.
    - ``answer``: the knowledge's answer.
    - ``f1``: score without NLI (token F1 of the two answers).
    - ``score``: score with NLI.
    """

    span: str
    question: str
    answer: str
    f1: float
    score: float


def clean(text: str) -> str:
    """The authors' ``clean_text``: lower case, without punctuation, articles, "in" and "our"."""
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(" +", " ", re.sub(r"\b(a|an|the|in|our)\b", " ", text)).strip()


def f1(span: str, answer: str) -> float:
    """The authors' ``f1_score``: token F1 of the answers ``span`` and ``answer``."""
    gold, found = clean(span).split(), clean(answer).split()
    common = sum((Counter(gold) & Counter(found)).values())
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(gold)
    return 2 * precision * recall / (precision + recall)


class AuthorsQ2:
    """Computes Q² as the authors' two programs do, one after the other.

    Args:
        tokenizer, reader: an extractive question answering model that reads segment ids.
        judge: ``judge(premise, hypothesis)`` returns the NLI label.
        personal: ``personal(question)`` says whether a question is about the speakers.
    """

    def __init__(
        self, tokenizer: Any, reader: Any, judge: Callable[[str, str], str],
        personal: Callable[[str], bool],
    ) -> None:
        self.tokenizer, self.reader, self.judge = tokenizer, reader, judge
        self.personal = personal

    def answer(self, question: str, text: str) -> str:
        """The answer to a question in a text: the tokens from the best start to the best end.

        As in the original, these may lie anywhere in the model's input, also in the question.
        """
        import torch

        inputs = self.tokenizer(
            question, text, return_tensors="pt", return_token_type_ids=True)
        with torch.no_grad():
            output = self.reader(**inputs)
        first, last = int(output.start_logits.argmax()), int(output.end_logits.argmax())
        ids = inputs["input_ids"][0, first : last + 1].tolist()
        pieces = self.tokenizer.convert_ids_to_tokens(ids)
        return "".join(pieces).replace("▁", " ").strip()

    def score(
        self, response: str, knowledge: str, asked: Sequence[tuple[str, Sequence[str]]]
    ) -> tuple[float, list[Step]]:
        """(score of a response, its valid questions).

        ``asked`` contains (span, generated questions, best first) for each span of the response.
        """
        steps = [step for span, questions in asked
                 if (step := self.step(span, questions, response, knowledge)) is not None]
        if steps:
            return sum(step.score for step in steps) / len(steps), steps
        return SCORES[self.judge(knowledge.lower(), response.lower())], []

    def step(
        self, span: str, questions: Sequence[str], response: str, knowledge: str
    ) -> Step | None:
        """The result of the first valid question about a span; ``None`` if no question is valid."""
        for question in questions:
            if self.personal(question):
                continue
            back = self.answer(question, response)
            if back == NO_ANSWER or clean(back) != clean(span):
                continue
            answer = self.answer(question, knowledge)
            share = 0.0 if answer == NO_ANSWER else f1(span, answer)
            score = share
            if share < 1 and answer and NO_ANSWER not in answer:
                label = self.judge(f"{question} {answer}.", f"{question} {span}.")
                score = share if label == "neutral" else SCORES[label]
            return Step(span, question, answer, share, score)
        return None
