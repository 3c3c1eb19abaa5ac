"""Decides which models may be read from a pickle, although a pickle can contain code.

Torch's weights-only reader, which runs no code, reads the presets' published models. The user must
allow every other model by name (:data:`PICKLES`).
"""

import json
import logging
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from q2_metric.errors import PicklesRefused
from q2_metric.models.hub.names import commit, is_folder, parted
from q2_metric.models.presets import published

PICKLES = "Q2_ALLOW_PICKLES"
"""Environment variable with a comma-separated list of models that may be read from a pickle."""

SAFE = ("model.safetensors", "model.safetensors.index.json")

_LOG = logging.getLogger(__name__)


def check_weights(models: Iterable[str]) -> None:
    """Checks that the weights of all models may be read, before any weights are downloaded.
    PicklesRefused: names all models without safetensors that may not be read from a pickle."""
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    pickled = [name for name in dict.fromkeys(models)
               if name not in _named() and not has_safetensors(name)]
    if refused := [name for name in pickled if not trusted(name)]:
        raise PicklesRefused(refused, f"{PICKLES}={','.join([*_named(), *refused])}")
    if new := [name for name in pickled if name not in _said]:
        _said.update(new)
        _LOG.warning("published models without safetensors: torch's weights-only reader, which "
                     "runs no code, reads the pickles of %s", ", ".join(new))


_said: set[str] = set()
"""Models that the warning has already named."""


def _named() -> list[str]:
    return [one for one in (part.strip() for part in os.environ.get(PICKLES, "").split(",")) if one]


def trusted(name: str) -> bool:
    """Whether ``name`` is exactly the Hub name of a preset's model, without a revision."""
    return name in published() and not is_folder(name)


def may_read_pickle(name: str) -> bool:
    return trusted(name) or name in _named()


def is_cached(name: str) -> bool:
    """Whether the local cache has a Hub model's weights, in a format that may be read.

    Weights are downloaded last, so all other files are then there too, and the Hub is not needed.
    """
    if is_folder(name):
        return False
    return _weights_here(name, "model.safetensors") or (
        may_read_pickle(name) and _weights_here(name, "pytorch_model.bin"))


def _weights_here(name: str, file: str) -> bool:
    """Large weights are split into several files; all of them must be in the cache."""
    from huggingface_hub import try_to_load_from_cache

    repository, revision = parted(name)[0], commit(name)
    if isinstance(try_to_load_from_cache(repository, file, revision=revision), str):
        return True
    index = try_to_load_from_cache(repository, f"{file}.index.json", revision=revision)
    if not isinstance(index, str):
        return False
    parts = set(json.loads(Path(index).read_text(encoding="utf-8"))["weight_map"].values())
    return all(isinstance(try_to_load_from_cache(repository, part, revision=revision), str)
               for part in parts)


def has_safetensors(name: str) -> bool:
    """Whether a model's weights exist as safetensors, in its folder, in the cache or on the Hub.

    Also true if the Hub cannot be reached: loading the model will then report the error.
    """
    if is_folder(name):
        return any((Path(name).expanduser() / file).is_file() for file in SAFE)
    if is_cached(name):
        return _weights_here(name, "model.safetensors")
    return _listed(parted(name)[0], commit(name))


@cache
def _listed(repository: str, revision: str) -> bool:
    """Also true if the Hub cannot be reached."""
    from huggingface_hub import HfApi

    try:
        files = HfApi().list_repo_files(repository, revision=revision)
    except Exception:  # huggingface_hub and httpx raise many kinds of errors
        return True
    return any(file in files for file in SAFE)
