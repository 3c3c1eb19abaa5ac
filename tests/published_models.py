"""Small stand-ins of the models that the presets name, in the layout of their repositories.

Tokenizer class, config file, names of the weights and kinds of file are those of the published
repositories (docs/presets.md lists what was assumed); the weights are random and small. The
repositories of 2020 have a lone ``spiece.model`` or ``vocab.json`` with ``merges.txt``, and a
pickle in the format of that time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from published_tokenizers import byte_level, pieces, sentencepiece, write, write_fast

WIDTH = 32
"""Hidden size; the others follow."""
T5_SIZES = {"d_model": WIDTH, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
EXTRA_IDS = [f"<extra_id_{i}>" for i in range(100)]
FIFTH = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def build(name: str, root: Path) -> Path:
    """The stand-in of a model, in ``root/owner/model``; made if it is not there."""
    folder = root / name
    if not folder.is_dir():
        STAND_INS[name](folder)
    return folder


def build_preset(preset: str, root: Path) -> dict[str, Path]:
    """The stand-ins of a preset's stages, by the stage's name."""
    from q2_metric.models.presets import PRESETS

    chosen = PRESETS[preset]
    return {stage: build(getattr(chosen, stage).model, root)
            for stage in ("questions", "reader", "nli", "scale")}


# --- weights ------------------------------------------------------------------------------


def random_model(auto_class: str, config: Mapping[str, Any], seed: int = 0) -> Any:
    """A model of that config with weights that tell texts apart."""
    import torch
    import transformers

    torch.manual_seed(seed)
    settings = transformers.AutoConfig.for_model(**config)
    model = getattr(transformers, auto_class).from_config(settings).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.3)
    return model


def save_pickle(folder: Path, weights: Mapping[str, Any], *, old: bool = False) -> None:
    """``pytorch_model.bin``, ``old`` in the format of torch before 1.6."""
    import torch

    torch.save(dict(weights), folder / "pytorch_model.bin",
               _use_new_zipfile_serialization=not old)


def save_safe(folder: Path, weights: Mapping[str, Any], *, parts: int = 1) -> None:
    """``model.safetensors``, or ``parts`` of it with their index."""
    from safetensors.torch import save_file

    tensors = {name: tensor.contiguous().clone() for name, tensor in weights.items()}
    if parts == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    index: dict[str, str] = {}
    for part in range(parts):
        file = f"model-{part + 1:05}-of-{parts:05}.safetensors"
        own = dict(list(tensors.items())[part::parts])
        save_file(own, folder / file, metadata={"format": "pt"})
        index |= dict.fromkeys(own, file)
    write(folder, model__safetensors__index__json={
        "metadata": {"total_size": sum(one.nbytes for one in tensors.values())},
        "weight_map": index})


def without_tied(weights: Mapping[str, Any]) -> dict[str, Any]:
    """What safetensors keeps of a T5: the shared embeddings once."""
    return {name: one for name, one in weights.items() if not name.endswith("embed_tokens.weight")}


# --- questions: T5 -------------------------------------------------------------------------


def t5_config(**changes: Any) -> dict[str, Any]:
    """The config of t5-base as its fine-tuned descendants of 2020 have it."""
    return {
        "architectures": ["T5ForConditionalGeneration"], "model_type": "t5",
        "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "pad_token_id": 0,
        "feed_forward_proj": "relu", "initializer_factor": 1.0, "is_encoder_decoder": True,
        "layer_norm_epsilon": 1e-06, "n_positions": 512, "output_past": True,
        "relative_attention_num_buckets": 32, "vocab_size": pieces("t5") + 128,
        "task_specific_params": {"summarization": {
            "early_stopping": True, "length_penalty": 2.0, "max_length": 200, "min_length": 30,
            "no_repeat_ngram_size": 3, "num_beams": 4, "prefix": "summarize: "}},
        **T5_SIZES, **changes,
    }


def paper_questions(folder: Path) -> None:
    """mrm8488/t5-base-finetuned-question-generation-ap: spiece.model alone, a pickle."""
    config = t5_config()
    weights = random_model("AutoModelForSeq2SeqLM", config, seed=1).state_dict()
    first = "0.layer.0.SelfAttention.relative_attention_bias.weight"
    # transformers 3 kept a table for the cross attention that no later version has.
    weights["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = (
        weights[f"decoder.block.{first}"].clone())
    write(folder, config__json=config, spiece__model=sentencepiece("t5"),
          tokenizer_config__json={"model_max_length": 512},
          special_tokens_map__json={**FIFTH, "additional_special_tokens": EXTRA_IDS})
    save_pickle(folder, weights, old=True)


def small_questions(folder: Path) -> None:
    """valhalla/t5-small-qa-qg-hl: its marks are in added_tokens.json, after T5's extra ids."""
    first = pieces("t5") + len(EXTRA_IDS)
    config = t5_config(vocab_size=first + 2)
    write(folder, config__json=config, spiece__model=sentencepiece("t5"),
          added_tokens__json={"<sep>": first, "<hl>": first + 1},
          tokenizer_config__json={"model_max_length": 512, "special_tokens_map_file": None,
                                  "full_tokenizer_file": None},
          special_tokens_map__json={**FIFTH, "additional_special_tokens": EXTRA_IDS})
    model = random_model("AutoModelForSeq2SeqLM", config, seed=2)
    save_pickle(folder, model.state_dict())


