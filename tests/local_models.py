"""Tiny random models with real tokenizers, saved as local folders in seconds.

They answer nonsense, but they go through the same loading, tokenizing, padding and heads as
the models that the presets name. Nothing here needs a network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from published_tokenizers import byte_level, pieces, sentencepiece, write

_WORDS = """
the a an dog dogs cat red big old man woman river city Paris France capital of in on is was has
and or not it he she they where who what when does this imply Question question Yes No no answer
context generate predict house born 1994 first hair freckles blue green museum open built by king
queen sleeps runs barks sea ship sails north . , ? : ! ' " 0 1
"""
WORDS = _WORDS.split()
CORPUS = [
    "The red dog sleeps in the house.",
    "Paris is the capital of France, and the museum was built in 1994.",
    "She has red hair and freckles. He was born by the sea.",
    'Question: does this imply "the ship sails north"? Yes or no?',
    "answer: the king context: The king and the queen. generate question: predict: 0 1",
    "The old man runs. A big cat barks! Where is the river? Who was it?",
] * 4
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def _save_tokenizer(
    folder: Path, backend: Any, specials: Mapping[str, str], *, window: int, inputs: Sequence[str]
) -> Any:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=window,
        model_input_names=list(inputs),
        **specials,
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def wordpiece(folder: Path, window: int = 64) -> Any:
    """BERT's tokenizer: whole words, lower case, [CLS] a [SEP] b [SEP] with token types."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = list("abcdefghijklmnopqrstuvwxyz0123456789")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += [word.lower() for word in WORDS] + letters + [f"##{letter}" for letter in letters]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    specials = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return _save_tokenizer(
        folder,
        backend,
        specials,
        window=window,
        inputs=("input_ids", "token_type_ids", "attention_mask"),
    )


def byte_bpe(folder: Path, window: int = 64) -> Any:
    """RoBERTa's tokenizer: byte-level BPE, tokens hold the blank before them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    # trim_offsets=False: the offsets keep the blank, which the reader must not return.
    backend.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    specials = {
        "bos_token": "<s>",
        "cls_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    return _save_tokenizer(
        folder, backend, specials, window=window, inputs=("input_ids", "attention_mask")
    )


def unigram(folder: Path, *, pair: bool, window: int = 64, marks: Sequence[str] = ()) -> Any:
    """A SentencePiece-like tokenizer: ALBERT's and DeBERTa's with ``pair``, else T5's.

    ``marks`` (``<hl>``) are added as T5's question generators add them. "Yes" and "No" are
    one token each; "0" and "1" start with different tokens.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    begin, end = ("[CLS]", "[SEP]") if pair else ("<s>", "</s>")
    pieces = ["<pad>", end, "<unk>", begin, "▁"]
    pieces += [f"▁{word}" for word in WORDS if word != "0"] + list(WORDS)
    pieces += [chr(code) for code in range(33, 127)]
    vocabulary = [
        (piece, 0.0 if i < 4 else -float(4 + i % 7) - 0.01 * i)
        for i, piece in enumerate(dict.fromkeys(pieces))
    ]
    backend = Tokenizer(models.Unigram(vocabulary, unk_id=2, byte_fallback=False))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    ids = {piece: i for i, (piece, _) in enumerate(vocabulary)}
    known = [(begin, ids[begin]), (end, ids[end])]
    if pair:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A {end}",
            pair=f"{begin}:0 $A:0 {end}:0 $B:1 {end}:1",
            special_tokens=known,
        )
        specials = {"cls_token": begin, "sep_token": end}
        inputs = ["input_ids", "token_type_ids", "attention_mask"]
    else:
        backend.post_processor = processors.TemplateProcessing(
            single=f"$A {end}", pair=f"$A {end} $B {end}", special_tokens=known[1:]
        )
        specials = {"eos_token": end}
        inputs = ["input_ids", "attention_mask"]
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=window,
        model_input_names=inputs,
        pad_token="<pad>",
        unk_token="<unk>",
        **specials,
    )
    if marks:
        tokenizer.add_tokens(list(marks))
    from tokenizers.decoders import Metaspace

    tokenizer.backend_tokenizer.decoder = Metaspace()
    tokenizer.save_pretrained(folder)
    return tokenizer


def _save_model(folder: Path, auto_class: str, config: Any, **changes: Any) -> Path:
    import torch
    import transformers

    torch.manual_seed(0)
    model = getattr(transformers, auto_class).from_config(config)
    with torch.no_grad():
        # Freshly made models say nearly the same of every text; tests need them to differ.
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.3)
    model.save_pretrained(folder)
    if changes:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


