"""Reads names of models: a folder, ``owner/model`` on the Hub, or ``owner/model@revision``.

A Hub model's cached commit is used until another revision is requested, so that the loaded model,
the signature and cached scores refer to the same commit.
"""

import threading
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from q2_metric.errors import MissingExtra

EXTRA = "torch"
PACKAGES = ("torch", "transformers")

CONFIG = "config.json"
"""Every model has this file."""

WAIT = 60.0
"""Seconds after which the Hub is asked again whether it can be reached."""

MOMENT = 4.0
"""Seconds without an answer after which the Hub counts as unreachable."""


def parted(name: str) -> tuple[str, str | None]:
    """The folder or Hub name, and the revision (a branch, a tag or a commit).

    >>> parted("owner/model@v1.0")
    ('owner/model', 'v1.0')
    >>> parted("owner/model")
    ('owner/model', None)
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
    """The commit in the local cache; the model's config is downloaded if the cache lacks it.

    Raises huggingface_hub's errors: there is no such model or revision, or the Hub is unreachable.
    """
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
    failing look-up of the host name takes as long and cannot be stopped, hence the thread."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return False
    answers: list[bool] = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=MOMENT)
            answers.append(True)
        except Exception as error:  # httpx has many error classes
            name = type(error).__name__
            answers.append("Connect" not in name and "Timeout" not in name)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(MOMENT)
    return answers == [True]
