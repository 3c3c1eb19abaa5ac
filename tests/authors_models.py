"""Small models for the comparison with the authors' programs, the same on every machine.

Their tokenizers have the words of the texts as pieces; their weights come from numpy's frozen
generator. The reader finds the words of a question in a passage, so that round trips succeed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from published_models import EXTRA_IDS, FIFTH, save_safe, t5_config, without_tied
from published_tokenizers import sentencepiece, write

SEED = 20210408
WORDS = 4000
"""Most frequent words that are pieces."""
WIDTH, WORD_DIMENSIONS = 64, 56
"""Of the reader; the first dimensions hold a word, some of the others the reader's knowledge."""
LAST, TYPE, PLACE, MATCHED, FIRST = 59, 60, 61, 62, 63
"""Dimensions: [SEP], question or passage, position, whether the other text has the word, [CLS]."""
LABELS = {"id2label": {0: "entailment", 1: "neutral", 2: "contradiction"},
          "label2id": {"entailment": 0, "neutral": 1, "contradiction": 2}}


def pieces_of(texts: Sequence[str], kind: str, lower: bool) -> bytes:
    """A SentencePiece model of T5's or ALBERT's kind: words, then letters."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(sentencepiece(kind))
    kept = [one for one in model.pieces if one.type != 1]  # 1: a normal piece
    words = Counter(word for text in texts
                    for word in re.findall(r"\w+", text.lower() if lower else text))
    letters = sorted({letter for text in texts for letter in text if letter.strip()})
    common = sorted(words, key=lambda word: (-words[word], word))[:WORDS]
    normal = dict.fromkeys(["▁", *(f"▁{word}" for word in common), *common, *letters,
                            *(f"▁{letter}" for letter in letters)])
    del model.pieces[:]
    model.pieces.extend(kept)
    for i, piece in enumerate(one for one in normal if one not in {old.piece for old in kept}):
        new = model.pieces.add()
        new.piece, new.score, new.type = piece, -5.0 - 4.0 * (len(piece) < 3) - i * 1e-3, 1
    written: bytes = model.SerializeToString()
    return written


def _size(pieces: bytes) -> int:
    import sentencepiece as spm

    return int(spm.SentencePieceProcessor(model_proto=pieces).GetPieceSize())


def _drawn(auto_class: str, config: dict[str, Any], spread: float, seed: int) -> Any:
    """A model whose matrices come from the seed and whose other weights are as they start."""
    import torch
    import transformers

    settings = transformers.AutoConfig.for_model(**config)
    model = getattr(transformers, auto_class).from_config(settings).eval()
    draw = np.random.RandomState(seed)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            if parameter.dim() > 1:
                values = spread * draw.standard_normal(tuple(parameter.shape))
                parameter.copy_(torch.from_numpy(values))
            elif parameter.dim() == 1 and not bool((parameter == 1).all()):
                parameter.zero_()
    return model


def asks(folder: Path, texts: Sequence[str]) -> Path:
    """A T5 that ends its questions early and late."""
    import torch

    pieces = pieces_of(texts, "t5", lower=False)
    config = t5_config(vocab_size=_size(pieces) + 100, d_model=32, num_layers=2)
    model = _drawn("AutoModelForSeq2SeqLM", config, 0.35, SEED)
    with torch.no_grad():
        model.shared.weight[1] *= 20.0  # the end mark
    write(folder, config__json=config, spiece__model=pieces,
          tokenizer_config__json={"model_max_length": 512},
          special_tokens_map__json={**FIFTH, "additional_special_tokens": EXTRA_IDS})
    save_safe(folder, without_tied(model.state_dict()))
    return folder


def _albert(pieces: bytes, kind: str, layers: int) -> dict[str, Any]:
    return {
        "architectures": [f"AlbertFor{kind}"], "model_type": "albert",
        "attention_probs_dropout_prob": 0, "bos_token_id": 2, "classifier_dropout_prob": 0.1,
        "embedding_size": WIDTH, "eos_token_id": 3, "hidden_act": "gelu_new",
        "hidden_dropout_prob": 0, "hidden_size": WIDTH, "initializer_range": 0.02,
        "inner_group_num": 1, "intermediate_size": 64, "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512, "num_attention_heads": 1, "num_hidden_groups": 1,
        "num_hidden_layers": layers, "pad_token_id": 0, "type_vocab_size": 2,
        "vocab_size": _size(pieces),
    }


def _save_albert(
    folder: Path, config: dict[str, Any], pieces: bytes, model: Any, lower: bool
) -> Path:
    write(folder, config__json=config, spiece__model=pieces,
          tokenizer_config__json={"do_lower_case": lower, "model_max_length": 512},
          special_tokens_map__json={
              "bos_token": "[CLS]", "eos_token": "[SEP]", "unk_token": "<unk>",
              "sep_token": "[SEP]", "pad_token": "<pad>", "cls_token": "[CLS]",
              "mask_token": "[MASK]"})
    save_safe(folder, without_tied(model.state_dict()))
    return folder


def reads(folder: Path, texts: Sequence[str]) -> Path:
    """An ALBERT that finds the question's words in the passage, and now and then does not."""
    import torch

    pieces = pieces_of(texts, "albert", lower=True)
    config = _albert(pieces, "QuestionAnswering", layers=1)
    model = _drawn("AutoModelForQuestionAnswering", config, 0.0, SEED)
    draw = np.random.RandomState(SEED)
    with torch.no_grad():
        embeddings = model.albert.embeddings
        words = np.zeros((config["vocab_size"], WIDTH))
        words[:, :WORD_DIMENSIONS] = draw.standard_normal((len(words), WORD_DIMENSIONS))
        words[2, FIRST] = words[3, LAST] = 3.0  # [CLS], [SEP]
        embeddings.word_embeddings.weight.copy_(torch.from_numpy(words))
        places = (torch.arange(512.0) - 40).clamp(max=120)
        embeddings.position_embeddings.weight[:, PLACE] = places / 40
        embeddings.token_type_embeddings.weight[0, TYPE] = 2.0
        embeddings.token_type_embeddings.weight[1, TYPE] = -2.0
        encoder = model.albert.encoder
        encoder.embedding_hidden_mapping_in.weight.copy_(torch.eye(WIDTH))
        layer = encoder.albert_layer_groups[0].albert_layers[0]
        same = torch.zeros(WIDTH, WIDTH)
        same[:WORD_DIMENSIONS, :WORD_DIMENSIONS] = 1.5 * torch.eye(WORD_DIMENSIONS)
        layer.attention.query.weight.copy_(same)
        layer.attention.key.weight.copy_(same)
        layer.attention.value.weight[MATCHED, TYPE] = 1.0
        layer.attention.dense.weight.copy_(torch.eye(WIDTH))
        for row, (sign, first) in enumerate([(-1.0, 0.6), (1.0, 5.2)]):  # early start, late end
            weights = model.qa_outputs.weight[row]
            weights[:WORD_DIMENSIONS] = torch.from_numpy(
                0.15 * draw.standard_normal(WORD_DIMENSIONS))
            weights[TYPE], weights[MATCHED], weights[LAST] = -10.0, 10.0, -10.0
            weights[PLACE], weights[FIRST] = 6.0 * sign, first
    return _save_albert(folder, config, pieces, model, lower=True)


def judges(folder: Path, texts: Sequence[str]) -> Path:
    """An ALBERT that tells upper case from lower and has three classes."""
    import torch

    pieces = pieces_of(texts, "albert", lower=False)
    config = {**_albert(pieces, "SequenceClassification", layers=2), **LABELS}
    model = _drawn("AutoModelForSequenceClassification", {**config, "num_labels": 3}, 0.3, SEED)
    with torch.no_grad():
        model.classifier.weight *= 3
        model.classifier.bias.copy_(torch.tensor([-3.5, -2.9, -9.8]))
    return _save_albert(folder, config, pieces, model, lower=False)
