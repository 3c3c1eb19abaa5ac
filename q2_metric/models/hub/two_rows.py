"""Restricts the output head of an encoder-decoder model to the logits of two answers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from q2_metric.errors import ModelError
from q2_metric.models.hub.loading import LoadedModel
from q2_metric.models.hub.prompts import Prompt
from q2_metric.models.hub.tokens import token_ids


def answer_ids(loaded: LoadedModel, prompt: Prompt) -> tuple[int, int]:
    """The ids of the tokens with which the answers "yes" and "no" begin, without BOS.

    Raises:
        ModelError: an answer has no token, or both begin with the same token.
    """
    tokenizer = loaded.tokenizer
    first = []
    for word in (prompt.yes, prompt.no):
        ids = token_ids(tokenizer, word)
        known = [token for token in ids if token not in tokenizer.all_special_ids]
        if not known:
            raise ModelError(f"{loaded.name}: its vocabulary lacks the answer {word!r}")
        first.append(known[0])
    if first[0] == first[1]:
        raise ModelError(
            f"{loaded.name}: {prompt.yes!r} and {prompt.no!r} begin with the same token"
        )
    return first[0], first[1]


def decoder_start(loaded: LoadedModel) -> int:
    """The id of the token that the decoder starts with; ModelError if the config names none."""
    model = loaded.model
    for config in (model.config, getattr(model, "generation_config", None)):
        start = getattr(config, "decoder_start_token_id", None)
        if isinstance(start, int):
            return start
    raise ModelError(f"{loaded.name}: its config has no decoder_start_token_id")


def with_head_rows(model: Any, rows: Sequence[int]) -> Any:
    """A copy of ``model`` whose output head computes logits only for the tokens ``rows``.

    All other weights are shared. The model's own code runs before the head, because T5 scales its
    output if the head is tied to the embeddings.
    """
    import torch

    chosen = list(rows)
    full = model.get_output_embeddings()
    head = torch.nn.Linear(full.in_features, len(chosen), bias=full.bias is not None)
    head.weight = torch.nn.Parameter(full.weight.detach()[chosen], requires_grad=False)
    if full.bias is not None:
        head.bias = torch.nn.Parameter(full.bias.detach()[chosen], requires_grad=False)
    view = copy.copy(model)
    # A shallow copy shares these dictionaries. They are copied, because the new head would
    # otherwise change ``model``.
    view._modules = dict(model._modules)
    view._buffers = dict(model._buffers)
    view.set_output_embeddings(head)
    if "final_logits_bias" in view._buffers:  # BART adds it to its logits
        view._buffers["final_logits_bias"] = view._buffers["final_logits_bias"][:, chosen]
    return view
