"""The manifest of a run: a JSON file that records the run's files, settings, models and code.

If the output is ``scores.jsonl``, its manifest is ``scores.jsonl.manifest.json``. The fields:

    version      version of q2-metric
    complete     true; false in the manifest of a run that has not finished
    signatures   signatures of the mean scores, by column
    identities   by metric, everything that determines its scores (``engine/identity.py``)
    settings     other options that change the output
    files        for each input file: file, sha256 (null for standard input), rows, failed, columns
    date         when the run ended, in UTC
    systems      for each input file, the values that "q2 score --json" shows
    output       SHA-256 of the output

The manifest of a run that has not finished is the first line of ``scores.jsonl.unfinished``
(``engine/unfinished.py``).
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
    """Builds the manifest of a run before its first row is read.

    Args:
        files: paths of the input files. A file that can be read only once, such as standard input,
            gets no SHA-256.
        signatures: by score column, the line that records how the mean score was computed (metric,
            models, settings).
        identities: by metric, everything that determines its scores.
        settings: other options that change the output, by name.

    Raises:
        InputError: a file cannot be read.
    """
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


def difference(begun: Manifest, now: Manifest) -> str | None:
    """The first difference between the manifests of an earlier run and of this run, in words.

    The request, the files, the models and the code are compared. ``None`` if nothing differs.
    """
    return _first(begun, now)


def _first(begun: Manifest, now: Manifest, *, of_request: bool = False) -> str | None:
    """The first difference in what the two commands request or, unless ``of_request`` is true, in
    what has changed since."""
    found: list[tuple[bool, str]] = []
    try:
        found.extend(_differences(begun, now))
    except (KeyError, TypeError, AttributeError, InputError):
        found.append((True, "its manifest cannot be understood"))
    requested = [words for request, words in found if request]
    since = [words for request, words in found if not request and not of_request]
    return next(iter(requested + since), None)


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
"""Settings that say how rows are cut into blocks. They matter only to an interrupted run: a
complete output does not depend on them."""


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
    """Writes a manifest, or replaces it. No other process may write it at the same time.

    Raises:
        InputError: the manifest cannot be written.
    """
    with replacing(path, alone=True) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
        json.dump(fields, file, indent=1, allow_nan=False)


def beside(out: str | Path) -> Path:
    """The path of the manifest of a complete output.

    For ``scores.jsonl``, it is ``scores.jsonl.manifest.json``.
    """
    return Path(f"{out}.manifest.json")


def contents(out: str | Path) -> str | None:
    """The SHA-256 of the output file's contents. ``None`` if the file is missing or empty.

    Raises:
        InputError: the output cannot be read.
    """
    return fingerprint(out) if is_taken(out) else None


def check_replaceable(out: str | Path, now: Manifest | None = None) -> None:
    """Checks that an existing output file may be replaced, because the same command wrote it.

    The manifest beside the file shows this: it contains the SHA-256 of the output and the command's
    settings.

    Args:
        out: output path of ``q2 score``.
        now: manifest of the run that will replace the output. ``None`` if it is not known yet; then
            the settings are not compared.

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
    elif other := now and _first(written, now, of_request=True):
        problem = f"was written by another command: {other}"
    else:
        return
    raise InputError(f"{out}: already exists and {problem}; {CHOOSE}")


def check_evidence(out: str | Path, metric: str) -> None:
    """Checks that the manifest of a file of scores describes the file as it is now.

    A file without a manifest passes: then nothing is known about it.

    Raises:
        InputError: the manifest is damaged or of an unfinished run, has no signature of the metric,
            or the file has changed since it was written.
    """
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
    elif not all(_signs(name, text) for name, text in signatures.items()):
        problem = f"{record}: has a damaged signature"
    elif metric not in signatures:
        problem = f"{record}: has no signature of {metric}"
    else:
        return
    raise InputError(f"{problem}; score the rows again with q2 score")


def _signs(name: str, text: object) -> bool:
    try:
        return isinstance(text, str) and parse(text)[0] == name
    except InputError:
        return False
