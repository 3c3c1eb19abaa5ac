"""Makes models of the published sizes with random weights, and tokenizers trained on given texts.

The outputs of the models are nonsense, but a forward pass costs as much as that of the published
model. So speed can be measured without a download.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

T5_SIZES: dict[str, dict[str, int]] = {
    "small": {"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8},
    "base": {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12},
    "large": {"d_model": 1024, "d_kv": 64, "d_ff": 4096, "num_layers": 24, "num_heads": 16},
}
ENCODER_SIZES: dict[str, dict[str, Any]] = {
    "albert-base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                    "intermediate_size": 3072, "embedding_size": 128},
    "roberta-base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                     "intermediate_size": 3072},
}
VOCABULARY = 32_128
"""The vocabulary size of T5. All models get this size, because the cost of an output layer depends
on it."""


def t5(folder: Path, size: str, texts: Iterable[str], *, flan: bool = False) -> str:
    """Saves a random T5 of a published size, and returns its folder.

    If ``flan`` is true, it has the gated layers and the untied output head of Flan-T5.
    """
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    _tokenizer(folder, texts, pair=False)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=VOCABULARY, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        feed_forward_proj="gated-gelu" if flan else "relu", tie_word_embeddings=not flan,
        **T5_SIZES[size])
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return str(folder)


def encoder(folder: Path, size: str, texts: Iterable[str], task: Literal["qa", "nli"]) -> str:
    """Saves a random reader ("qa") or NLI model ("nli") of a published size. Returns its folder."""
    import torch
    import transformers

    _tokenizer(folder, texts, pair=True)
    torch.manual_seed(0)
    kind = "Albert" if size.startswith("albert") else "Roberta"
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    settings = {"id2label": labels, "num_labels": 3} if task == "nli" else {}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=VOCABULARY, pad_token_id=0, max_position_embeddings=514,
        **ENCODER_SIZES[size], **settings)
    head = "QuestionAnswering" if task == "qa" else "SequenceClassification"
    getattr(transformers, f"{kind}For{head}")(config).save_pretrained(folder)
    return str(folder)


def _tokenizer(folder: Path, texts: Iterable[str], *, pair: bool) -> None:
    """Trains and saves a unigram tokenizer. It splits a word into about as many tokens as the
    published tokenizers do.

    If ``pair`` is true, it can join two texts to one input.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    begin, end = ("[CLS]", "[SEP]") if pair else ("<s>", "</s>")
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.train_from_iterator(texts, trainers.UnigramTrainer(
        vocab_size=8000, special_tokens=["<pad>", end, "<unk>", begin], unk_token="<unk>",
        show_progress=False))
    known = [(begin, 3), (end, 1)]
    backend.post_processor = (
        processors.TemplateProcessing(
            single=f"{begin} $A {end}", pair=f"{begin}:0 $A:0 {end}:0 $B:0 {end}:0",
            special_tokens=known)
        if pair else
        processors.TemplateProcessing(single=f"$A {end}", special_tokens=known[1:]))
    specials = {"cls_token": begin, "sep_token": end} if pair else {"eos_token": end}
    PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=512, pad_token="<pad>", unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"], **specials,
    ).save_pretrained(folder)
