"""A transformers model for sequence classification, as rankers (RSS: two outputs, multiple choice:
one) and the detector (one) use it.

A trained model is a folder that transformers can load. Its config names the outputs, or heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from q2_metric.errors import ModelError
from q2_metric.knowledge.types import SYSTEM, Dialogue
from q2_metric.models.hub.batches import Batches, cut, window_size
from q2_metric.models.hub.loading import load_pretrained

if TYPE_CHECKING:
    from torch import Tensor

LENGTH = 256
"""Maximum number of tokens of an input. The beginning of a longer dialogue is cut off."""


def written(dialogue: Dialogue) -> str:
    """The turns of a dialogue as one text: ``user: … system: … user: …``."""
    return " ".join(
        f"{'system' if turn.speaker == SYSTEM else 'user'}: {turn.text.strip()}"
        for turn in dialogue.turns)


class HeadedEncoder:
    """A model that gives one logit for each head. Where it reads its input (the first token, of a
    decoder-only model such as GPT-2 the last) is as in transformers' classification models.

    Args:
        model: Hub name or folder of a model to train, or of a trained one.
        known: the heads that the model can have: names, in order.
        trained: if false, the model gets the first of ``known`` as new heads, from ``seed``.
        domain: whether a new ranker reads domain names; a trained one knows it itself.

    MissingExtra: torch is not installed. ModelError: the model cannot be loaded, or was not trained
    for one of ``known``."""

    def __init__(
        self, model: str, *known: tuple[str, ...], device: str = "auto", trained: bool = True,
        domain: bool = True, seed: int = 0,
    ) -> None:
        self.loaded = load_pretrained(
            "AutoModelForSequenceClassification", model, device,
            new_head=None if trained else (known[0], seed))
        config, tokenizer = self.loaded.model.config, self.loaded.tokenizer
        self.heads = tuple(config.id2label.values())
        if self.heads not in known:
            raise ModelError(f"{model}: has the heads {', '.join(self.heads)}, "
                             f"not {' or '.join(', '.join(heads) for heads in known)}")
        if not trained:
            config.reads_domain = domain
        self.domain: bool = getattr(config, "reads_domain", True)
        config.pad_token_id = tokenizer.pad_token_id  # GPT-2 has none
        tokenizer.truncation_side = "left"
        self.name = Path(model).name if Path(model).expanduser().is_dir() else model
        self.length = min(LENGTH, window_size(self.loaded))

    def logits(self, pairs: Sequence[tuple[Dialogue, str]]) -> Tensor:
        """The logits of one batch: (pairs, heads), with gradients if torch computes them."""
        batch = self.loaded.tokenizer.pad(
            [self._row(*pair) for pair in pairs], return_attention_mask=True, return_tensors="pt",
            verbose=False)
        return self.loaded.model(**batch.to(self.loaded.device)).logits  # type: ignore[no-any-return]

    def probabilities(
        self, pairs: Sequence[tuple[Dialogue, str]], batch_size: int, *, raw: bool = False
    ) -> list[list[float]]:
        """The probabilities in [0, 1], or with ``raw`` the logits: (pairs, heads)."""
        self.loaded.model.eval()

        def read(batch: dict[str, Tensor]) -> list[list[float]]:
            logits = self.loaded.model(**batch).logits
            found: list[list[float]] = (logits if raw else logits.sigmoid()).tolist()
            return found

        return Batches(self.loaded, batch_size).run([self._row(*pair) for pair in pairs], read)

    def _row(self, dialogue: Dialogue, text: str) -> dict[str, list[int]]:
        tokenizer = self.loaded.tokenizer
        # At least half of the input is the dialogue, so that a long answer cannot push it out.
        room = self.length - tokenizer.num_special_tokens_to_add(pair=bool(text))
        (text,) = cut(tokenizer, [text], room // 2)
        encoded = tokenizer(
            written(dialogue), text or None, truncation="only_first", max_length=self.length,
            split_special_tokens=True, verbose=False)
        return {n: encoded[n] for n in tokenizer.model_input_names if n in encoded}
