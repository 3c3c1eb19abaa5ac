"""Encodes texts for a torch model, cuts long ones, and runs the rows in batches that fit."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from q2_metric.memory import remembered
from q2_metric.models.batching import Budget, device_tokens, in_batches
from q2_metric.models.hub.loading import LoadedModel, limit_threads

CPU_TOKENS = 1024
"""Padded tokens of a batch on a CPU, whose caches it should fit. With RoBERTa-base and T5-small,
512 to 2048 tokens took about the same time, and 4096 a fifth more."""

Row = dict[str, list[int]]
"""The model's inputs for one text or pair, such as "input_ids", with one number per token."""

Call = Callable[[dict[str, Any]], Sequence[Any]]
"""Takes a batch's tensors by name, (batch, tokens), and returns one result for each row."""


class Batches:
    """Runs rows through a model in batches of similar length (see ``in_batches``). Without
    ``batch_size`` (rows), a batch has at most ``cpu_tokens`` padded tokens, or on other devices
    ``device_tokens``. For ``copies`` and ``extra``, see ``Budget``."""

    def __init__(
        self, loaded: LoadedModel, batch_size: int | None, *, copies: int = 1, extra: int = 0,
        cpu_tokens: int = CPU_TOKENS,
    ) -> None:
        self._loaded = loaded
        tokens = cpu_tokens if str(loaded.device) == "cpu" else device_tokens(loaded.device)
        self.budget = Budget(tokens, batch_size, copies, extra)

    def encode(self, *texts: Sequence[str], **options: Any) -> list[Row]:
        """The rows of texts, or of pairs from two lists of texts. Special tokens are added."""
        if not texts[0]:
            return []
        encoded = self._loaded.tokenizer(
            *map(list, texts), return_attention_mask=False, verbose=False,
            return_token_type_ids=has_segments(self._loaded.model.config), **options)
        return [dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)]

    def run(self, rows: Sequence[Row], call: Call) -> list[Any]:
        """The results of all rows, in order; ModelError if a single row does not fit into memory.
        """
        return in_batches(
            [len(row["input_ids"]) for row in rows],
            lambda places: self._batch([rows[i] for i in places], call), self.budget,
            name=self._loaded.name)

    def _batch(self, rows: Sequence[Row], call: Call) -> list[Any]:
        import torch

        limit_threads()
        tensors = {name: torch.from_numpy(ids).to(self._loaded.device)
                   for name, ids in pad(self._loaded.tokenizer, rows).items()}
        with torch.inference_mode():
            return list(call(tensors))


