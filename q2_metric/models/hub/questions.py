"""Generates questions with an encoder-decoder model (Q², section 2.1 and appendix A)."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from q2_metric.errors import ModelError
from q2_metric.memory import remembered
from q2_metric.models.hub.batches import Batches, Row, raw_offsets, token_ids
from q2_metric.models.hub.loading import LoadedModel, check_finite
from q2_metric.text.excerpts import in_passages
from q2_metric.types import Span

Decoding = Literal["beam", "greedy", "sample"]
QuestionContext = Literal["neighbours", "response"]

BEAMS = 5
DECODINGS: dict[Decoding, dict[str, Any]] = {
    "beam": {"num_beams": BEAMS, "num_return_sequences": BEAMS, "no_repeat_ngram_size": 3,
             "early_stopping": True},
    "greedy": {},
    "sample": {"do_sample": True, "top_k": 50, "top_p": 0.95, "temperature": 1.0,
               "num_return_sequences": 5},
}
"""As in the Q² authors' ``get_questions_beam`` and ``get_questions_sample``."""
MAX_QUESTION, MAX_INPUT = 128, 512
"""In tokens. A question has its decoder's start token, too, as in the Q² authors' code. T5 was
trained with inputs of this length. A longer text is cut around its span."""

CPU_TOKENS = 32_768
"""Input and output tokens of all beams: about 35 spans of short responses. (With T5-small, batches
of 32 spans were faster than of 16 and 64.)"""

QUESTION_PREFIX = "question:"
"""The model of the Q² paper (by mrm8488) writes this before each question."""

_JOINED = {" .": ".", " ?": "?", " !": "!", " ,": ",", " ' ": "'", " n't": "n't", " 'm": "'m",
           " 's": "'s", " 've": "'ve", " 're": "'re"}
"""Replacements in decoded questions, in the order of transformers 3."""

HIGHLIGHT = "<hl>"


def _filled(form: str, text: str, start: int, end: int) -> str:
    """The model's input, by which it writes a question with the answer ``text[start:end]``."""
    return form.format(text=text, before=text[:start], answer=text[start:end], after=text[end:])


TEMPLATES = {name: partial(_filled, form) for name, form in {
    # mrm8488/t5-base-finetuned-question-generation-ap, the model of the Q² paper
    "answer-context": "answer: {answer}  context: {text}",
    # lmqg's question generators
    "highlight": "generate question: {before}<hl> {answer} <hl>{after}",
    # valhalla's question generators, with one more blank outside each mark
    "highlight-spaced": "generate question: {before} <hl> {answer} <hl> {after}",
}.items()}
"""Input formats. They differ in how they mark the answer in the text."""


