"""Answers questions as the program of Q²'s authors does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from q2_metric.models.hub.reader import TorchReader
from q2_metric.models.hub.tokens import has_segments, window_size
from q2_metric.types import Answer


class AuthorsReader(TorchReader):
    """The tokens with the highest start and end logit are chosen independently, so the answer may
    begin in the question, or be empty; the row's first token alone is no answer. Pairs that are too
    long for the model, on which the authors' program fails, are read as by :class:`TorchReader`."""

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Answer | None]:
        asked = list(dict.fromkeys(pairs))
        if not asked:
            return []
        rows = self._rows(asked)
        limit = window_size(self._loaded)
        long = [pair for pair, row in zip(asked, rows, strict=True)
                if len(row["input_ids"]) > limit]
        answers = dict(zip(long, super().read(long), strict=True))
        short = {pair: row for pair, row in zip(asked, rows, strict=True) if pair not in answers}
        logits = self.batches.run(list(short.values()), self._run)
        left = self._loaded.tokenizer.padding_side == "left"
        for (pair, row), (start, end) in zip(short.items(), logits, strict=True):
            count = len(row["input_ids"])
            own = slice(len(start) - count, None) if left else slice(count)
            start, end = start[own], end[own]
            first, last = int(start.argmax()), int(end.argmax())
            score = float(start[first] + end[last] - start[0] - end[0])
            answers[pair] = self._answer(row["input_ids"][first : last + 1], score)
        return [answers[pair] for pair in pairs]

    def _answer(self, ids: list[int], score: float) -> Answer | None:
        tokenizer = self._loaded.tokenizer
        text = tokenizer.convert_tokens_to_string(tokenizer.convert_ids_to_tokens(ids)).strip()
        return None if text == tokenizer.cls_token else Answer(text, None, score)

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, list[int]]]:
        encoded: Any = self._loaded.tokenizer(
            [question for question, _ in pairs], [context for _, context in pairs],
            split_special_tokens=True, verbose=False,
            return_token_type_ids=has_segments(self._loaded.model.config))
        return [{name: encoded[name][i] for name in encoded if name != "attention_mask"}
                for i in range(len(pairs))]
