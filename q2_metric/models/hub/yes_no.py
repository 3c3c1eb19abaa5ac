"""Judges entailment by a Yes/No question to an encoder-decoder model, as in SCALE."""

import copy
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from q2_metric.errors import InputError, ModelError
from q2_metric.models.hub.batches import Batches, Row, cut, raw_offsets, token_ids, token_offsets
from q2_metric.models.hub.loading import LoadedModel, check_finite
from q2_metric.models.spans import OVERLAP, Pairs, best_verdicts
from q2_metric.text.windows import authors_windows, window_bounds
from q2_metric.types import Verdict

MAX_INPUT = 2048
"""Maximum tokens of a prompt, as in MiniCheck's code. (T5 has no limit, so a larger chunk size
raises it.)"""


class Prompt(NamedTuple):
    """``text`` contains ``{chunk}``, then ``{sentence}``. P(``yes``) and P(``no``) are compared."""

    text: str
    yes: str
    no: str

    def parts(self) -> tuple[str, str, str]:
        """The text before, between and after the two placeholders."""
        before, between, after = re.split("{chunk}|{sentence}", self.text)
        return before, between, after

    def fill(self, chunk: str, sentence: str) -> str:
        """The prompt with both texts, whose own braces are kept.

        >>> PROMPTS["minicheck"].fill("a {sentence}", "b")
        'predict: a {sentence}</s>b'
        """
        before, between, after = self.parts()
        return before + chunk + between + sentence + after


PROMPTS: dict[str, Prompt] = {
    # The prompt of SCALE (arXiv 2310.13189).
    "scale": Prompt(
        '{chunk} Question: does this imply "{sentence}"? Yes or no?', yes="Yes", no="No"),
    # The prompt of the authors' package scale-score.
    "scale-score": Prompt(
        '{chunk} Question: Does this imply that "{sentence}"? Yes or No?', yes="Yes", no="No"),
    # The prompt of MiniCheck's published inference.py. The answers are the first tokens of "1"
    # (209) and of "0" (3, the blank before "0").
    "minicheck": Prompt("predict: {chunk}</s>{sentence}", yes="1", no="0"),
}


def prompt_of(name: str) -> Prompt:
    """The prompt with this name. InputError: it is unknown."""
    if name not in PROMPTS:
        raise InputError(f"unknown prompt {name!r}: use {', '.join(PROMPTS)}")
    return PROMPTS[name]


