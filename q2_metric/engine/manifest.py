"""The manifest of a run, ``scores.jsonl.manifest.json``: its files, settings, models and code.

    complete     false in the first line of ``scores.jsonl.unfinished`` (``engine/unfinished.py``)
    signatures   signatures of the mean scores, by column
    identities   by metric, everything that determines its scores (``engine/identity.py``)
    settings     other options that change the output
    files        file, sha256 (null for standard input), rows, failed, columns
    systems      for each input file, the values that "q2 score --json" shows
    output       SHA-256 of the output
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from q2_metric._version import __version__
from q2_metric.engine.identity import CODE, COMMIT, CONTENTS, Identity
from q2_metric.errors import InputError
from q2_metric.files import (
    CHOOSE,
    check_free,
    fingerprint,
    is_taken,
    read_json,
    replacing,
    rereadable,
)
from q2_metric.metrics.signature import parse

Manifest = dict[str, Any]


def manifest(
    files: Sequence[str],
    signatures: Mapping[str, str],
    identities: Mapping[str, Identity],
    settings: Mapping[str, Any],
) -> Manifest:
    """Builds the manifest of a run before its first row is read (InputError: a file is unreadable).
    A file that can be read only once, such as standard input, gets no SHA-256."""
    return {
        "version": __version__,
        "complete": False,
        "signatures": dict(signatures),
        "settings": dict(settings),
        "identities": {name: dict(identity) for name, identity in identities.items()},
        "files": [
            {"file": file, "sha256": fingerprint(file) if rereadable(file) else None}
            for file in files
        ],
    }


def once(manifest: Manifest) -> bool:
    """Whether the run has an input that can be read only once, such as standard input."""
    return any(file["sha256"] is None for file in manifest["files"])


def difference(begun: Manifest, now: Manifest, *, of_request: bool = False) -> str | None:
    """The first difference between an earlier run and this run, in words, or ``None``. What the
    commands request comes first; with ``of_request``, nothing else is compared."""
    found: list[tuple[bool, str]] = []
    try:
        found.extend(_differences(begun, now))
    except (KeyError, TypeError, AttributeError, InputError):
        found.append((True, "its manifest cannot be understood"))
    found.sort(key=lambda one: not one[0])
    return next((words for request, words in found if request or not of_request), None)


def _differences(begun: Manifest, now: Manifest) -> Iterator[tuple[bool, str]]:
    """Yields each difference: whether the commands request it, and words for it."""
    for was, given in zip(begun["files"], now["files"], strict=False):
        if was["file"] != given["file"]:
            yield True, f"it read {was['file']}, now {given['file']}"
        elif was["sha256"] != given["sha256"]:
            yield False, f"{given['file']} has changed since"
    if len(begun["files"]) != len(now["files"]):
        yield True, f"it read {len(begun['files'])} files, now {len(now['files'])}"
    for name, change in _changed(begun["settings"], now["settings"]):
        yield name not in _BLOCKS, f"{name} was {change}"
    yield from _other_models(begun["identities"], now["identities"])
    for column, signed in now["signatures"].items():
        for name, change in _changed(parse(begun["signatures"][column])[1], parse(signed)[1]):
            yield False, f"{column}'s {name} was {change}"
    if begun["version"] != now["version"]:
        yield False, f"q2-metric was {begun['version']}, now {now['version']}"
    if any(begun["identities"][metric][CODE] != identity[CODE]
           for metric, identity in now["identities"].items()):
        yield False, "the code of q2-metric or a library that it uses has changed"


def _other_models(
    begun: Mapping[str, Identity], now: Mapping[str, Identity]
) -> Iterator[tuple[bool, str]]:
    for metric, identity in now.items():
        for name, change in _changed(begun[metric], identity):
            if name.startswith(CONTENTS):
                yield False, f"the {name} have changed"
            elif name != CODE:
                yield not name.startswith(COMMIT), f"{metric}'s {name} was {change}"


_BLOCKS = ("block", "block_characters")
"""Settings that matter only to an interrupted run: a complete output does not depend on them."""


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """For each key whose value differs, yields the key and "OLD, now NEW"."""
    def shown(value: object) -> str:
        return "not given" if value is None else str(value)

    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield name, f"{shown(old.get(name))}, now {shown(new.get(name))}"


def read_manifest(path: Path) -> Manifest | None:
    """Reads a manifest. ``None`` if the file is missing or is not a readable manifest."""
    try:
        manifest = read_json(path)
    except InputError:
        return None
    return manifest if isinstance(manifest, dict) else None


def write_manifest(path: Path, fields: Manifest) -> None:
    """Writes a manifest (else InputError). No other process may write it at the same time."""
    with replacing(path, alone=True) as unfinished, \
            open(unfinished, "w", encoding="utf-8", newline="\n") as file:
        json.dump(fields, file, indent=1, allow_nan=False)


def beside(out: str | Path) -> Path:
    """The path of an output's manifest: ``scores.jsonl.manifest.json`` for ``scores.jsonl``."""
    return Path(f"{out}.manifest.json")


def contents(out: str | Path) -> str | None:
    """The SHA-256 of the output (InputError if unreadable). ``None`` if it is missing or empty."""
    return fingerprint(out) if is_taken(out) else None


def check_replaceable(out: str | Path, now: Manifest | None = None) -> None:
    """Checks by its manifest that an existing output may be replaced: the same command wrote it.
    Without ``now``, the settings are not compared.

    Raises:
        InputError: ``q2 score`` did not write the file or its manifest, the file has changed since
            it was written, or it was written with other files or settings.
    """
    record = beside(out)
    fields = {*manifest([], {}, {}, {}), "systems", "output"}
    written = read_manifest(record)
    if written is None or not fields <= written.keys():
        written = None
        check_free(record, "a manifest of q2 score")
    held = contents(out)
    if held is None:
        return
    if written is None:
        problem = f"is not an output of q2 score ({record.name} is not beside it)"
    elif written["output"] != held:
        problem = "has changed since q2 score wrote it"
    elif other := now and difference(written, now, of_request=True):
        problem = f"was written by another command: {other}"
    else:
        return
    raise InputError(f"{out}: already exists and {problem}; {CHOOSE}")


def check_evidence(out: str | Path, metric: str) -> None:
    """Checks that the manifest of a file of scores, if any, describes the file as it is now, and
    has a signature of the metric (else InputError)."""
    record = beside(out)
    if not os.path.lexists(record):
        return
    fields = read_json(record)
    signatures = fields.get("signatures") if isinstance(fields, dict) else None
    if not isinstance(signatures, dict) or not isinstance(fields.get("output"), str):
        problem = f"{record}: is not a manifest of q2 score"
    elif fields.get("complete") is not True:
        problem = f"{record}: says that the run did not finish"
    elif fields["output"] != fingerprint(out):
        problem = f"{out}: is not the file that q2 score wrote: its SHA-256 is not that in {record}"
    elif not all(map(signs, signatures, signatures.values())):
        problem = f"{record}: has a damaged signature"
    elif metric not in signatures:
        problem = f"{record}: has no signature of {metric}"
    else:
        return
    raise InputError(f"{problem}; score the rows again with q2 score")


def signs(name: str, text: object) -> bool:
    """Whether a text is a signature of the metric."""
    try:
        return isinstance(text, str) and parse(text)[0] == name
    except InputError:
        return False
