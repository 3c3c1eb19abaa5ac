"""Entailment with torch models: NLI cross-encoders, and Yes/No prompts as in SCALE."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from q2_metric.errors import InputError, ModelError
from q2_metric.models.hub.batches import Batches, Row
from q2_metric.models.hub.common import (
    Loaded,
    check_finite,
    cut,
    encode_pairs,
    load_pretrained,
    raw_offsets,
    token_ids,
    token_offsets,
    window_size,
)
from q2_metric.models.verdicts import best_verdicts
from q2_metric.types import Label, Verdict

OVERLAP = 0.25
"""Share of a window that the next one repeats, where a premise is too long for one."""

# --- NLI cross-encoders -----------------------------------------------------------------

ENTAILMENT_NAMES = frozenset({"entailment", "entails", "entail", "supported"})
NEUTRAL_NAMES = frozenset(
    {"neutral", "not_entailment", "non_entailment", "no_entailment", "unsupported"}
)
CONTRADICTION_NAMES = frozenset({"contradiction", "contradicts", "contradict"})


class TorchNli:
    """Judges entailment with any sequence classification model trained on NLI.

    It is a SCALE backbone too. The order of the classes is read from the model's config
    (any case; two-way models say "entailment" and "not_entailment", whose probability goes
    to ``neutral``).

    Args:
        model: Hub name, local folder, or a :class:`Loaded` model.
        labels: names of the logits in order, for models whose config has only LABEL_0 …
        batch_size: windows at a time; ``None`` for as many as fit (see ``Batches``).
        max_length: tokens of premise and hypothesis together; ``None`` for the model's.
        device: "auto", "cpu", "cuda", "cuda:N" or "mps".
        dtype: "float32", "bfloat16" or "float16".

    Raises:
        InputError: an unknown device or dtype, labels that name no entailment class.
        MissingExtra: torch or transformers is not installed.
        ModelError: the model cannot be loaded, is not a classifier, or does not say which
            of its classes is entailment.
    """

    prompt = ""

    def __init__(
        self,
        model: str | Loaded,
        *,
        labels: Sequence[str] | None = None,
        batch_size: int | None = None,
        max_length: int | None = None,
        device: str = "auto",
        dtype: str = "float32",
    ) -> None:
        if isinstance(model, str):
            model = load_pretrained("AutoModelForSequenceClassification", model, device, dtype)
        window = window_size(model)
        self.name = model.name
        self.batches = Batches(model, batch_size)
        self.max_length = window if max_length is None else min(max_length, window)
        self._loaded = model
        self._order = label_order(model.name, model.model.config, labels)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """A verdict for each (premise, hypothesis); equal pairs are judged once.

        A premise too long for the model is read in windows that overlap by a quarter, and
        the window with the highest P(entailment) gives the verdict. Only a hypothesis that
        would fill more than half a window is cut.
        """
        asked = list(dict.fromkeys(pairs))
        tokenizer, limit = self._loaded.tokenizer, self.max_length // 2
        hypotheses = cut(tokenizer, [hypothesis for _, hypothesis in asked], limit)
        windows = encode_pairs(
            self._loaded,
            list(zip((premise for premise, _ in asked), hypotheses, strict=True)),
            long=0,
            max_length=self.max_length,
            overlap=int(OVERLAP * self.max_length),
        )
        verdicts = self.batches.run([window.inputs for window in windows], self._run)
        found = best_verdicts([window.item for window in windows], verdicts, len(asked))
        by_pair = dict(zip(asked, found, strict=True))
        return [by_pair[pair] for pair in pairs]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """(start, end) characters of the model's tokens, without special tokens or blanks."""
        return token_offsets(self._loaded.tokenizer, text)

    def _run(self, batch: dict[str, Any]) -> list[Verdict]:
        logits = check_finite(self.name, self._loaded.model(**batch).logits.float())
        verdicts = []
        for row in logits.softmax(dim=-1).tolist():
            chances = dict.fromkeys(("entailment", "neutral", "contradiction"), 0.0)
            for label, chance in zip(self._order, row, strict=True):
                chances[label] += chance
            verdicts.append(Verdict(**chances))
        return verdicts