ENCODERS = ("albert", "roberta", "deberta-v2", "modernbert", "bert")


def encoder(folder: Path, kind: str, auto_class: str, window: int = 64, **settings: Any) -> Path:
    """A saved encoder with a task's head: one of :data:`ENCODERS`."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    shared = {**SIZES, "max_position_embeddings": window, **settings}
    if kind == "bert":
        tokenizer = wordpiece(folder, window)
        config: Any = transformers.BertConfig(vocab_size=len(tokenizer), pad_token_id=0, **shared)
    elif kind == "albert":
        write(folder, spiece__model=sentencepiece("albert"),
              tokenizer_config__json={"do_lower_case": True, "model_max_length": window})
        config = transformers.AlbertConfig(
            vocab_size=pieces("albert"), embedding_size=8, pad_token_id=0, **shared
        )
    elif kind == "roberta":
        vocabulary, merges = byte_level()
        write(folder, vocab__json=vocabulary, merges__txt=merges,
              tokenizer_config__json={"model_max_length": window})
        shared["max_position_embeddings"] = window + 2
        config = transformers.RobertaConfig(
            vocab_size=len(json.loads(vocabulary)),
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            type_vocab_size=1,
            **shared,
        )
    elif kind == "deberta-v2":
        mask = pieces("deberta-v3")
        write(folder, spm__model=sentencepiece("deberta-v3"), added_tokens__json={"[MASK]": mask},
              tokenizer_config__json={"model_max_length": window,
                                      "tokenizer_class": "DebertaV2Tokenizer"})
        config = transformers.DebertaV2Config(
            vocab_size=mask + 1,
            pad_token_id=0,
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
            type_vocab_size=0,
            position_biased_input=False,
            **shared,
        )
    elif kind == "modernbert":
        tokenizer = byte_bpe(folder, window)
        config = transformers.ModernBertConfig(
            vocab_size=len(tokenizer),
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            cls_token_id=0,
            sep_token_id=2,
            global_attn_every_n_layers=2,
            local_attention=16,
            **shared,
        )
    else:
        raise ValueError(kind)
    return _save_model(folder, auto_class, config)


def t5(folder: Path, *, tied: bool = True, marks: Sequence[str] = (), window: int = 512) -> Path:
    """A saved T5: ``tied`` like the first T5, else with an output head like Flan-T5's."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = unigram(folder, pair=False, window=window, marks=marks)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    if tied:
        return _save_model(folder, "AutoModelForSeq2SeqLM", config)
    _save_model(folder, "AutoModelForSeq2SeqLM", config, tie_word_embeddings=False)
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(1)
    weights["lm_head.weight"] = 0.3 * torch.randn(len(tokenizer), 16, generator=generator)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    saved.pop("scale_decoder_outputs", None)
    path.write_text(json.dumps(saved))
    return folder


def bart(folder: Path) -> Path:
    """A saved BART: it adds a bias to its logits, which is not zero here."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = byte_bpe(folder, 512)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=512,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
    _save_model(folder, "AutoModelForSeq2SeqLM", config)
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(2)
    weights["final_logits_bias"] = torch.randn(1, len(tokenizer), generator=generator)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def gpt2(folder: Path, window: int = 512) -> Path:
    """A saved GPT-2 of words and whole sentences, so that what it writes claims something. As the
    published ones, it has no pad token."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    words = ["<unk>", "</s>", *WORDS[::8], *CORPUS]
    backend = Tokenizer(models.WordLevel(
        {word: i for i, word in enumerate(dict.fromkeys(words))}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    _save_tokenizer(
        folder, backend, {"unk_token": "<unk>", "eos_token": "</s>"},
        window=window, inputs=("input_ids", "attention_mask"))
    config = transformers.GPT2Config(
        vocab_size=backend.get_vocab_size(), n_positions=window, n_embd=16, n_layer=2, n_head=2,
        bos_token_id=1, eos_token_id=1)
    return _save_model(folder, "AutoModelForCausalLM", config)


CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def llama(folder: Path, window: int = 2048) -> Path:
    """A saved Llama, with a chat template in its tokenizer."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = byte_bpe(folder, window)
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=window,
        num_key_value_heads=2,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        **SIZES,
    )
    return _save_model(folder, "AutoModelForCausalLM", config)
