"""Reads names of models: a folder, ``owner/model`` on the Hub, or ``owner/model@revision``; and
decides which models may be read from a pickle, although a pickle can contain code.

A Hub model's cached commit is used until another revision is requested, so that the loaded model,
the signature and cached scores refer to the same commit. Torch's weights-only reader, which runs no
code, reads the pickles of the presets' published models. The user must allow every other pickle.
"""

import json
import logging
import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from q2_metric.errors import MissingExtra, PicklesRefused
from q2_metric.models.presets import published

EXTRA = "torch"
PACKAGES = ("torch", "transformers")

CONFIG = "config.json"
"""Every model has this file."""

WAIT, MOMENT = 60.0, 4.0
"""Seconds after which the Hub is asked again whether it can be reached, and seconds without an
answer after which it counts as unreachable."""

PICKLES = "Q2_ALLOW_PICKLES"
"""Environment variable with a comma-separated list of models that may be read from a pickle."""

SAFE = ("model.safetensors", "model.safetensors.index.json")

_LOG = logging.getLogger(__name__)
_said: set[str] = set()
"""Models that the warning about pickles has already named."""


def parted(name: str) -> tuple[str, str | None]:
    """The folder or Hub name, and the revision (a branch, a tag or a commit).

    >>> parted("owner/model@v1.0"), parted("owner/model")
    (('owner/model', 'v1.0'), ('owner/model', None))
    """
    if is_folder(name):
        return name, None
    repository, _, revision = name.partition("@")
    return repository, revision or None


def is_folder(name: str) -> bool:
    return Path(name).expanduser().is_dir()


def check_packages(feature: str) -> None:
    """Raises MissingExtra if torch or transformers is not installed; imports neither."""
    for package in PACKAGES:
        installed = False
        with suppress(ImportError, ValueError):  # an earlier import of the package failed
            installed = find_spec(package) is not None
        if not installed:
            raise MissingExtra(feature, package, EXTRA)


@cache
def commit(name: str) -> str:
    """The commit in the local cache; the model's config is downloaded if the cache lacks it. Raises
    huggingface_hub's errors: there is no such model or revision, or the Hub is unreachable."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import LocalEntryNotFoundError

    repository, revision = parted(name)
    config = try_to_load_from_cache(repository, CONFIG, revision=revision)
    if not isinstance(config, str):
        if not _answers(int(time.monotonic() // WAIT)):
            raise LocalEntryNotFoundError("the Hub does not answer")
        config = hf_hub_download(repository, CONFIG, revision=revision)
    return Path(config).parent.name


@cache
def _answers(_minute: int) -> bool:
    """Whether the Hub responds within :data:`MOMENT` seconds; an HTTP error is also a response.
    The answer counts for a minute. huggingface_hub would try for half a minute for each model. A
    look-up of the host name can take as long and cannot be stopped, hence the thread."""
    from huggingface_hub import constants, get_session

    faults = ["Timeout"]

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=MOMENT)
            faults.clear()
        except Exception as error:  # httpx has many error classes
            faults[:] = [type(error).__name__]

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(MOMENT)
    return not any(mark in one for one in faults for mark in ("Offline", "Connect", "Timeout"))


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


def _named() -> list[str]:
    return [one for one in (part.strip() for part in os.environ.get(PICKLES, "").split(",")) if one]


def trusted(name: str) -> bool:
    """Whether ``name`` is exactly the Hub name of a preset's model, without a revision."""
    return name in published() and not is_folder(name)


def may_read_pickle(name: str) -> bool:
    return trusted(name) or name in _named()


def is_cached(name: str) -> bool:
    """Whether the local cache has a Hub model's weights, in a format that may be read. Weights are
    downloaded last, so all other files are then there too, and the Hub is not needed."""
    if is_folder(name):
        return False
    return _weights_here(name, "model.safetensors") or (
        may_read_pickle(name) and _weights_here(name, "pytorch_model.bin"))


def _weights_here(name: str, file: str) -> bool:
    """Large weights are split into several files; all of them must be in the cache."""
    if _in_cache(name, file):
        return True
    if not (index := _in_cache(name, f"{file}.index.json")):
        return False
    parts = set(json.loads(Path(index).read_text(encoding="utf-8"))["weight_map"].values())
    return all(_in_cache(name, part) for part in parts)


def _in_cache(name: str, file: str) -> str | None:
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(parted(name)[0], file, revision=commit(name))
    return path if isinstance(path, str) else None


def has_safetensors(name: str) -> bool:
    """Whether a model's weights exist as safetensors, in its folder, in the cache or on the Hub.
    Also true if the Hub cannot be reached: loading the model will then report the error."""
    if is_folder(name):
        return any((Path(name).expanduser() / file).is_file() for file in SAFE)
    if is_cached(name):
        return _weights_here(name, "model.safetensors")
    from huggingface_hub import HfApi

    try:
        files = HfApi().list_repo_files(parted(name)[0], revision=commit(name))
    except Exception:  # huggingface_hub and httpx raise many kinds of errors
        return True
    return any(file in files for file in SAFE)
