"""What a run is of: which files, settings, models and code, in a JSON file.

``scores.jsonl.manifest.json`` lies beside a complete output. Its fields:

    version      of q2-metric
    complete     true; false in the manifest of a run that has not finished
    signatures   by column
    identities   what makes the scores, by metric (``engine/identity.py``)
    settings     other options that change what is written
    files        for each: file, sha256 (null for standard input), rows, failed, columns
    systems      for each file, what "q2 score --json" shows
    output       SHA-256 of the output
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from q2_metric._version import __version__
from q2_metric.engine.identity import CODE, CONTENTS, Identity
from q2_metric.errors import InputError
from q2_metric.files import fingerprint, read_json, replacing, rereadable
from q2_metric.metrics.signature import parse

Manifest = dict[str, Any]


def manifest(
    files: Sequence[str],
    signatures: Mapping[str, str],
    identities: Mapping[str, Identity],
    settings: Mapping[str, Any],
) -> Manifest:
    """What a run is of, before its first row.

    Args:
        files: paths; those that can be read only once have no SHA-256.
        signatures: by column.
        identities: by metric.
        settings: other options that change what is written, by name.

    Raises:
        InputError: a file cannot be read.
    """
    return {
        "version": __version__,
        "complete": False,
        "signatures": dict(signatures),
        "settings": dict(settings),
        "identities": {name: dict(one) for name, one in identities.items()},
        "files": [
            {"file": file, "sha256": fingerprint(file) if rereadable(file) else None}
            for file in files
        ],
    }


def once(found: Manifest) -> bool:
    """Whether the run reads something that cannot be read again."""
    return any(one["sha256"] is None for one in found["files"])


def difference(begun: Manifest, now: Manifest) -> str | None:
    """What is not as it was when a run began, in words; ``None`` where all is."""
    try:
        return next(_differences(begun, now), None)
    except (KeyError, TypeError, AttributeError, InputError):
        return "its manifest cannot be understood"


def _differences(begun: Manifest, now: Manifest) -> Iterator[str]:
    for was, given in zip(begun["files"], now["files"], strict=False):
        if was["file"] != given["file"]:
            yield f"it read {was['file']}, now {given['file']}"
        if was["sha256"] != given["sha256"]:
            yield f"{given['file']} has changed since"
    if len(begun["files"]) != len(now["files"]):
        yield f"it read {len(begun['files'])} files, now {len(now['files'])}"
    for name, was, given in _changed(begun["settings"], now["settings"]):
        yield f"{name} was {was}, now {given}"
    for metric, one in now["identities"].items():
        for name, was, given in _changed(begun["identities"][metric], one):
            if name.startswith(CONTENTS):
                yield f"the {name} have changed"
            elif name != CODE:
                yield f"{metric}'s {name} was {was}, now {given}"
    for column, signed in now["signatures"].items():
        old, new = parse(begun["signatures"][column])[1], parse(signed)[1]
        for name, was, given in _changed(old, new):
            yield f"{column}'s {name} was {was}, now {given}"
    if begun["version"] != now["version"]:
        yield f"q2-metric was {begun['version']}, now {now['version']}"
    for metric, one in now["identities"].items():
        if begun["identities"][metric][CODE] != one[CODE]:
            yield "the code of q2-metric or a library that it uses has changed"


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(name, how it was, how it is) of what is not the same."""
    for name in dict.fromkeys([*old, *new]):
        was, given = old.get(name), new.get(name)
        if was != given:
            yield name, _shown(was), _shown(given)


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)


def read_manifest(path: Path) -> Manifest | None:
    """The manifest in a file; ``None`` where there is none that can be read."""
    try:
        found = read_json(path)
    except InputError:
        return None
    return found if isinstance(found, dict) else None


def write_manifest(path: Path, fields: Manifest, folder: Path | None = None) -> None:
    """Puts a manifest in place of the one that may be there.

    Args:
        path: of the manifest.
        fields: its contents.
        folder: for the unfinished file (:func:`q2_metric.files.replacing`).

    Raises:
        InputError: it cannot be written.
    """
    with replacing(path, folder) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
        json.dump(fields, file, indent=1, allow_nan=False)


def beside(out: str | Path) -> Path:
    """The manifest of a complete output: ``scores.jsonl.manifest.json``."""
    return Path(f"{out}.manifest.json")


def check_replaceable(out: str | Path) -> None:
    """Refuses an output that would take the place of somebody else's file.

    Raises:
        InputError: the file has contents and no manifest, as outputs have.
    """
    place = Path(out)
    if place.is_file() and place.stat().st_size and read_manifest(beside(out)) is None:
        raise InputError(
            f"{out} is there already, and no output of q2 score ({beside(out).name} is not "
            "beside it); choose another name, or replace it with --restart"
        )