class Seq2SeqQuestions:
    """Generates questions with an encoder-decoder model.

    Args:
        template: a key of :data:`TEMPLATES`. ``None`` means "highlight" if the tokenizer has
            ``<hl>``, otherwise "answer-context".
        decoding: a key of :data:`DECODINGS`: 5 questions, or with "greedy" 1.
        seed: each input is sampled alone, with a seed made of ``seed`` and the input's text.
        reading: the text that the model reads: the span's sentence with its "neighbours", or the
            whole "response".
        authors: questions are cleaned by :func:`by_authors`.
        batch_size: spans in one batch; ``None`` takes as many as fit. "sample" always takes one.

    ModelError: the model's tokenizer lacks the template's marks.
    """

    def __init__(
        self, model: LoadedModel, *, template: str | None = None, decoding: Decoding = "beam",
        seed: int = 0, reading: QuestionContext = "neighbours", authors: bool = False,
        batch_size: int | None = None,
    ) -> None:
        knows_mark = HIGHLIGHT in model.tokenizer.get_vocab()
        if template is None:
            template = "highlight" if knows_mark else "answer-context"
        if template != "answer-context" and not knows_mark:
            raise ModelError(f"{model.name}: its tokenizer lacks {HIGHLIGHT!r}, which the template "
                             f"{template!r} needs; use template='answer-context'")
        self.name, self.template, self.seed = model.name, template, seed
        self.decoding, self.reading = decoding, reading
        self._clean = by_authors if authors else clean
        self.batches = Batches(
            model, 1 if decoding == "sample" else batch_size,
            copies=1 if decoding == "greedy" else BEAMS, extra=MAX_QUESTION, cpu_tokens=CPU_TOKENS)
        self._loaded = model

    def generate(self, spans: Sequence[Span]) -> list[list[str]]:
        """The candidate questions for each span, best first and without repetitions."""
        if self.reading == "neighbours":
            spans = in_passages(spans)
        return list(map(list, remembered(self._generate, map(self._input, spans), {})))

    def _input(self, span: Span) -> str:
        build, tokenizer = TEMPLATES[self.template], self._loaded.tokenizer
        text, start = place(span)
        parts = [text[:start], span.text, text[start + len(span.text) :]]
        for mark in {HIGHLIGHT, *tokenizer.all_special_tokens}:  # such as "</s>"
            parts = [part.replace(mark, "") for part in parts]
        text, start, end = "".join(parts), len(parts[0]), len(parts[0]) + len(parts[1])
        whole = build(text, start, end)
        if len(whole.encode()) < MAX_INPUT:  # each token has at least one byte
            return whole
        # The tokens of the template with the span alone, and one for EOS, which is added later.
        frame = len(token_ids(tokenizer, build(text[start:end], 0, end - start))) + 1
        lo, hi = around(raw_offsets(tokenizer, text), start, end, MAX_INPUT - frame)
        if (lo, hi) != (0, 0):
            text, start, end = text[lo:hi], start - lo, end - lo
        return build(text, start, end)

    def _generate(self, inputs: Sequence[str]) -> list[list[str]]:
        rows = self.batches.encode(inputs, truncation=True, max_length=MAX_INPUT)
        if self.decoding != "sample":
            return self.batches.run(rows, self._decode)
        return [questions for text, row in zip(inputs, rows, strict=True)
                for questions in self._sample(text, row)]

    def _sample(self, text: str, row: Row) -> list[list[str]]:
        import torch

        digest = hashlib.sha256(f"{self.seed}\n{text}".encode()).digest()
        device = torch.device(self._loaded.device)
        devices = [device.index or 0] if device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
            return self.batches.run([row], self._decode)

    def _decode(self, batch: dict[str, Any]) -> list[list[str]]:
        # Some models give no finite numbers in half precision. They would write noise that looks
        # like text.
        encoded = self._loaded.model.get_encoder()(**batch)
        check_finite(self.name, encoded.last_hidden_state)
        output = self._loaded.model.generate(
            **batch, encoder_outputs=encoded,
            **{"do_sample": False, "num_beams": 1, **DECODINGS[self.decoding]},
            max_length=MAX_QUESTION)
        count = len(output) // len(batch["input_ids"])
        texts = self._loaded.tokenizer.batch_decode(output, skip_special_tokens=True)
        return [self._clean(texts[i : i + count]) for i in range(0, len(texts), count)]


def clean(texts: Sequence[str]) -> list[str]:
    """Removes prefixes and outer blanks, and drops empty and repeated questions.

    >>> clean(["question: Who?", "Who?", " "])
    ['Who?']
    """
    questions = (text.strip().removeprefix(QUESTION_PREFIX).strip() for text in texts)
    return [question for question in dict.fromkeys(questions) if question]


def by_authors(texts: Sequence[str]) -> list[str]:
    """Cleans questions as the program of Q²'s authors does; repeated and empty ones are kept.

    >>> by_authors(["question: Who does n't know , and why ?"])
    ["Who doesn't know, and why?"]
    """
    for mark, joined in _JOINED.items():
        texts = [text.replace(mark, joined) for text in texts]
    return [text.replace(f"{QUESTION_PREFIX} ", "", 1) for text in texts]


def place(span: Span) -> tuple[str, int]:
    """The text from which the question is made, and the character offset of the span in it. A span
    of a coreference-resolved text may not stand at ``span.start`` of the response."""
    text, start = span.example.response, span.start
    if not text.startswith(span.text, start):
        start = text.find(span.text)
    return (text, start) if start >= 0 else (f"{span.text} {text}", 0)


def around(offsets: Sequence[tuple[int, int]], start: int, end: int, limit: int) -> tuple[int, int]:
    """The characters [start, end) of at most ``limit`` tokens around a span; (0, 0) means all.

    >>> around([(0, 1), (2, 3), (4, 5), (6, 7)], 4, 5, 2)
    (2, 5)
    """
    inside = [i for i, (left, right) in enumerate(offsets) if left < end and right > start]
    if len(offsets) <= limit or not inside:
        return 0, 0
    spare = max(0, limit - len(inside))
    first = max(0, min(inside[0] - (spare + 1) // 2, len(offsets) - len(inside) - spare))
    last = min(len(offsets), first + len(inside) + spare)
    return min(start, offsets[first][0]), max(end, offsets[last - 1][1])
