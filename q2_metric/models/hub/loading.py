"""Loads torch models: chooses device and precision, and turns failures into clear errors.

torch and transformers are imported in the functions, which raise MissingExtra without them.
"""

import contextlib
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from q2_metric import errors, forks
from q2_metric.errors import InputError, ModelError
from q2_metric.models.hub import names
from q2_metric.models.hub.names import EXTRA, check_weights, is_cached, is_folder, may_read_pickle
from q2_metric.models.hub.pieces import restore
from q2_metric.processors import processors

DTYPES = ("float32", "bfloat16", "float16")
AutoClass = Literal[
    "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForQuestionAnswering",
    "AutoModelForSequenceClassification"]

OFFLINE = "use the preset 'bundled', which needs no network, or give the folder of a saved model"
REASONS = {
    ("gatedrepoerror", "gated repo"):
        f"a gated model: accept its terms on the Hub and run 'hf auth login', or {OFFLINE}",
    ("revisionnotfounderror", "not a valid git identifier"):
        "the Hub's model has no such revision (a branch, a tag or a commit)",
    ("repositorynotfounderror", "hfvalidationerror", "is not a valid model identifier"):
        "no such model on the Hub and no such folder (private models need 'hf auth login')",
    ("localentrynotfounderror", "offlinemodeisenabled", "connecterror", "connecttimeout",
     "couldn't connect", "offline mode"):
        "there is no such folder, the Hub cannot be reached, and the model is not in the local "
        f"cache: {OFFLINE}",
    ("custom code", "trust_remote_code"):
        "needs code of its own, which comes with the model and is never run here; use a model "
        "whose architecture transformers has",
    ("not compiled with cuda", "cuda error", "nvidia driver", "cuda driver",
     "linked with support for mps", "mps backend"):
        "the device does not work ({}): use --device cpu",
}
"""What to say if an error has one of these parts, in lower case: classes of huggingface_hub and
httpx, and words of transformers and torch. The first that fits is said."""
OLDEST = (5, 1)
"""Oldest version of transformers that is allowed (major, minor)."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """``name``, for signatures, is the folder, or the Hub name with its commit."""

    name: str
    tokenizer: Any
    model: Any
    device: Any


def require(feature: str) -> None:
    """Checks that torch and transformers can be imported. ``feature`` says what needs them.
    ModelError: transformers is too old."""
    for package in names.PACKAGES:
        with forks.held_off():
            errors.optional(package, feature, package, EXTRA)
    there = str(sys.modules["transformers"].__version__)
    if tuple(int(part) for part in re.findall(r"\d+", there)[:2]) < OLDEST:
        raise ModelError(f"transformers {there} gives wrong scores with a Flan-T5: "
                         'pip install "transformers>=5.1,<6"')


def limit_threads() -> None:
    """Gives torch no more threads than the container has processors, and one in a forked child,
    where it would wait for the parent's threads."""
    import torch

    most = 1 if forks.is_child() else processors()
    if torch.get_num_threads() > most:
        torch.set_num_threads(most)


def resolve_device(device: str = "auto") -> str:
    """The device to run on: "cpu", "cuda", "cuda:1", "mps" … "auto" prefers CUDA, then MPS.
    InputError: the device is unknown, or this machine lacks it."""
    require(f"the device {device!r}")
    import torch

    # With a driver that is too old, torch counts GPUs that it cannot use.
    there = {"cuda": torch.cuda.is_available() and torch.cuda.device_count(),
             "mps": torch.backends.mps.is_available(), "cpu": 1}
    if device == "auto":
        return next(kind for kind, count in there.items() if count)
    kind, _, index = device.partition(":")
    if kind not in there or (index and not index.isdigit()):
        raise InputError(f"unknown device {device!r}: use auto, cpu, cuda, cuda:N or mps")
    if int(index or 0) >= there[kind]:
        raise InputError(f"device {device!r} does not exist here: use device='auto' or 'cpu'")
    return device


def load_config(name: str) -> Any:
    """Loads a model's config without the weights; ModelError if it cannot be found or reached."""
    require(f"the model {name!r}")
    from transformers import AutoConfig

    folder, revision = _place(name)
    with _errors_about(name), _quiet():
        return AutoConfig.from_pretrained(
            folder, revision=revision, trust_remote_code=False, local_files_only=is_cached(name))


def check_models(models: Sequence[str]) -> None:
    """Checks the models, without importing torch, before any is downloaded. ModelError: a model
    does not exist, or its only weights are pickles that may not be read."""
    names.check_packages(f"the model {models[0]!r}")
    for name in models:
        _place(name)
    with _quiet():
        check_weights(models)


