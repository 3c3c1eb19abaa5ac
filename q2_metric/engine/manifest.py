"""What a run is of: which files, settings, models and code, in a JSON file.

``scores.jsonl.manifest.json`` lies beside a complete output. Its fields:

    version      of q2-metric
    complete     true; false in the manifest of a run that has not finished
    signatures   by metric, "q2_no_nli" too
    settings     other options that change what is written
    code         digest of the code and libraries that compute the scores
    files        for each: file, sha256 (null for standard input), rows, failed, columns
    systems      for each file, what "q2 score --json" shows
    output       SHA-256 of the output
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from q2_metric._version import __version__
from q2_metric.errors import InputError
from q2_metric.files import fingerprint, read_json, replacing
from q2_metric.metrics.signature import parse

Manifest = dict[str, Any]


def manifest(
    files: Sequence[Mapping[str, Any]],
    signatures: Mapping[str, str],
    settings: Mapping[str, Any],
    code: str,
) -> Manifest:
    """What a run is of, before its first row.

    Args:
        files: ``file`` (its path) and ``sha256`` (``None`` where it can be read only once).
        signatures: by metric, "q2_no_nli" too.
        settings: other options that change what is written, by name.
        code: digest of what computes the scores.
    """
    return {
        "version": __version__,
        "complete": False,
        "signatures": dict(signatures),
        "settings": dict(settings),
        "code": code,
        "files": [dict(one) for one in files],
    }


def difference(begun: Manifest, now: Manifest) -> str | None:
    """What is not as it was when a run began, in words; ``None`` where all is."""
    try:
        for was, given in zip(begun["files"], now["files"], strict=False):
            if was["file"] != given["file"]:
                return f"it read {was['file']}, now {given['file']}"
            if was["sha256"] != given["sha256"]:
                return f"{given['file']} has changed since"
        if len(begun["files"]) != len(now["files"]):
            return f"it read {len(begun['files'])} files, now {len(now['files'])}"
        for name in sorted({*begun["settings"], *now["settings"]}):
            was, given = begun["settings"].get(name), now["settings"].get(name)
            if was != given:
                return f"{name} was {_shown(was)}, now {_shown(given)}"
        for name, signed in now["signatures"].items():
            before = begun["signatures"].get(name)
            if before is None:
                return f"{name} was not scored, now it is"
            if before != signed:
                old, new = parse(before)[1], parse(signed)[1]
                key = next((k for k in {**old, **new} if old.get(k) != new.get(k)), "order")
                return f"{name}'s {key} was {_shown(old.get(key))}, now {_shown(new.get(key))}"
        if begun["version"] != now["version"]:
            return f"q2-metric was {begun['version']}, now {now['version']}"
        if begun["code"] != now["code"]:
            return "the code of q2-metric or a library that it uses has changed"
    except (KeyError, TypeError, AttributeError):
        return "its manifest cannot be understood"
    return None


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)


def read_manifest(path: Path) -> Manifest | None:
    """The manifest in a file; ``None`` where there is none that can be read."""
    try:
        found = read_json(path)
    except InputError:
        return None
    return found if isinstance(found, dict) else None


def write_manifest(path: Path, fields: Manifest) -> None:
    """Puts a manifest in place of the one that may be there.

    Raises:
        InputError: it cannot be written.
    """
    with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
        json.dump(fields, file, indent=1, allow_nan=False)


def beside(out: str | Path) -> Path:
    """The manifest of a complete output: ``scores.jsonl.manifest.json``."""
    return Path(f"{out}.manifest.json")


def finished(out: str | Path, now: Manifest) -> Manifest | None:
    """The manifest of an output that the same command has completed and nobody changed."""
    found = read_manifest(beside(out))
    if (
        found is None
        or not found.get("complete")
        or parts_folder(out).exists()
        or any(one["sha256"] is None for one in now["files"])
        or difference(found, now) is not None
        or not os.path.isfile(out)
        or fingerprint(out) != found.get("output")
    ):
        return None
    return found


def parts_folder(out: str | Path) -> Path:
    """Where the finished blocks of an incomplete output are: ``scores.jsonl.parts``."""
    return Path(f"{out}.parts")
