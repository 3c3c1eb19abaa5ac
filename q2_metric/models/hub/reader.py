"""Extractive question answering with a torch model (Q², section 2.2)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from q2_metric.models.hub.batches import Batches, EncodedPair, encode_pairs, window_size
from q2_metric.models.hub.loading import LoadedModel, check_finite
from q2_metric.models.spans import Pairs, Window, best_span, decide
from q2_metric.types import Answer

Logits = NDArray[np.float64]
MAX_WINDOW, OVERLAP, MAX_QUESTION, MAX_ANSWER = 384, 128, 64, 30
"""In tokens, as in the SQuAD scripts. Neighbouring windows share the overlap."""


class TorchReader:
    """Reads answers with any extractive question answering model. Start and end of an answer are
    chosen together. An answer is returned if its score exceeds the score of "no answer" by more
    than ``threshold``, in logits."""

    def __init__(
        self, model: LoadedModel, *, threshold: float = 0.0, batch_size: int | None = None
    ) -> None:
        self.name, self.threshold, self._loaded = model.name, threshold, model
        self.batches = Batches(model, batch_size)
        self.max_length = min(MAX_WINDOW, window_size(model))

    def read(self, pairs: Pairs) -> list[Answer | None]:
        """Equal pairs are read once. See also :func:`~q2_metric.models.spans.decide`."""
        asked = [pair for pair in dict.fromkeys(pairs) if all(text.strip() for text in pair)]
        windows = encode_pairs(
            self._loaded, asked, long=1, short_limit=min(MAX_QUESTION, self.max_length // 2),
            max_length=self.max_length, overlap=OVERLAP)
        logits = self.batches.run([window.inputs for window in windows], self._run)
        by_pair: list[list[Window]] = [[] for _ in asked]
        for window, (start, end) in zip(windows, logits, strict=True):
            by_pair[window.item].append(self._span(window, start, end))
        answers = {pair: decide(pair[1], spans, self.threshold)[0]
                   for pair, spans in zip(asked, by_pair, strict=True)}
        return [answers.get(pair) for pair in pairs]

    def _run(self, batch: dict[str, Any]) -> list[Any]:
        output = self._loaded.model(**batch)
        logits = [check_finite(self.name, one).cpu().double().numpy()
                  for one in (output.start_logits, output.end_logits)]
        return list(zip(*logits, strict=True))

    def _unpadded(self, logits: Logits, count: int) -> Logits:
        left = self._loaded.tokenizer.padding_side == "left"
        return logits[-count:] if left else logits[:count]

    def _span(self, window: EncodedPair, start: Logits, end: Logits) -> Window:
        ids, cls = window.inputs["input_ids"], self._loaded.tokenizer.cls_token_id
        null = ids.index(cls) if cls in ids else 0
        allowed = [offsets is not None and offsets[0] < offsets[1] for offsets in window.offsets]
        start, end = (self._unpadded(logits, len(allowed)) for logits in (start, end))
        best = best_span(start, end, MAX_ANSWER, allowed)
        # Without an allowed token, the span's score is -inf.
        left, right = (window.offsets[token] or (0, 0) for token in (best.first, best.last))
        return best, left[0], right[1], float(start[null]) + float(end[null])


class AuthorsReader(TorchReader):
    """Answers questions as the program of Q²'s authors does. The tokens with the highest start and
    end logit are chosen independently, so the answer may begin in the question, or be empty; the
    row's first token alone is no answer. Pairs that are too long for the model, on which the
    authors' program fails, are read as by :class:`TorchReader`."""

    def read(self, pairs: Pairs) -> list[Answer | None]:
        asked, limit = list(dict.fromkeys(pairs)), window_size(self._loaded)
        encoded = self.batches.encode(
            [question for question, _ in asked], [text for _, text in asked],
            split_special_tokens=True)
        rows = dict(zip(asked, encoded, strict=True))
        long = [pair for pair, row in rows.items() if len(row["input_ids"]) > limit]
        answers = dict(zip(long, super().read(long), strict=True))
        short = {pair: row for pair, row in rows.items() if pair not in answers}
        logits = self.batches.run(list(short.values()), self._run)
        for (pair, row), (start, end) in zip(short.items(), logits, strict=True):
            start, end = (self._unpadded(one, len(row["input_ids"])) for one in (start, end))
            first, last = int(start.argmax()), int(end.argmax())
            score = float(start[first] + end[last] - start[0] - end[0])
            answers[pair] = self._answer(row["input_ids"][first : last + 1], score)
        return [answers[pair] for pair in pairs]

    def _answer(self, ids: list[int], score: float) -> Answer | None:
        tokenizer = self._loaded.tokenizer
        text = tokenizer.convert_tokens_to_string(tokenizer.convert_ids_to_tokens(ids)).strip()
        return None if text == tokenizer.cls_token else Answer(text, None, score)