def label_order(name: str, config: Any, labels: Sequence[str] | None = None) -> list[Label]:
    """Which class each logit stands for.

    Args:
        name: the model, for the message.
        config: has ``id2label`` and ``num_labels``.
        labels: class names in the order of the logits, instead of the config's.

    Raises:
        InputError: ``labels`` has the wrong length or unknown names.
        ModelError: the config does not tell which class is entailment.
    """
    given = labels is not None
    names = (
        list(labels)
        if labels is not None
        else [str(config.id2label[i]) for i in range(config.num_labels)]
    )
    error: type[InputError] | type[ModelError] = InputError if given else ModelError
    if len(names) != config.num_labels:
        raise error(f"{name}: {len(names)} labels given, but the model has {config.num_labels}")
    order = [_label(item) for item in names]
    known = [label for label in order if label is not None]
    if len(known) != len(order) or len(set(known)) != len(known) or "entailment" not in known:
        raise error(
            f"{name}: cannot tell its classes from the names {', '.join(names)}; give "
            "labels=('entailment', 'neutral', 'contradiction') in the order of its logits"
        )
    if len(known) < 2:
        raise error(f"{name}: has one output only; an NLI model needs two or three classes")
    return known


def _label(name: str) -> Label | None:
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    if plain in ENTAILMENT_NAMES:
        return "entailment"
    if plain in NEUTRAL_NAMES:
        return "neutral"
    return "contradiction" if plain in CONTRADICTION_NAMES else None


# --- Yes/No prompts ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to an encoder-decoder model, and its two answers.

    ``text`` holds ``{chunk}`` and then ``{sentence}``, once each.
    """

    text: str
    yes: str
    no: str

    def parts(self) -> tuple[str, str, str]:
        """The prompt before, between and after its two places.

        Raises:
            InputError: a place is missing, repeated, or they are the other way round.
        """
        before, *rest = self.text.split("{chunk}")
        between, *after = "".join(rest).split("{sentence}") if len(rest) == 1 else [""]
        if len(after) != 1 or "{sentence}" in before:
            raise InputError("a prompt must hold {chunk} and then {sentence}, once each")
        return before, between, after[0]

    def fill(self, chunk: str, sentence: str) -> str:
        """The prompt with its places filled; braces in the texts mean nothing.

        >>> PROMPTS["minicheck"].fill("a {sentence}", "b")
        'predict: a {sentence}</s>b'
        """
        before, between, after = self.parts()
        return before + chunk + between + sentence + after


PROMPTS: dict[str, Prompt] = {
    # SCALE (arXiv 2310.13189).
    "scale": Prompt(
        '{chunk} Question: does this imply "{sentence}"? Yes or no?', yes="Yes", no="No"
    ),
    # The package scale-score, the authors' own.
    "scale-score": Prompt(
        '{chunk} Question: Does this imply that "{sentence}"? Yes or No?', yes="Yes", no="No"
    ),
    # MiniCheck's published inference.py; it reads the logits of tokens 209 ("1") and
    # 3 (the blank that begins "0"), the first tokens of these two words.
    "minicheck": Prompt("predict: {chunk}</s>{sentence}", yes="1", no="0"),
}
"""Prompts by name."""

MAX_INPUT = 2048
"""Longest prompt in tokens: T5 has no limit of its own; MiniCheck's code uses this one."""
MIN_INPUT = 64
"""Fewest tokens that leave room for the prompt's own words, a sentence and a chunk."""


