"""Generates responses with the model of a ``transformers.Trainer``, on all processes."""

import copy
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from inspect import signature
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from transformers import GenerationConfig, GenerationMixin

from q2_metric.errors import InputError

_LOG = logging.getLogger(__name__)

_NO_LIMIT = 1_000_000
"""In tokens; transformers uses 1e30 for no limit."""
_SHORT = 20
"""Tokens of a response if no setting limits it, as in ``model.generate``."""


class TrainerResponder:
    """Generates responses with the model of a trainer; for the arguments, see :class:`Q2Callback`.
    Raises InputError if the trainer has no tokenizer, or the response leaves no room for a prompt.
    """

    def __init__(
        self, trainer: Any, generation: Mapping[str, Any], max_prompt_length: int | None,
        batch_size: int | None,
    ) -> None:
        self.tokenizer = trainer.processing_class
        if not callable(getattr(self.tokenizer, "batch_decode", None)):
            raise InputError("the trainer has no tokenizer: give it one as processing_class")
        self.batch_size = batch_size or trainer.args.eval_batch_size
        self.config, self.others = _generation(trainer, generation)
        room = _room(trainer.model, self.config)
        if max_prompt_length is not None and not 0 < max_prompt_length <= (room or _NO_LIMIT):
            raise InputError(f"max_prompt_length is {max_prompt_length}, but must be at least 1"
                             + (f" and at most {room}" if room else ""))
        # model_max_length is only a default: models with relative positions can read more.
        self.max_prompt_length = max_prompt_length or _room(
            trainer.model, self.config, self.tokenizer.model_max_length)

    def __call__(self, model: Any, prompts: Sequence[Any]) -> list[str]:
        """The responses to all prompts, on every process; each generates a part of them."""
        # If the model's parameters are sharded, all processes must run the same number of batches.
        split = PartialState().split_between_processes(
            list(enumerate(prompts)), apply_padding=True)
        with _generating(model, self.tokenizer) as unwrapped, split as own:
            batches = [own[i : i + self.batch_size] for i in range(0, len(own), self.batch_size)]
            texts = [text for batch in batches
                     for text in self._batch(unwrapped, [prompt for _, prompt in batch])]
        pairs = [(index, text) for (index, _), text in zip(own, texts, strict=True)]
        everyone = dict(gather_object(pairs))
        return [everyone[i] for i in range(len(prompts))]

    def check(self, prompts: Sequence[Any]) -> None:
        """Checks that each prompt can be tokenised, before the training. Raises InputError if a
        prompt cannot be tokenised, or has no tokens."""
        long = 0
        for index, prompt in enumerate(prompts):
            try:
                ids = self._ids(prompt)
            except Exception as error:  # a chat template may raise any error
                raise InputError(
                    f"the prompt of row {index} cannot be tokenised: {error}") from error
            if not ids:
                raise InputError(f"the prompt of row {index} has no token")
            long += len(ids) == self.max_prompt_length
        if long:
            _LOG.warning("%d of %d prompts have %d tokens or more. Longer ones lose their "
                         "beginning (max_prompt_length), so the model does not read knowledge "
                         "there.",
                         long, len(prompts), self.max_prompt_length)

    def _batch(self, model: Any, prompts: Sequence[Any]) -> list[str]:
        encoded = self.tokenizer.pad(
            {"input_ids": [self._ids(prompt) for prompt in prompts]}, return_tensors="pt")
        inputs = {n: encoded[n].to(model.device) for n in ("input_ids", "attention_mask")}
        # The config is copied, because model.generate changes it.
        output = model.generate(
            **inputs, generation_config=copy.deepcopy(self.config), **self.others)
        if not model.config.is_encoder_decoder:
            output = output[:, inputs["input_ids"].shape[1] :]
        texts: list[str] = self.tokenizer.batch_decode(output, skip_special_tokens=True)
        return [text.strip() for text in texts]

    def _ids(self, prompt: Any) -> list[int]:
        """The chat template adds the special tokens of chat messages."""
        chat = not isinstance(prompt, str)
        if chat:
            prompt = self.tokenizer.apply_chat_template(
                prompt, tokenize=False, add_generation_prompt=True)
        ids: list[int] = self.tokenizer(
            prompt, add_special_tokens=not chat, truncation=self.max_prompt_length is not None,
            max_length=self.max_prompt_length)["input_ids"]
        return ids


