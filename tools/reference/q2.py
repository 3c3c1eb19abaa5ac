"""Q² with one model call at a time, as in the paper. The batched pipeline is compared with it.

Honovich et al. (EMNLP 2021, arXiv 2104.08202). Each span, question, answer and comparison is one
model call. Nothing is sorted, padded, shared or cached. This module uses transformers alone, and
nothing of the package's batching. Where the authors' code has a defect, this module differs from it
in the same way as the package:

- The start and the end of an answer are chosen together, inside the passage and in order. The
  answer is cut from the text, not rebuilt from sub-words.
- A passage longer than the reader's window is read in overlapping windows.
- A span that normalises to nothing, or to "i", does not count. An answer's full stop is not doubled
  in front of the NLI model.
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
    """A transformers model and its tokenizer."""

    tokenizer: Any
    model: Any
    window: int = WINDOW


@dataclass
class ReferenceQuestion:
    """A valid question, both answers to it, and its score."""

    span: Span
    question: str
    knowledge_answer: str | None
    label: str | None
    score: float


@dataclass
class ReferenceScore:
    """A response's score, its questions, and whether the score comes from end-to-end NLI."""

    value: float | None
    questions: list[ReferenceQuestion] = field(default_factory=list)
    fallback: bool = False


class ReferenceQ2:
    """Scores responses one at a time with three models.

    Args:
        generator: encoder-decoder that generates questions. ``template(text, start, end)`` makes
            its input.
        reader: extractive question answering model.
        nli: sequence classifier whose config names the labels.
        spans, personal: ``spans`` finds the spans, ``personal`` finds personal questions.
        max_question: maximum tokens of a question.
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
        """The best valid question of a span. It is not personal, and the response answers it with
        the span."""
        for question in self.generate(span):
            if self.personal.personal([question])[0]:
                continue
            answer = self.read(question, span.example.response)
            if answer and normalise(answer[0]) == normalise(span.text) != "":
                return question
        return None

    def compare(self, span: Span, question: str) -> ReferenceQuestion:
        """Compares the knowledge's answer with the span (section 2.3)."""
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
        """Generates questions by beam search, best first."""
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
        """The best answer over all windows of the passage, and how far its score exceeds the score
        of "no answer"."""
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
        """The NLI label of one pair, and the probabilities of the labels."""
        inputs = self.nli.tokenizer(
            premise, hypothesis, return_tensors="pt", truncation="only_first",
            max_length=self.nli.window, return_token_type_ids=segments(self.nli.model))
        with torch.no_grad():
            logits = self.nli.model(**inputs).logits[0]
        names = [self.nli.model.config.id2label[i].lower() for i in range(len(logits))]
        chances = dict(zip(names, logits.softmax(-1).tolist(), strict=True))
        return max(LABELS, key=lambda name: chances.get(name, 0.0)), chances


def segments(model: Any) -> bool:
    """Whether a model reads segment ids, which say to which of two texts a token belongs."""
    return (getattr(model.config, "type_vocab_size", None) or 0) > 1
