"""A reference implementation of Q² that calls a model for one item at a time, as in the paper.

The paper is Honovich et al. (EMNLP 2021, arXiv 2104.08202). Each question, answer and comparison is
one model call. Nothing is sorted, padded, shared or cached. The models are run by transformers
alone, without the package's batching. Tests compare the package's Q² with this one. Both differ
from the authors' code where that code has a defect:

- The start and the end of an answer are chosen together, inside the passage and in order. The
  answer is cut from the text, not rebuilt from sub-words.
- A passage that is longer than the reader's window is read in overlapping windows.
- A span that is empty after normalisation, or is "i", is ignored. If an answer ends in a full stop,
  no second full stop is added for the NLI model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from q2_metric.text.normalise import normalise, token_f1
from q2_metric.types import Example, PersonalFilter, Span, SpanFinder

BEAMS, NO_REPEAT, MAX_QUESTION, MAX_INPUT = 5, 3, 128, 512
WINDOW, STRIDE, LONGEST_ANSWER = 384, 128, 30
LABELS = ("entailment", "neutral", "contradiction")


@dataclass
class Model:
    """A model of transformers and its tokenizer. ``window`` is the maximum number of tokens that it
    reads at a time."""

    tokenizer: Any
    model: Any
    window: int = WINDOW


@dataclass
class ReferenceQuestion:
    """A valid question about a span, and the result of the comparison.

    The span is the response's answer. ``knowledge_answer`` is the knowledge's answer, or ``None``.
    ``label`` is the NLI label, or ``None`` if NLI was not needed.
    """

    span: Span
    question: str
    knowledge_answer: str | None
    label: str | None
    score: float


@dataclass
class ReferenceScore:
    """A response's score and its questions. ``fallback`` is true if there was no question, so that
    NLI judged the response as a whole."""

    value: float | None
    questions: list[ReferenceQuestion] = field(default_factory=list)
    fallback: bool = False


class ReferenceQ2:
    """Computes Q² with three models, for one response at a time.

    Args:
        generator: the encoder-decoder that generates questions.
        reader: the extractive question answering model.
        nli: the NLI model, a sequence classifier whose config contains the names of the labels.
        spans: finds the spans of a response to ask about.
        personal: finds questions about the speakers.
        template: ``template(text, start, end)`` makes the generator's input for a span of a text.
        max_question: maximum number of tokens in a question.
    """

    def __init__(
        self,
        generator: Model,
        reader: Model,
        nli: Model,
        spans: SpanFinder,
        personal: PersonalFilter,
        template: Callable[[str, int, int], str],
        max_question: int = MAX_QUESTION,
    ) -> None:
        self.generator, self.reader, self.nli = generator, reader, nli
        self.spans, self.personal, self.template = spans, personal, template
        self.max_question = max_question

    def score(self, example: Example) -> ReferenceScore:
        """Scores one response as in section 2 of the paper."""
        asked = []
        for span in self.spans.find([example])[0]:
            question = self.first_valid(span)
            if question is not None:
                asked.append(self.compare(span, question))
        if asked:
            return ReferenceScore(sum(item.score for item in asked) / len(asked), asked)
        label, _ = self.judge(example.knowledge, example.response)
        value = {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0}[label]
        return ReferenceScore(value, [], True)

    def first_valid(self, span: Span) -> str | None:
        """The best valid question about a span; ``None`` if there is none.

        A question is valid if it is not about the speakers, and the reader finds the span as its
        answer in the response.
        """
        for question in self.generate(span):
            if self.personal.personal([question])[0]:
                continue
            answer = self.read(question, span.example.response)
            if answer and normalise(answer[0]) == normalise(span.text) != "":
                return question
        return None

    def compare(self, span: Span, question: str) -> ReferenceQuestion:
        """Compares the knowledge's answer to a question with the span (section 2.3)."""
        answer = self.read(question, span.example.knowledge)
        if answer is None:
            return ReferenceQuestion(span, question, None, None, 0.0)
        text = answer[0]
        if normalise(text) == normalise(span.text):
            return ReferenceQuestion(span, question, text, None, 1.0)
        premise = f"{question} {text.rstrip(' .')}."
        hypothesis = f"{question} {span.text.rstrip(' .')}."
        label, _ = self.judge(premise, hypothesis)
        score = {"entailment": 1.0, "contradiction": 0.0}.get(label, token_f1(span.text, text))
        return ReferenceQuestion(span, question, text, label, score)

    # --- one model call each ------------------------------------------------------------

    def generate(self, span: Span) -> list[str]:
        """Generates different questions about a span by beam search, best first."""
        text = self.template(span.example.response, span.start, span.start + len(span.text))
        tokenizer = self.generator.tokenizer
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=MAX_INPUT)
        with torch.no_grad():
            output = self.generator.model.generate(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"],
                num_beams=BEAMS, num_return_sequences=BEAMS, no_repeat_ngram_size=NO_REPEAT,
                max_length=self.max_question, early_stopping=True, do_sample=False)
        questions = []
        for row in output:
            question = tokenizer.decode(row, skip_special_tokens=True).strip()
            question = question.removeprefix("question:").strip()
            if question and question not in questions:
                questions.append(question)
        return questions

    def read(self, question: str, passage: str) -> tuple[str, float] | None:
        """The best answer to a question in a passage: (text, score minus the score of "no answer").

        ``None`` if "no answer" has the higher score.
        """
        if not question.strip() or not passage.strip():
            return None
        tokenizer, window = self.reader.tokenizer, self.reader.window
        room = window - tokenizer.num_special_tokens_to_add(pair=True) - len(
            tokenizer(question, add_special_tokens=False)["input_ids"])
        encoded = tokenizer(
            question, passage, truncation="only_second", max_length=window,
            stride=min(STRIDE, room // 2), return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_token_type_ids=segments(self.reader.model))
        best, null = (-float("inf"), 0, 0), float("inf")
        for row, ids in enumerate(encoded["input_ids"]):
            inputs = {name: torch.tensor([encoded[name][row]])
                      for name in ("input_ids", "attention_mask", "token_type_ids")
                      if name in encoded}
            with torch.no_grad():
                output = self.reader.model(**inputs)
            start, end = output.start_logits[0].double(), output.end_logits[0].double()
            cls = ids.index(tokenizer.cls_token_id)
            null = min(null, float(start[cls] + end[cls]))
            places = {}
            for i, sequence in enumerate(encoded.sequence_ids(row)):
                left, right = encoded["offset_mapping"][row][i]
                if sequence == 1 and passage[left:right].strip():
                    places[i] = (left, right)
            for i in places:
                for j in range(i, i + LONGEST_ANSWER):
                    if j in places and float(start[i] + end[j]) > best[0]:
                        best = (float(start[i] + end[j]), places[i][0], places[j][1])
        score = best[0] - null
        return (passage[best[1] : best[2]].strip(), score) if score > 0 else None

    def judge(self, premise: str, hypothesis: str) -> tuple[str, dict[str, float]]:
        """(NLI label, probability by label) of a premise and a hypothesis."""
        inputs = self.nli.tokenizer(
            premise, hypothesis, return_tensors="pt", truncation="only_first",
            max_length=self.nli.window, return_token_type_ids=segments(self.nli.model))
        with torch.no_grad():
            logits = self.nli.model(**inputs).logits[0]
        names = [self.nli.model.config.id2label[i].lower() for i in range(len(logits))]
        chances = dict(zip(names, logits.softmax(-1).tolist(), strict=True))
        return max(LABELS, key=lambda name: chances.get(name, 0.0)), chances


def segments(model: Any) -> bool:
    """Whether a model reads segment ids, which say for each token to which of two texts it belongs.
    """
    return (getattr(model.config, "type_vocab_size", None) or 0) > 1