class YesNoEntailment:
    """SCALE's backbone: asks an encoder-decoder model if a chunk implies a sentence. P(entailment)
    is the probability of "Yes" at the first decoder step, in a softmax over the first tokens of
    both answers only. ``prompt`` is a key of :data:`PROMPTS`. InputError: it is unknown.
    ModelError: both answers begin with the same token."""

    def __init__(
        self, model: LoadedModel, *, prompt: str = "scale", batch_size: int | None = None,
        max_length: int = MAX_INPUT,
    ) -> None:
        self._prompt, self._loaded = prompt_of(prompt), model
        self.name, self.prompt, self.max_length = model.name, self._prompt.text, max_length
        self.batches = Batches(model, batch_size)
        self._start = decoder_start(model)
        self._model = with_head_rows(model.model, answer_ids(model, self._prompt))

    def judge(self, pairs: Pairs) -> list[Verdict]:
        """The verdict's ``neutral`` is P("No"). A chunk that is too long for a prompt is read in
        windows that overlap by a quarter, and gets the verdict of the window with the highest
        P(entailment). A sentence is cut at half the prompt."""
        chunks = [self._without_specials(chunk) for chunk, _ in pairs]
        sentences = [self._without_specials(sentence) for _, sentence in pairs]
        sentences = cut(self._loaded.tokenizer, sentences, self.max_length // 2)
        parts = list(zip(chunks, sentences, strict=True))
        wholes = self.batches.encode([self._prompt.fill(*part) for part in parts])
        return self._best([
            [whole] if len(whole["input_ids"]) <= self.max_length
            else self.batches.encode(self._windows(*part))
            for part, whole in zip(parts, wholes, strict=True)])

    def judge_long(self, pairs: Pairs, chunk_size: int, overlap: float) -> list[Verdict]:
        """A verdict for each (document, sentence) pair: the verdict on the best chunk.

        The document is cut into chunks as in scale-score, the package of SCALE's authors. A chunk
        repeats the share ``overlap`` of the one before, and its whole prompt has at most
        ``chunk_size`` tokens, EOS included. A sentence that leaves no room for the document is cut
        to half of this (scale-score fails on it). InputError: the prompt itself leaves no room.
        """
        documents = {document: self._without_specials(document) for document, _ in pairs}
        bodies = dict(zip(documents, self.batches.encode([*documents.values()]), strict=True))
        return self._best([
            self._authors_rows(documents[document], bodies[document]["input_ids"][:-1], sentence,
                               chunk_size, overlap)
            for document, sentence in pairs])

    def _best(self, prompts: Sequence[Sequence[Row]]) -> list[Verdict]:
        """For each pair, whose prompts are given, the verdict on its best window."""
        items = [item for item, rows in enumerate(prompts) for _ in rows]
        verdicts = self.batches.run([row for rows in prompts for row in rows], self._run)
        return best_verdicts(zip(items, verdicts, strict=True))

    def _authors_rows(
        self, document: str, body: list[int], sentence: str, chunk_size: int, overlap: float
    ) -> list[Row]:
        """One prompt for each chunk of a document, whose tokens are ``body``."""
        sentence = self._without_specials(sentence)
        before, between, after = self._prompt.parts()
        if len(body) < chunk_size:
            (whole,) = self.batches.encode([self._prompt.fill(document, sentence)])
            if len(whole["input_ids"]) < chunk_size:
                return [whole]
        for text in (sentence, *cut(self._loaded.tokenizer, [sentence], chunk_size // 2)):
            head, tail = self.batches.encode([before, between + text + after])
            start, end = head["input_ids"][:-1], tail["input_ids"]
            room = chunk_size - len(start) - len(end)
            if room * (1 - overlap) >= 1:
                return [{"input_ids": start + body[first:last] + end}
                        for first, last in authors_windows(len(body), room, overlap)]
        raise InputError(
            f"chunk_size={chunk_size} leaves no room for the knowledge beside the prompt")

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return token_offsets(self._loaded.tokenizer, text)

    def _windows(self, chunk: str, sentence: str) -> list[str]:
        # At the edges of a window, a cut word can become more tokens. Room is left for two.
        frame = len(self.batches.encode([self._prompt.fill("", sentence)])[0]["input_ids"]) + 2
        spans = raw_offsets(self._loaded.tokenizer, chunk)
        size = max(1, self.max_length - frame)
        step = max(1, size - int(size * OVERLAP))
        return [self._prompt.fill(chunk[spans[first][0] : spans[last - 1][1]].strip(), sentence)
                for first, last in window_bounds(len(spans), size, step, full_last=True)]

    def _without_specials(self, text: str) -> str:
        """The tokenizer would take a "</s>" in a text for the end of the input."""
        for mark in self._loaded.tokenizer.all_special_tokens:
            text = text.replace(mark, " ")
        return text

    def _run(self, batch: dict[str, Any]) -> list[Verdict]:
        import torch

        size = len(batch["input_ids"])
        start = torch.full((size, 1), self._start, device=self._loaded.device)
        logits = self._model(**batch, decoder_input_ids=start, use_cache=False).logits[:, 0]
        chances = check_finite(self.name, logits.float()).softmax(dim=-1)
        return [Verdict(entailment=yes, neutral=no) for yes, no in chances.tolist()]


def answer_ids(loaded: LoadedModel, prompt: Prompt) -> tuple[int, int]:
    """The ids of the tokens with which the answers "yes" and "no" begin, without BOS. ModelError:
    an answer has no token, or both begin with the same token."""
    specials = loaded.tokenizer.all_special_ids
    yes, no = (next((one for one in token_ids(loaded.tokenizer, word) if one not in specials), None)
               for word in (prompt.yes, prompt.no))
    if yes is None or no is None or yes == no:
        raise ModelError(f"{loaded.name}: its vocabulary lacks {prompt.yes!r} or {prompt.no!r}, or "
                         "both begin with the same token")
    return yes, no


def decoder_start(loaded: LoadedModel) -> int:
    """The id of the token that the decoder starts with; ModelError if the config names none."""
    model = loaded.model
    for config in (model.config, getattr(model, "generation_config", None)):
        if isinstance(start := getattr(config, "decoder_start_token_id", None), int):
            return start
    raise ModelError(f"{loaded.name}: its config has no decoder_start_token_id")


def with_head_rows(model: Any, rows: Sequence[int]) -> Any:
    """A copy of ``model`` whose output head computes logits only for the tokens ``rows``. All other
    weights are shared. The model's own code runs before the head, because T5 scales its output if
    the head is tied to the embeddings."""
    import torch

    chosen = list(rows)
    head, view = copy.copy(model.get_output_embeddings()), copy.copy(model)
    # A shallow copy shares these dictionaries.
    view._modules, view._buffers = dict(model._modules), dict(model._buffers)
    head._parameters = {
        name: value if value is None else torch.nn.Parameter(
            value.detach()[chosen], requires_grad=False)
        for name, value in head._parameters.items()}
    view.set_output_embeddings(head)
    if "final_logits_bias" in view._buffers:  # BART adds it to its logits
        view._buffers["final_logits_bias"] = view._buffers["final_logits_bias"][:, chosen]
    return view