def modern_questions(folder: Path) -> None:
    """lmqg/flan-t5-large-squad-qg: a fast tokenizer with ``<hl>``, a pickle, an untied head."""
    first = pieces("t5") + len(EXTRA_IDS)
    config = flan_config(vocab_size=first + 1, add_prefix=True, tokenizer_class="T5Tokenizer")
    write(folder, config__json=config, spiece__model=sentencepiece("t5"),
          added_tokens__json={"<hl>": first},
          tokenizer_config__json={
              **FIFTH, "extra_ids": 100, "model_max_length": 512, "sp_model_kwargs": {},
              "special_tokens_map_file": None, "tokenizer_class": "T5Tokenizer",
              "additional_special_tokens": EXTRA_IDS},
          special_tokens_map__json={**FIFTH, "additional_special_tokens": ["<hl>"]})
    write_fast(folder, "t5", added=["<hl>"])
    save_pickle(folder, random_model("AutoModelForSeq2SeqLM", config, seed=3).state_dict())


# --- SCALE: Flan-T5 ------------------------------------------------------------------------


def flan_config(**changes: Any) -> dict[str, Any]:
    """The config of a Flan-T5: gated, and its output head is not the embeddings."""
    return t5_config(**{
        "feed_forward_proj": "gated-gelu", "is_gated_act": True, "dense_act_fn": "gelu_new",
        "tie_word_embeddings": False, "relative_attention_max_distance": 128,
        "transformers_version": "4.24.0.dev0", **changes})


def flan(folder: Path, *, seed: int, parts: int = 1, pickled: bool = False, **changes: Any) -> None:
    """A Flan-T5: both tokenizer files, both kinds of weights or one."""
    config = flan_config(**changes)
    write(folder, config__json=config, spiece__model=sentencepiece("t5"),
          generation_config__json={"decoder_start_token_id": 0, "eos_token_id": 1,
                                   "pad_token_id": 0, "transformers_version": "4.27.0.dev0"},
          tokenizer_config__json={
              **FIFTH, "extra_ids": 100, "model_max_length": 512, "name_or_path": "t5",
              "sp_model_kwargs": {}, "tokenizer_class": "T5Tokenizer",
              "additional_special_tokens": EXTRA_IDS},
          special_tokens_map__json={**FIFTH, "additional_special_tokens": EXTRA_IDS})
    write_fast(folder, "t5")
    weights = random_model("AutoModelForSeq2SeqLM", config, seed=seed).state_dict()
    if pickled:
        save_pickle(folder, weights)
    save_safe(folder, without_tied(weights), parts=parts)