class YesNoEntailment:
    """SCALE's backbone: an encoder-decoder model asked a Yes/No question.

    P(entailment) is the softmax of the logits of the two answers' first tokens at the first
    decoder step: one forward pass, and of the output head only two rows are computed.

    Args:
        model: Hub name, local folder, or a :class:`Loaded` model (left unchanged).
        prompt: a key of :data:`PROMPTS`, or a :class:`Prompt`.
        batch_size: prompts at a time; ``None`` for as many as fit (see ``Batches``).
        max_length: longest prompt in tokens; longer chunks are read in windows.
        device: "auto", "cpu", "cuda", "cuda:N" or "mps".
        dtype: "float32", "bfloat16" or "float16".

    Raises:
        InputError: an unknown prompt, device or dtype, a ``max_length`` below 64.
        MissingExtra: torch or transformers is not installed.
        ModelError: the model cannot be loaded, or its tokenizer begins both answers alike.
    """

    def __init__(
        self,
        model: str | Loaded,
        *,
        prompt: str | Prompt = "scale",
        batch_size: int | None = None,
        max_length: int = MAX_INPUT,
        device: str = "auto",
        dtype: str = "float32",
    ) -> None:
        if isinstance(prompt, str):
            if prompt not in PROMPTS:
                raise InputError(f"unknown prompt {prompt!r}: use {', '.join(PROMPTS)}")
            prompt = PROMPTS[prompt]
        prompt.parts()
        if max_length < MIN_INPUT:
            raise InputError(f"max_length is {max_length}, but must be at least {MIN_INPUT}")
        if isinstance(model, str):
            model = load_pretrained("AutoModelForSeq2SeqLM", model, device, dtype)
        self.name = model.name
        self.prompt = prompt.text
        self.batches = Batches(model, batch_size)
        self.max_length = max_length
        self._prompt = prompt
        self._loaded = model
        self._start = _decoder_start(model)
        self._model = with_head_rows(model.model, answer_ids(model, prompt))

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """A verdict for each (chunk, sentence): "No" counts as ``neutral``.

        Equal pairs are judged once. A chunk that does not fit is read in windows that
        overlap by a quarter, and the highest P(entailment) is taken; a sentence is cut only
        where it would fill more than half the prompt.
        """
        asked = list(dict.fromkeys(pairs))
        parts = self._clean(asked)
        wholes = self._rows([self._prompt.fill(*part) for part in parts])
        rows: list[Row] = []
        items: list[int] = []
        for item, (part, whole) in enumerate(zip(parts, wholes, strict=True)):
            fits = len(whole["input_ids"]) <= self.max_length
            found = [whole] if fits else self._rows(self._windows(*part))
            rows += found
            items += [item] * len(found)
        return self._best(pairs, asked, rows, items)

    def judge_long(
        self, pairs: Sequence[tuple[str, str]], chunk_size: int, overlap: float
    ) -> list[Verdict]:
        """A verdict for each (document, sentence): that of its best chunk, cut as by scale-score.

        ``chunk_size`` counts the tokens of the whole prompt, its end mark included, and the
        windows over the document's tokens are exactly those of :func:`authors_windows`. Where
        a sentence leaves less than a step of room, it is cut to half of ``chunk_size``
        (scale-score fails there).

        Raises:
            InputError: the prompt's own words fill ``chunk_size``.
        """
        asked = list(dict.fromkeys(pairs))
        documents = {document: self._without_specials(document) for document, _ in asked}
        bodies = dict(zip(documents, self._rows([*documents.values()]), strict=True))
        rows: list[Row] = []
        items: list[int] = []
        for item, (document, sentence) in enumerate(asked):
            body = bodies[document]["input_ids"][:-1]
            found = self._authors_rows(documents[document], body, sentence, chunk_size, overlap)
            rows += found
            items += [item] * len(found)
        return self._best(pairs, asked, rows, items)

    def _best(
        self,
        pairs: Sequence[tuple[str, str]],
        asked: Sequence[tuple[str, str]],
        rows: Sequence[Row],
        items: Sequence[int],
    ) -> list[Verdict]:
        """The verdicts of the pairs, from the rows of those that were asked."""
        found = best_verdicts(items, self.batches.run(rows, self._run), len(asked))
        by_pair = dict(zip(asked, found, strict=True))
        return [by_pair[pair] for pair in pairs]

    def _authors_rows(
        self, document: str, body: list[int], sentence: str, chunk_size: int, overlap: float
    ) -> list[Row]:
        """The prompts for a document, of which ``body`` are the tokens."""
        sentence = self._without_specials(sentence)
        before, between, after = self._prompt.parts()
        if len(body) < chunk_size:
            (whole,) = self._rows([self._prompt.fill(document, sentence)])
            if len(whole["input_ids"]) < chunk_size:
                return [whole]
        for text in (sentence, *cut(self._loaded.tokenizer, [sentence], chunk_size // 2)):
            head, tail = self._rows([before, between + text + after])
            start, end = head["input_ids"][:-1], tail["input_ids"]
            room = chunk_size - len(start) - len(end)
            if room * (1 - overlap) >= 1:
                return [
                    {"input_ids": start + body[first:last] + end}
                    for first, last in authors_windows(len(body), room, overlap)
                ]
        raise InputError(
            f"chunk_size={chunk_size} leaves no room for the knowledge beside the prompt"
        )

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """(start, end) characters of the model's tokens, without special tokens or blanks."""
        return token_offsets(self._loaded.tokenizer, text)

    def _clean(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """The pairs without special tokens, and without the ends of very long sentences."""
        chunks = [self._without_specials(chunk) for chunk, _ in pairs]
        sentences = [self._without_specials(sentence) for _, sentence in pairs]
        limit = self.max_length // 2
        return list(zip(chunks, cut(self._loaded.tokenizer, sentences, limit), strict=True))

    def _windows(self, chunk: str, sentence: str) -> list[str]:
        """The prompts for the windows of a chunk that is too long for one."""
        # A window's first and last words may be cut differently: leave room for two tokens.
        frame = len(self._rows([self._prompt.fill("", sentence)])[0]["input_ids"]) + 2
        spans = raw_offsets(self._loaded.tokenizer, chunk)
        return [
            self._prompt.fill(chunk[spans[first][0] : spans[last - 1][1]].strip(), sentence)
            for first, last in windows(len(spans), max(1, self.max_length - frame))
        ]

    def _without_specials(self, text: str) -> str:
        """The text without the model's special tokens, whose meaning it must not take on."""
        for mark in self._loaded.tokenizer.all_special_tokens:
            text = text.replace(mark, " ")
        return text

    def _rows(self, texts: Sequence[str]) -> list[Row]:
        """The inputs for each text, its end mark included."""
        if not texts:
            return []
        encoded = self._loaded.tokenizer(list(texts), verbose=False)["input_ids"]
        return [{"input_ids": ids} for ids in encoded]

    def _run(self, batch: dict[str, Any]) -> list[Verdict]:
        import torch

        size = len(batch["input_ids"])
        start = torch.full((size, 1), self._start, device=self._loaded.device)
        logits = self._model(**batch, decoder_input_ids=start, use_cache=False).logits[:, 0]
        chances = check_finite(self.name, logits.float()).softmax(dim=-1)
        return [Verdict(entailment=yes, neutral=no) for yes, no in chances.tolist()]


def windows(count: int, size: int, overlap: float = OVERLAP) -> list[tuple[int, int]]:
    """[first, last) of windows of ``size`` that cover ``count`` tokens and overlap.

    The last window ends at the end and is as long as the others.

    >>> windows(10, 4, overlap=0.25)
    [(0, 4), (3, 7), (6, 10)]
    """
    step = max(1, size - int(size * overlap))
    firsts = list(range(0, max(1, count - size), step))
    if firsts[-1] + size < count:
        firsts.append(count - size)
    return [(first, min(first + size, count)) for first in firsts]


def authors_windows(count: int, size: int, overlap: float) -> list[tuple[int, int]]:
    """[first, last) of the windows of ``size`` over ``count`` tokens in the package scale-score.

    They are numbered by the exact step and placed by the whole one, so that a last window may
    lie inside the one before, and the end of a text of very many windows in none.

    >>> authors_windows(10, 8, overlap=0.25)
    [(0, 8), (6, 10)]
    """
    windows = math.ceil(count / (size * (1 - overlap)))
    step = int(size * (1 - overlap))
    return [(step * i, min(step * i + size, count)) for i in range(windows)]


def answer_ids(loaded: Loaded, prompt: Prompt) -> tuple[int, int]:
    """The first tokens of the two answers, special tokens (a BOS) passed over.

    Raises:
        ModelError: an answer has no tokens that the model knows, or both begin alike.
    """
    tokenizer = loaded.tokenizer
    first = []
    for word in (prompt.yes, prompt.no):
        ids = token_ids(tokenizer, word)
        known = [token for token in ids if token not in tokenizer.all_special_ids]
        if not known:
            raise ModelError(f"{loaded.name}: its vocabulary lacks the answer {word!r}")
        first.append(known[0])
    if first[0] == first[1]:
        raise ModelError(
            f"{loaded.name}: {prompt.yes!r} and {prompt.no!r} begin with the same token"
        )
    return first[0], first[1]


def _decoder_start(loaded: Loaded) -> int:
    model = loaded.model
    for config in (model.config, getattr(model, "generation_config", None)):
        start = getattr(config, "decoder_start_token_id", None)
        if isinstance(start, int):
            return start
    raise ModelError(f"{loaded.name}: its config has no decoder_start_token_id")


def with_head_rows(model: Any, rows: Sequence[int]) -> Any:
    """A view of ``model`` whose output head has only the given rows of the vocabulary.

    It shares all other weights with ``model``, which stays as it is. What the model does
    before its head (T5 scales its output where the head is tied to the embeddings) is thus
    the model's own code.
    """
    import torch

    chosen = list(rows)
    full = model.get_output_embeddings()
    head = torch.nn.Linear(full.in_features, len(chosen), bias=full.bias is not None)
    head.weight = torch.nn.Parameter(full.weight.detach()[chosen], requires_grad=False)
    if full.bias is not None:
        head.bias = torch.nn.Parameter(full.bias.detach()[chosen], requires_grad=False)
    view = copy.copy(model)
    # A shallow copy shares these two dictionaries, and a new head must not reach the model.
    view._modules = dict(model._modules)
    view._buffers = dict(model._buffers)
    view.set_output_embeddings(head)
    if getattr(model, "_compiled_call_impl", None) is not None:
        view.compile(dynamic=True)  # the copied one would still call the model itself
    if "final_logits_bias" in view._buffers:  # BART adds it to the logits
        view._buffers["final_logits_bias"] = view._buffers["final_logits_bias"][:, chosen]
    return view