def load_pretrained(
    auto_class: AutoClass, name: str, device: str = "auto", dtype: str = "float32", *,
    new_head: tuple[Sequence[str], int] | None = None,
) -> LoadedModel:
    """Loads a tokenizer and a model from the Hub or from a local folder (see :mod:`.names`).

    Code that comes with a model is never run, also no code in a pickle. The Hub's service that
    converts pickles is not used, because transformers would send it the caller's token.
    ``auto_class`` says what the model is for. ``new_head`` has the labels of a classification head
    that will be trained, and a seed for its values. InputError: the device or the dtype is unknown.
    ModelError: the model does not exist, the Hub cannot be reached, the model is for another task
    (its head would be random), its weights may not be read, or its tokenizer gives no offsets.
    """
    place = resolve_device(device)
    if dtype not in DTYPES:
        raise InputError(f"unknown dtype {dtype!r}: use {', '.join(DTYPES)}")
    config = load_config(name)  # one quick request comes first
    import torch
    import transformers

    check_models([name])
    if new_head is not None:
        config.id2label = dict(enumerate(new_head[0]))
        torch.manual_seed(new_head[1])
    folder, revision = _place(name)
    tokenizer = _load_tokenizer(name, folder, revision)
    with _errors_about(name), _quiet():
        model, info = getattr(transformers, auto_class).from_pretrained(
            folder, revision=revision, config=config, dtype=getattr(torch, dtype),
            trust_remote_code=False, local_files_only=is_cached(name),
            use_safetensors=None if may_read_pickle(name) else True, output_loading_info=True,
            ignore_mismatched_sizes=new_head is not None)
    if new_head is None:
        _check_head(name, auto_class, model, info)
    with _errors_about(name):
        model = model.to(place).eval()
    # Commit and dtype are part of the label, because both can change scores.
    label = name if is_folder(name) else f"{folder}@{revision[:8]}"
    label += "" if dtype == "float32" else f"-{dtype}"
    return LoadedModel(label, tokenizer, model, place)


def _load_tokenizer(name: str, folder: str, revision: str) -> Any:
    from transformers import AutoTokenizer
    from transformers.utils.hub import cached_file

    with _errors_about(name), _quiet():
        here = is_cached(name)
        tokenizer = AutoTokenizer.from_pretrained(
            folder, revision=revision, trust_remote_code=False, local_files_only=here)
        saved = cached_file(folder, "tokenizer.json", revision=revision, local_files_only=here,
                            _raise_exceptions_for_missing_entries=False)
        restore(tokenizer, saved)
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{name}: its tokenizer gives no character offsets (no tokenizer.json)")
    if tokenizer.pad_token is None:  # GPT-2; the attention mask hides the padding
        tokenizer.pad_token_id = tokenizer.eos_token_id or 0
    return tokenizer


def _place(name: str) -> tuple[str, str]:
    """The folder or Hub name, and the revision (of a Hub model, the commit)."""
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / names.CONFIG).is_file():
            raise ModelError(f"{name}: the folder has no config.json, so it is not a saved model")
        return str(path), "main"
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.is_absolute():
        raise ModelError(f"{name}: no such folder; give a folder or a Hub name like 'owner/model'")
    with _errors_about(name), _quiet():
        return names.parted(name)[0], names.commit(name)


def _check_head(name: str, auto_class: str, model: Any, info: dict[str, Any]) -> None:
    """A head without stored weights would be initialised at random."""
    inside = f"{model.base_model_prefix}."
    head = sorted(key for key in info.get("missing_keys", ()) if not key.startswith(inside))
    if head:
        raise ModelError(
            f"{name}: not trained for {auto_class} (it has no weights for {', '.join(head[:3])})")


@contextlib.contextmanager
def _errors_about(name: str) -> Iterator[None]:
    """Turns any error about the model into a ModelError with one clear line."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        # transformers, huggingface_hub, httpx and safetensors each have error classes of their own.
        raise ModelError(f"{name}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    if errors.is_out_of_memory(error):
        return ("does not fit into memory: use --dtype bfloat16 (half of it), another device, or a "
                "smaller preset (paper-small, bundled)")
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    text = " ".join(f"{type(item).__name__} {item}" for item in errors.causes(error)).lower()
    for marks, words in REASONS.items():
        if any(mark in text for mark in marks):
            return words.format(first[:200])
    return f"cannot be loaded ({type(error).__name__}: {first[:200]})"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Inside this block, transformers and huggingface_hub show no progress bars and no warnings."""
    hub: Any = import_module("huggingface_hub.utils")
    noise: Any = sys.modules.get("transformers.utils.logging")
    with contextlib.ExitStack() as after:
        if not hub.are_progress_bars_disabled():
            after.callback(hub.enable_progress_bars)
            hub.disable_progress_bars()
        if noise is not None and noise.is_progress_bar_enabled():
            after.callback(noise.enable_progress_bar)
            noise.disable_progress_bar()
        for logger in map(logging.getLogger, ("transformers", "huggingface_hub")):
            after.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        yield


def check_finite(name: str, scores: Any) -> Any:
    """Returns ``scores``; ModelError if one is not finite, as with some models in float16."""
    if not bool(scores.isfinite().all()):
        raise ModelError(f"{name}: its outputs are not finite numbers; use bfloat16 or float32")
    return scores