# --- readers -------------------------------------------------------------------------------


def albert_reader(folder: Path, *, seed: int, old_keys: Mapping[str, Any]) -> None:
    """An ALBERT fine-tuned on SQuAD 2 in 2020: spiece.model alone, a pickle of that time."""
    import torch

    config = {
        "architectures": ["AlbertForQuestionAnswering"], "model_type": "albert",
        "attention_probs_dropout_prob": 0, "bos_token_id": 2, "classifier_dropout_prob": 0.1,
        "embedding_size": 16, "eos_token_id": 3, "hidden_act": "gelu_new",
        "hidden_dropout_prob": 0, "hidden_size": WIDTH, "initializer_range": 0.02,
        "inner_group_num": 1, "intermediate_size": 64, "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512, "num_attention_heads": 4, "num_hidden_groups": 1,
        "num_hidden_layers": 3, "pad_token_id": 0, "type_vocab_size": 2,
        "vocab_size": pieces("albert"),
    }
    weights = random_model("AutoModelForQuestionAnswering", config, seed=seed).state_dict()
    weights["albert.embeddings.position_ids"] = torch.arange(512)[None]
    write(folder, config__json={**config, **old_keys}, spiece__model=sentencepiece("albert"),
          tokenizer_config__json={"do_lower_case": True, "model_max_length": 512},
          special_tokens_map__json={
              "bos_token": "[CLS]", "eos_token": "[SEP]", "unk_token": "<unk>",
              "sep_token": "[SEP]", "pad_token": "<pad>", "cls_token": "[CLS]",
              "mask_token": "[MASK]"})
    save_pickle(folder, weights, old=True)


OLD_KEYS = {
    "_num_labels": 2, "do_sample": False, "down_scale_factor": 1, "eos_token_ids": 0,
    "finetuning_task": None, "gap_size": 0, "id2label": {"0": "LABEL_0", "1": "LABEL_1"},
    "is_decoder": False, "label2id": {"LABEL_0": 0, "LABEL_1": 1}, "length_penalty": 1.0,
    "max_length": 20, "net_structure_type": 0, "num_beams": 1, "num_memory_blocks": 0,
    "num_return_sequences": 1, "output_attentions": False, "output_hidden_states": False,
    "output_past": True, "pruned_heads": {}, "repetition_penalty": 1.0, "temperature": 1.0,
    "top_k": 50, "top_p": 1.0, "torchscript": False, "use_bfloat16": False,
}
"""What transformers 2 wrote into every config."""

DEBERTA = {
    "model_type": "deberta-v2", "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "hidden_size": WIDTH, "initializer_range": 0.02,
    "intermediate_size": 64, "layer_norm_eps": 1e-07, "max_position_embeddings": 512,
    "max_relative_positions": -1, "norm_rel_ebd": "layer_norm", "num_attention_heads": 4,
    "num_hidden_layers": 2, "pad_token_id": 0, "pooler_dropout": 0, "pooler_hidden_act": "gelu",
    "pooler_hidden_size": WIDTH, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False,
    "position_buckets": 256, "relative_attention": True, "share_att_key": True,
    "type_vocab_size": 0,
}
"""The config of microsoft/deberta-v3-large, but for its size."""


def deberta(folder: Path, auto_class: str, *, seed: int, fast: bool, **changes: Any) -> None:
    """A DeBERTa-v3: ``spm.model``, the mask in added_tokens.json, with or without a fast one."""
    mask = pieces("deberta-v3")
    config = {**DEBERTA, "vocab_size": mask + 100, **changes}
    specials = {"bos_token": "[CLS]", "cls_token": "[CLS]", "eos_token": "[SEP]",
                "mask_token": "[MASK]", "pad_token": "[PAD]", "sep_token": "[SEP]",
                "unk_token": "[UNK]"}
    write(folder, config__json=config, spm__model=sentencepiece("deberta-v3"),
          added_tokens__json={"[MASK]": mask}, special_tokens_map__json=specials,
          tokenizer_config__json={
              **specials, "do_lower_case": False, "sp_model_kwargs": {}, "split_by_punct": False,
              "tokenizer_class": "DebertaV2Tokenizer", "vocab_type": "spm"})
    if fast:
        write_fast(folder, "deberta-v3")
    save_safe(folder, random_model(auto_class, config, seed=seed).state_dict())


