"""A transformer with classification heads, for rankers (RSS: two, multiple choice: one) and the
detector (one).

A trained model is a folder with the encoder, its tokenizer and ``heads.safetensors``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric.errors import InputError, ModelError
from q2_metric.knowledge.types import SYSTEM, Dialogue

if TYPE_CHECKING:
    from torch import Tensor

HEADS_FILE = "heads.safetensors"
ABOUT = "heads.json"

LENGTH = 256
"""Maximum number of tokens of an input. The beginning of a longer dialogue is cut off."""


def written(dialogue: Dialogue) -> str:
    """The turns of a dialogue as one text: ``user: … system: … user: …``."""
    return " ".join(
        f"{'system' if turn.speaker == SYSTEM else 'user'}: {turn.text.strip()}"
        for turn in dialogue.turns)


class HeadedEncoder:
    """An encoder whose first token's vector gives one logit for each head. Of a decoder-only model
    such as GPT-2, it is the last token's, as in DSTC9's baseline.

    Args:
        model: Hub name or folder of an encoder, or a folder that :meth:`save` wrote.
        heads: names of the heads, in order. If ``model`` has no heads, new ones are created.
        trained: if true, ``model`` must already have heads.
        domain: whether a new ranker reads domain names; a trained one knows it itself.
        seed: of the values of new heads.

    Raises:
        MissingExtra: torch is not installed.
        ModelError: the model cannot be loaded, or its heads are missing or have other names.
    """

    def __init__(
        self, model: str, heads: Sequence[str], *, device: str = "auto", trained: bool = True,
        domain: bool = True, seed: int = 0,
    ) -> None:
        from q2_metric.models.hub.loading import load_pretrained
        from q2_metric.models.hub.tokens import window_size

        folder = Path(model).expanduser()
        has_heads = (folder / HEADS_FILE).is_file()
        if trained and not has_heads:
            raise ModelError(f"{model}: has no {HEADS_FILE}; give a folder that was trained for "
                             f"{', '.join(heads)}")
        self.heads, self.domain = tuple(heads), domain
        self.loaded = load_pretrained("AutoModel", model, device)
        self.name = Path(model).name if folder.is_dir() else model
        self.length = min(LENGTH, window_size(self.loaded))
        last = self.loaded.tokenizer.cls_token is None
        network = _network(self.loaded.model, len(self.heads), last, seed)
        self.network = network.to(self.loaded.device)
        if has_heads:
            self._load_heads(folder)

    def logits(self, pairs: Sequence[tuple[Dialogue, str]]) -> Tensor:
        """The logits of one batch: (pairs, heads), with gradients if torch computes them."""
        import torch

        from q2_metric.models.hub.batches import pad

        rows = [self._row(dialogue, text) for dialogue, text in pairs]
        batch = pad(self.loaded.tokenizer, rows)
        tensors = {k: torch.tensor(v, device=self.loaded.device) for k, v in batch.items()}
        logits: Tensor = self.network(tensors)
        return logits

    def probabilities(
        self, pairs: Sequence[tuple[Dialogue, str]], batch_size: int, *, raw: bool = False
    ) -> list[list[float]]:
        """The probabilities in [0, 1], or with ``raw`` the logits: (pairs, heads)."""
        from q2_metric.models.hub.batches import Batches

        self.network.eval()
        rows = [self._row(dialogue, text) for dialogue, text in pairs]
        read = self.network if raw else lambda batch: self.network(batch).sigmoid()
        return Batches(self.loaded, batch_size).run(rows, lambda batch: read(batch).tolist())

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        self.loaded.model.save_pretrained(folder)
        self.loaded.tokenizer.save_pretrained(folder)
        head = {name: value.contiguous() for name, value in self.network.head.state_dict().items()}
        save_file(head, folder / HEADS_FILE)
        about = {"heads": self.heads, "domain": self.domain}
        (folder / ABOUT).write_text(json.dumps(about), encoding="utf-8", newline="\n")

    def _row(self, dialogue: Dialogue, text: str) -> dict[str, list[int]]:
        from q2_metric.models.hub.tokens import cut, raw_offsets

        tokenizer = self.loaded.tokenizer
        specials = tokenizer.num_special_tokens_to_add(pair=bool(text))
        # At least half of the input is the dialogue, so that a long answer cannot push it out.
        (text,) = cut(tokenizer, [text], (self.length - specials) // 2)
        room = self.length - specials - len(raw_offsets(tokenizer, text))
        said = whole = written(dialogue)
        spans = raw_offsets(tokenizer, whole)
        # A word that is cut in two can have more tokens than the whole word.
        for kept in range(min(room, len(spans)), 0, -1):
            said = whole[spans[-kept][0] :]
            if len(raw_offsets(tokenizer, said)) <= room:
                break
        encoded = tokenizer(
            said, text or None, truncation="longest_first", max_length=self.length,
            split_special_tokens=True, verbose=False)
        return {n: encoded[n] for n in tokenizer.model_input_names if n in encoded}

    def _load_heads(self, folder: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            saved, self.domain = tuple(about["heads"]), bool(about.get("domain", True))
            weights = load_file(folder / HEADS_FILE)
            if saved == self.heads:
                self.network.head.load_state_dict(weights)
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise ModelError(f"{folder}: its heads cannot be read: {error}") from error
        if saved != self.heads:
            raise ModelError(f"{folder}: has the heads {', '.join(saved)}, "
                             f"not {', '.join(self.heads)}")


def saved_heads(model: str) -> tuple[str, ...]:
    """The names of a trained folder's heads; () if they cannot be read."""
    try:
        about = json.loads((Path(model).expanduser() / ABOUT).read_text(encoding="utf-8"))
        return tuple(about["heads"])
    except (OSError, ValueError, LookupError, TypeError):
        return ()


def _network(encoder: Any, heads: int, last: bool, seed: int) -> Any:
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder
            self.dropout = nn.Dropout(0.1)
            self.head = nn.Linear(encoder.config.hidden_size, heads)

        def forward(self, batch: dict[str, Tensor]) -> Tensor:
            states = self.encoder(**batch).last_hidden_state
            place = batch["attention_mask"].sum(dim=1) - 1 if last else 0
            logits: Tensor = self.head(self.dropout(states[torch.arange(len(states)), place]))
            return logits

    torch.manual_seed(seed)  # new heads are the same in every run
    return Network()


def check_batch_size(batch_size: int) -> int:
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1, not {batch_size}")
    return batch_size