def _generation(trainer: Any, ours: Mapping[str, Any]) -> tuple[GenerationConfig, dict[str, Any]]:
    """The generation config, in which ``ours`` override the trainer's settings and these the
    model's; and those of ``ours`` that it has no field for, such as a logits processor."""
    args, model = trainer.args, trainer.model
    config = copy.deepcopy(model.generation_config)  # a Seq2SeqTrainer has put its own there
    config.use_cache = True  # training often switches it off
    if getattr(args, "generation_num_beams", None) is not None:
        config.num_beams = args.generation_num_beams
    longest = getattr(args, "generation_max_length", None)
    if {"max_length", "max_new_tokens"} & ours.keys():
        config.max_length = config.max_new_tokens = None  # otherwise generate warns of two limits
    elif longest is not None and model.config.is_encoder_decoder:
        config.max_length = longest
    elif longest is not None:  # a decoder's max_length counts the prompt too
        config.max_length, config.max_new_tokens = None, longest
    others = config.update(**ours)
    known = {*signature(GenerationMixin.generate).parameters, *vars(config)}
    for name in others.keys() - known:
        # Others may be inputs of the model.
        if near := get_close_matches(name, known, n=1, cutoff=0.8):
            raise InputError(f"generation has the unknown keyword {name!r}; did you mean "
                             f"{near[0]!r}?")
    if config.max_new_tokens is None and config.max_length is None:
        _LOG.warning("no setting limits the length of a response, so it ends after %d tokens: give "
                     'Q2Callback generation={"max_new_tokens": 100}, say', _SHORT)
        config.max_new_tokens = _SHORT
    return config, others


def _room(model: Any, config: GenerationConfig, longest: int | None = None) -> int | None:
    """Most tokens of a prompt, at most ``longest``; a decoder's response shares its positions."""
    limits = [longest, getattr(model.config.get_text_config(), "max_position_embeddings", None)]
    answer = 0
    if not model.config.is_encoder_decoder:
        answer = config.max_new_tokens or 1
        if config.max_new_tokens is None:
            limits.append(config.max_length)  # max_length counts prompt and response
    room = min((n for n in limits if n is not None and n < _NO_LIMIT), default=None)
    if room is not None and room <= answer:
        raise InputError(f"a response of {answer} tokens leaves no room for a prompt: "
                         f"both together may have {room} tokens")
    return None if room is None else room - answer


@contextmanager
def _generating(model: Any, tokenizer: Any) -> Iterator[Any]:
    """Yields the model without wrappers. At the end, the training mode, the tokenizer's padding and
    the random state are restored."""
    unwrapped = getattr(model, "module", model)
    training = unwrapped.training
    sides = tokenizer.padding_side, tokenizer.truncation_side
    if not unwrapped.config.is_encoder_decoder:
        tokenizer.padding_side = "left"
    tokenizer.truncation_side = "left"  # a long prompt must keep its last turn
    padding = tokenizer.pad_token
    if padding is None:
        tokenizer.pad_token = tokenizer.eos_token
    devices = [unwrapped.device] if unwrapped.device.type == "cuda" else []
    unwrapped.eval()
    try:
        # The random state is restored, because sampling must not influence the training.
        with torch.no_grad(), torch.random.fork_rng(devices):
            yield unwrapped
    finally:
        unwrapped.train(training)
        tokenizer.padding_side, tokenizer.truncation_side = sides
        if padding is None:
            tokenizer.pad_token = None
