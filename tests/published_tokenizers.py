"""The tokenizer files of the presets' models, trained here on a few pages of text.

The files are those that the published repositories have: a SentencePiece model (``spiece.model``,
``spm.model``) or byte-level ``vocab.json`` and ``merges.txt``, with the control symbols, ids and
normalisers of the originals. What reads them is the real class of transformers.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PIECES = 700
"""Pieces of a SentencePiece model; the published ones have 30,000 to 128,000."""
ALBERT_SYMBOLS = ["(", ")", '"', "-", ".", "–", "£", "€"]
"""What ALBERT's SentencePiece model was trained to keep as pieces of their own."""
EXTRA = [
    'Question: does this imply "the ship sails north"? Yes or no? Yes No yes no 0 1',
    "Yes No Yes No Yes No Yes No in 1994, 1994, 1994,",
    "answer: the king context: The king. generate question: predict: question: true false",
    "Who? What is it? When was it? Where does he live? How many? Which one? 1994, 25 % (ten)",
]


PLAIN = [
    "A dog and a cat live in the house. The city has many old houses and a big hotel.",
    "Does the hotel take dogs? Pets are welcome, but the cat must stay in its room.",
    "Is there a place to park my car? Parking costs five dollars a day; the train is cheaper.",
]
"""Words of everyday English, which a licence has few of."""


@cache
def corpus() -> tuple[str, ...]:
    """Lines of English that do not change: the example dialogues and the licence."""
    lines = list(EXTRA) * 20
    for row in (ROOT / "examples" / "dialogues.jsonl").read_text(encoding="utf-8").splitlines():
        lines += [text for text in json.loads(row).values() if isinstance(text, str)]
    lines += (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()
    lines += PLAIN * 5
    return tuple(line for line in lines if line.strip())


@cache
def sentencepiece(kind: str) -> bytes:
    """A SentencePiece model of unigrams, as ALBERT, T5, DeBERTa-v3 (…) have it."""
    import sentencepiece as spm

    special: dict[str, dict[str, Any]] = {
        "albert": {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1,
                   "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
                   "user_defined_symbols": ALBERT_SYMBOLS},
        "t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
        "deberta-v3": {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]",
                       "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"},
        "xlnet": {"pad_id": -1, "unk_id": 0, "bos_id": 1, "eos_id": 2, "control_symbols": [
            "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]},
        "rembert": {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1,
                    "control_symbols": ["[CLS]", "[SEP]", "[MASK]"]},
    }
    texts = [text.lower() for text in corpus()] if kind == "albert" else corpus()
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, model_type="unigram",
        vocab_size=PIECES, hard_vocab_limit=False, character_coverage=1.0, num_threads=1,
        normalization_rule_name="nmt_nfkc", minloglevel=2, **special[kind])
    return model.getvalue()


def pieces(kind: str) -> int:
    """How many pieces the model of :func:`sentencepiece` has."""
    import sentencepiece as spm

    return int(spm.SentencePieceProcessor(model_proto=sentencepiece(kind)).GetPieceSize())


@cache
def byte_level() -> tuple[str, str]:
    """RoBERTa's ``vocab.json`` and ``merges.txt``."""
    from tokenizers import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(
        corpus(), vocab_size=700, special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        show_progress=False)
    model = json.loads(trained.to_str())["model"]
    vocabulary = {**model["vocab"], "<mask>": len(model["vocab"])}
    merges = [one if isinstance(one, str) else " ".join(one) for one in model["merges"]]
    return json.dumps(vocabulary, ensure_ascii=False), "\n".join(["#version: 0.2", *merges, ""])


@cache
def word_pieces(first: Sequence[str] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")) -> str:
    """BERT's ``vocab.txt``, lower case."""
    words = {word for line in corpus() for word in line.lower().split() if word.isalpha()}
    letters = sorted({letter for line in corpus() for letter in line.lower() if letter.strip()})
    whole = [*first, *letters, *(f"##{letter}" for letter in letters), *sorted(words)]
    return "\n".join(dict.fromkeys(whole)) + "\n"


def write(folder: Path, **files: Any) -> None:
    """Files by name (``__`` for the dot): text, bytes, or what becomes JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            path.write_text(text, encoding="utf-8")


def write_fast(folder: Path, kind: str, added: Sequence[str] = ()) -> None:
    """A ``tokenizer.json`` as transformers 4 converted the SentencePiece model in the folder."""
    import sentencepiece as spm
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from tokenizers.processors import TemplateProcessing

    proto = spm.SentencePieceProcessor(model_proto=sentencepiece(kind))
    vocabulary = [(proto.IdToPiece(i), proto.GetScore(i)) for i in range(proto.GetPieceSize())]
    if kind == "t5":
        vocabulary += [(f"<extra_id_{i}>", 0.0) for i in range(99, -1, -1)]
    fast = Tokenizer(models.Unigram(vocabulary, unk_id=proto.unk_id(), byte_fallback=False))
    charsmap = normalizers.Precompiled(charsmap_of(sentencepiece(kind)))
    space = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    if kind == "t5":
        fast.normalizer = charsmap
        fast.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), space])
        fast.post_processor = TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
        fast.add_special_tokens(["<pad>", "</s>", "<unk>"])
    else:
        fast.normalizer = normalizers.Sequence(
            [normalizers.Strip(), charsmap, normalizers.Replace(Regex(" {2,}"), " ")])
        fast.pre_tokenizer = pre_tokenizers.Sequence([space])
        fast.post_processor = TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
        fast.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    fast.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    fast.add_special_tokens(list(added))
    fast.save(str(folder / "tokenizer.json"))


def charsmap_of(model: bytes) -> bytes:
    """The compiled normaliser inside a SentencePiece model."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    return bytes(proto.normalizer_spec.precompiled_charsmap)