def pad(tokenizer: Any, rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    """The arrays (rows, longest row) of a batch by name; the attention mask is 0 on the padding."""
    return dict(tokenizer.pad(
        list(rows), return_attention_mask=True, return_tensors="np", verbose=False))


NO_LIMIT, DEFAULT_WINDOW = 1_000_000, 512
"""A tokenizer whose ``model_max_length`` is at least the first has no length limit. If the config
has none either (T5, BERT: 512), a window has the second number of tokens."""

SEGMENTED = frozenset({"funnel", "xlnet"})
"""Types of models that read ``token_type_ids`` although their config does not say so."""
_NOT_INPUTS = frozenset({"offset_mapping", "overflow_to_sample_mapping"})


def has_segments(config: Any) -> bool:
    """Whether the model reads ``token_type_ids``, which say to which of two texts a token belongs.

    Some tokenizers of transformers 5 (ALBERT, XLNet, RemBERT …) return them only if asked to.
    """
    segments = getattr(config, "type_vocab_size", None) or 0
    return segments > 1 or config.model_type in SEGMENTED


def window_size(loaded: LoadedModel) -> int:
    """The maximum number of tokens that the model can read at once, special tokens included."""
    config = loaded.model.config
    limits = [int(getattr(loaded.tokenizer, "model_max_length", NO_LIMIT))]
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        # RoBERTa counts positions from padding_idx + 1, so 514 positions hold 512 tokens.
        offset = (config.pad_token_id or 0) + 1 if "roberta" in config.model_type else 0
        limits.append(positions - offset)
    return min(limits) if min(limits) < NO_LIMIT else DEFAULT_WINDOW


def token_ids(tokenizer: Any, text: str) -> list[int]:
    """The ids of the text's tokens. A special token written in the text is read as plain text."""
    return list(_plain(tokenizer, text)["input_ids"])


def _plain(tokenizer: Any, text: str | list[str], **more: bool) -> Any:
    return tokenizer(
        text, add_special_tokens=False, split_special_tokens=True, verbose=False, **more)


def _lengths(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """The number of tokens of each text."""
    return remembered(
        lambda new: list(map(len, _plain(tokenizer, new)["input_ids"])), texts, {})


def token_offsets(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """The character range of each token, without blanks at its ends. Blank tokens are left out."""
    spans = (trim(text, start, end) for start, end in raw_offsets(tokenizer, text))
    return [(start, end) for start, end in spans if start < end]


def raw_offsets(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """The character range of each token, blanks included."""
    return list(_plain(tokenizer, text, return_offsets_mapping=True)["offset_mapping"])


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Moves start and end inwards, so that ``text[start:end]`` has no blanks at its ends.

    >>> trim("a dog", 1, 5)
    (2, 5)
    """
    start = end - len(text[start:end].lstrip())
    return start, start + len(text[start:end].rstrip())


def cut(tokenizer: Any, texts: Sequence[str], limit: int) -> list[str]:
    """The texts, each cut after ``limit`` tokens."""
    return [text if length <= limit else text[: raw_offsets(tokenizer, text)[limit - 1][1]]
            for text, length in zip(texts, _lengths(tokenizer, texts), strict=True)]


class EncodedPair(NamedTuple):
    """The model inputs for pair ``item``, or for one window of a pair that is too long.
    ``offsets[i]``, the characters of token ``i``, is ``None`` outside the text that may be cut."""

    item: int
    inputs: dict[str, list[int]]
    offsets: list[tuple[int, int] | None]


def encode_pairs(
    loaded: LoadedModel, pairs: Sequence[tuple[str, str]], *, long: Literal[0, 1],
    short_limit: int, max_length: int, overlap: int,
) -> list[EncodedPair]:
    """Encodes pairs of texts. A pair that is too long is read in windows, which divide its text
    ``long`` and have at most ``max_length`` tokens, special tokens included. Neighbouring windows
    share ``overlap`` tokens, at most half of a window's room. The other text is cut after
    ``short_limit`` tokens, so that it leaves room in a window."""
    tokenizer = loaded.tokenizer
    specials = tokenizer.num_special_tokens_to_add(pair=True)
    texts = [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]
    short = texts[1 - long] = cut(tokenizer, texts[1 - long], short_limit)
    # Pairs with the same stride are encoded in one call. Usually, all pairs have the same stride.
    by_stride: dict[int, list[int]] = {}
    for item, length in enumerate(_lengths(tokenizer, short)):
        room = max_length - specials - length
        by_stride.setdefault(max(0, min(overlap, room // 2)), []).append(item)
    windows: list[EncodedPair] = []
    for stride, items in by_stride.items():
        encoded = tokenizer(
            *([column[item] for item in items] for column in texts),
            truncation=("only_first", "only_second")[long], max_length=max_length, stride=stride,
            return_token_type_ids=has_segments(loaded.model.config), return_overflowing_tokens=True,
            return_offsets_mapping=True, split_special_tokens=True, verbose=False)
        names = [name for name in encoded if name not in _NOT_INPUTS]
        for row, place in enumerate(encoded["overflow_to_sample_mapping"]):
            item = items[place]
            spans = zip(encoded["offset_mapping"][row], encoded.sequence_ids(row), strict=True)
            offsets = [trim(pairs[item][long], *span) if which == long else None
                       for span, which in spans]
            inputs = {name: encoded[name][row] for name in names}
            windows.append(EncodedPair(item, inputs, offsets))
    return sorted(windows, key=lambda window: window.item)