# --- NLI -----------------------------------------------------------------------------------


def snli(folder: Path, *, seed: int = 6, **labels: Any) -> None:
    """boychaboy/SNLI_roberta-large: vocab.json and merges.txt, a pickle, bare class names."""
    import torch

    vocabulary, merges = byte_level()
    config = {
        "architectures": ["RobertaForSequenceClassification"], "model_type": "roberta",
        "attention_probs_dropout_prob": 0.1, "bos_token_id": 0, "eos_token_id": 2,
        "finetuning_task": "snli", "gradient_checkpointing": False, "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1, "hidden_size": WIDTH, "initializer_range": 0.02,
        "intermediate_size": 64, "layer_norm_eps": 1e-05, "max_position_embeddings": 514,
        "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 1,
        "position_embedding_type": "absolute", "type_vocab_size": 1, "use_cache": True,
        "vocab_size": len(json.loads(vocabulary)),
    }
    model = random_model(
        "AutoModelForSequenceClassification", {**config, "num_labels": 3}, seed=seed)
    weights = model.state_dict()
    weights["roberta.embeddings.position_ids"] = torch.arange(514)[None]
    bare = {"id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
            "label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}}
    write(folder, config__json={**config, **(labels or bare)}, vocab__json=vocabulary,
          merges__txt=merges, tokenizer_config__json={"model_max_length": 512},
          special_tokens_map__json={
              "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
              "sep_token": "</s>", "pad_token": "<pad>", "cls_token": "<s>",
              "mask_token": "<mask>"})
    save_pickle(folder, weights)


NLI_LABELS = ["entailment", "neutral", "contradiction"]
STAND_INS: dict[str, Callable[[Path], None]] = {
    "mrm8488/t5-base-finetuned-question-generation-ap": paper_questions,
    "ktrapeznikov/albert-xlarge-v2-squad-v2":
        lambda folder: albert_reader(folder, seed=4, old_keys=OLD_KEYS),
    "boychaboy/SNLI_roberta-large": snli,
    "google/flan-t5-xl": lambda folder: flan(folder, seed=7, parts=2),
    "valhalla/t5-small-qa-qg-hl": small_questions,
    "twmkn9/albert-base-v2-squad2":
        lambda folder: albert_reader(folder, seed=5, old_keys={"output_past": True}),
    "google/flan-t5-base": lambda folder: flan(folder, seed=8, pickled=True),
    "lmqg/flan-t5-large-squad-qg": modern_questions,
    "deepset/deberta-v3-large-squad2": lambda folder: deberta(
        folder, "AutoModelForQuestionAnswering", seed=9, fast=False,
        architectures=["DebertaV2ForQuestionAnswering"]),
    "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli": lambda folder: deberta(
        folder, "AutoModelForSequenceClassification", seed=10, fast=True,
        architectures=["DebertaV2ForSequenceClassification"],
        id2label=dict(enumerate(NLI_LABELS)),
        label2id={label: i for i, label in enumerate(NLI_LABELS)}),
    "lytang/MiniCheck-Flan-T5-Large": lambda folder: flan(folder, seed=11),
}
"""Makers of the stand-ins, by the Hub's name."""


def names(presets: Iterable[str] = ("paper", "paper-small", "modern")) -> list[str]:
    """The published models of these presets."""
    from q2_metric.models.presets import PRESETS

    stages = [getattr(PRESETS[one], stage) for one in presets
              for stage in ("questions", "reader", "nli", "scale")]
    return list(dict.fromkeys(stage.model for stage in stages))
