"""Corrects SentencePiece tokenizers, of which transformers 5 loses settings:

- DeBERTa-v2 and v3 lose the normaliser, so that "…", "ﬁ" and "½" are unknown.
- ALBERT starts a new word after every "." and "-", although its model has them as normal pieces.
- ALBERT does not separate a comma from the number before it.
"""

import base64
import json
from pathlib import Path
from typing import Any

from q2_metric.errors import optional

USER_DEFINED = 4
"""SentencePiece's type of a user-defined piece, which is never split."""

COMMA_CLASSES, COMMA_PENALTY = ("AlbertTokenizer", "XLNetTokenizer"), 100.0
"""Tokenizers that separate a comma from the number before it, and what is subtracted from the score
of pieces that end in a digit and a comma (as in transformers 4)."""

State = dict[str, Any]
"""The content of a ``tokenizer.json``."""


def restore(tokenizer: Any, saved: str | None) -> None:
    """Restores, in place, the SentencePiece settings that the tokenizer's class has lost. A
    tokenizer with a ``tokenizer.json`` (``saved``) already has the right pieces."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or type(backend.model).__name__ != "Unigram":
        return
    before = backend.to_str()
    state: State = json.loads(before)
    model = _sentencepiece_model(tokenizer)
    if not _charsmap(state):
        charsmap = ""
        if model is not None:
            charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
        elif saved:
            charsmap = _charsmap(json.loads(Path(saved).read_text("utf-8")))
        if charsmap:
            first = {"type": "Precompiled", "precompiled_charsmap": charsmap}
            state["normalizer"] = {
                "type": "Sequence", "normalizers": [first, *_normalizers(state)]}
    if model is not None and not saved:
        _restore_pieces(tokenizer, state, model)
    if state != json.loads(before):
        tokenizer._tokenizer = type(backend).from_str(json.dumps(state))


def _sentencepiece_model(tokenizer: Any) -> Any:
    file = getattr(tokenizer, "vocab_file", None)
    if not isinstance(file, str) or not file.endswith(".model") or not Path(file).is_file():
        return None
    model = optional("sentencepiece.sentencepiece_model_pb2", f"the tokenizer {file}",
                     "sentencepiece", "torch").ModelProto()
    model.ParseFromString(Path(file).read_bytes())
    return model


def _normalizers(state: State) -> list[State]:
    normalizer = state.get("normalizer") or {"normalizers": []}
    return list(normalizer.get("normalizers", [normalizer]))


def _charsmap(state: State) -> str:
    """The compiled SentencePiece normaliser; "" if there is none."""
    return next((normalizer["precompiled_charsmap"] for normalizer in _normalizers(state)
                 if normalizer["type"] == "Precompiled"), "")


def _restore_pieces(tokenizer: Any, state: State, model: Any) -> None:
    """Pieces that are kept whole become normal pieces instead of special tokens."""
    named = {str(special) for special in tokenizer.special_tokens_map.values()}
    kept = {piece.piece for piece in model.pieces if piece.type == USER_DEFINED} - named
    state["added_tokens"] = [
        token for token in state["added_tokens"] if token["content"] not in kept]
    tokenizer._extra_special_tokens = [
        token for token in tokenizer._extra_special_tokens if str(token) not in kept]
    pieces = state["model"]["vocab"]
    if [piece for piece, _ in pieces[: len(model.pieces)]] == [item.piece for item in model.pieces]:
        state["model"]["unk_id"] = model.trainer_spec.unk_id
    if type(tokenizer).__name__ in COMMA_CLASSES:
        state["model"]["vocab"] = [
            [piece, score - (COMMA_PENALTY if piece[-1:] == "," and piece[-2:-1].isdigit() else 0)]
            for piece, score in pieces]
