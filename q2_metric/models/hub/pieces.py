"""SentencePiece tokenizers that cut texts as SentencePiece does.

transformers 5 builds a tokenizer anew from the pieces of a SentencePiece model, and some of its
classes leave the rest out. DeBERTa-v2's and v3's leaves out the normaliser ("…", "ﬁ" and "½" are
then unknown). ALBERT's cuts at every "." and "-", which its model keeps as pieces of their own, as
if a new word began behind it, and does not part a comma from the number before it.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

USER_DEFINED = 4
"""Type of the pieces that a SentencePiece model was told to keep."""

COMMA_CLASSES = ("AlbertTokenizer", "XLNetTokenizer")
"""Tokenizers that part a comma from the number before it ("1994," is "1994" and ",")."""
COMMA_PENALTY = 100.0
"""Taken from the score of a piece that ends in a digit and a comma (transformers 4)."""

State = dict[str, Any]
"""A tokenizer as its ``tokenizer.json`` has it."""


def restore(tokenizer: Any, saved: str | None) -> None:
    """Restores what the files of a loaded tokenizer say and its class has left out.

    Args:
        tokenizer: of transformers, as it was loaded; it is changed.
        saved: its ``tokenizer.json``, where there is one; its pieces then come from there.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or type(backend.model).__name__ != "Unigram":
        return
    before = backend.to_str()
    state: State = json.loads(before)
    model = _sentencepiece_model(tokenizer)
    if _charsmap(state) is None:
        charsmap: str | None
        if model is not None:
            charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
        else:
            charsmap = _charsmap(json.loads(Path(saved).read_text("utf-8"))) if saved else None
        if charsmap:
            first = {"type": "Precompiled", "precompiled_charsmap": charsmap}
            state["normalizer"] = {
                "type": "Sequence", "normalizers": [first, *_normalizers(state)]}
    if model is not None and not saved:
        _restore_pieces(tokenizer, state, model)
    if state != json.loads(before):
        tokenizer._tokenizer = type(backend).from_str(json.dumps(state))


def _sentencepiece_model(tokenizer: Any) -> Any:
    """The parsed SentencePiece model that a tokenizer was made from, if it was."""
    file = getattr(tokenizer, "vocab_file", None)
    if not isinstance(file, str) or not file.endswith(".model") or not Path(file).is_file():
        return None
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(Path(file).read_bytes())
    return model


def _normalizers(state: State) -> list[State]:
    normalizer = state.get("normalizer") or {"normalizers": []}
    found: list[State] = normalizer.get("normalizers", [normalizer])
    return found


def _charsmap(state: State) -> str | None:
    """The compiled normaliser of a SentencePiece model in a tokenizer, if it has one."""
    maps = [one["precompiled_charsmap"] for one in _normalizers(state)
            if one["type"] == "Precompiled"]
    return maps[0] if maps else None


def _restore_pieces(tokenizer: Any, state: State, model: Any) -> None:
    """Pieces that were kept are pieces and no marks; numbers let go of their commas."""
    named = {str(one) for one in tokenizer.special_tokens_map.values()}
    kept = {one.piece for one in model.pieces if one.type == USER_DEFINED} - named
    state["added_tokens"] = [one for one in state["added_tokens"] if one["content"] not in kept]
    tokenizer._extra_special_tokens = [
        one for one in tokenizer._extra_special_tokens if str(one) not in kept]
    pieces = state["model"]["vocab"]
    if [piece for piece, _ in pieces[: len(model.pieces)]] == [one.piece for one in model.pieces]:
        state["model"]["unk_id"] = model.trainer_spec.unk_id
    if type(tokenizer).__name__ in COMMA_CLASSES:
        state["model"]["vocab"] = [
            [piece, score - COMMA_PENALTY if _ends_in_number_comma(piece) else score]
            for piece, score in pieces]


def _ends_in_number_comma(piece: str) -> bool:
    """
    >>> [_ends_in_number_comma(piece) for piece in ("▁1994,", "a,", ",")]
    [True, False, False]
    """
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()
