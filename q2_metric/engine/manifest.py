"""The manifest of a run, ``scores.jsonl.manifest.json``: its files, settings, models and code.

    complete     false in the first line of ``scores.jsonl.unfinished`` (``engine/unfinished.py``)
    signatures   signatures of the mean scores, by column
    identities   by metric, everything that determines its scores (``engine/identity.py``)
    settings     other options that change the output
    files        file, sha256 (null for standard input), rows, failed, columns
    systems      for each input file, the values that "q2 score --json" shows
    output       SHA-256 of the output
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from q2_metric._version import __version__
from q2_metric.engine.identity import CODE, COMMIT, CONTENTS, Identity
from q2_metric.errors import InputError
from q2_metric.files import CHOOSE, check_free, fingerprint, read_json, replacing, rereadable
from q2_metric.metrics.signature import parse

Manifest = dict[str, Any]


def manifest(
    files: Sequence[str], signatures: Mapping[str, str], identities: Mapping[str, Identity],
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
        "files": [{"file": file, "sha256": fingerprint(file) if rereadable(file) else None}
                  for file in files],
    }


def once(manifest: Manifest) -> bool:
    """Whether the run has an input that can be read only once, such as standard input."""
    return any(file["sha256"] is None for file in manifest["files"])


def difference(begun: Manifest, now: Manifest, *, of_request: bool = False) -> str | None:
    """The first difference between an earlier run and this run, in words, or ``None``. What the
    commands request comes first; with ``of_request``, nothing else is compared."""
    try:
        old, new = dict(_facts(begun)), dict(_facts(now))
    except (KeyError, TypeError, AttributeError, InputError):
        return "its manifest cannot be understood"
    for fact in sorted({**old, **new}, key=lambda fact: not fact[0]):
        requested, words = fact
        was, given = old.get(fact), new.get(fact)
        if was != given and (requested or not of_request):
            if words.endswith("changed"):
                return words
            was, given = ("not given" if value is None else value for value in (was, given))
            return f"{words} {was}, now {given}"
    return None


def _facts(manifest: Manifest) -> Iterator[tuple[tuple[bool, str], object]]:
    """Yields what is compared: (whether the commands request it, the words if it differs), and its
    value. Words that end with "changed" are complete; others are followed by both values."""
    for number, file in enumerate(manifest["files"], start=1):
        yield (True, f"file {number} was"), file["file"]
        yield (False, f"the {CONTENTS}{file['file']} have changed"), file["sha256"]
    for name, value in manifest["settings"].items():
        yield (name not in _BLOCKS, f"{name} was"), value
    for column, signed in manifest["signatures"].items():
        for name, value in parse(signed)[1].items():
            yield (False, f"{column}'s {name} was"), value
    yield (False, "q2-metric was"), manifest["version"]
    for metric, identity in manifest["identities"].items():
        for name, value in identity.items():
            if name.startswith(CONTENTS):
                yield (False, f"the {name} have changed"), value
            elif name == CODE:
                yield (False, "the code of q2-metric or a library that it uses has changed"), value
            else:
                yield (not name.startswith(COMMIT), f"{metric}'s {name} was"), value


_BLOCKS = ("block", "block_characters")
"""Settings that matter only to an interrupted run: a complete output does not depend on them."""


def read_manifest(path: Path) -> Manifest | None:
    """Reads a manifest. ``None`` if the file is missing or is not a readable manifest."""
    with suppress(InputError):
        manifest = read_json(path)
        return manifest if isinstance(manifest, dict) else None
    return None


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
    return fingerprint(out) if os.path.isfile(out) and os.path.getsize(out) else None


def check_replaceable(out: str | Path, now: Manifest | None = None) -> None:
    """Checks by its manifest that an existing output may be replaced: the same command wrote it.
    Without ``now``, the settings are not compared. InputError: ``q2 score`` did not write the file
    or its manifest, it was changed later, or it was written with other files or settings."""
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


def check_unedited(out: str | Path) -> None:
    """Checks that a file of scores is as its manifest, if any, says (else InputError)."""
    written = (read_manifest(beside(out)) or {}).get("output")
    if isinstance(written, str) and written != fingerprint(out):
        raise InputError(f"{out}: was edited after q2 score wrote it, or Git changed its line "
                         f"endings: its SHA-256 is not that in {beside(out)}; score the rows again "
                         "with q2 score")


def check_evidence(out: str | Path, metric: str) -> None:
    """Checks that the manifest of a file of scores, if any, is of a finished run and has a
    signature of the metric (else InputError)."""
    record = beside(out)
    if not os.path.lexists(record):
        return
    fields = read_json(record)
    signatures = fields.get("signatures") if isinstance(fields, dict) else None
    if not isinstance(signatures, dict) or not isinstance(fields.get("output"), str):
        problem = f"{record}: is not a manifest of q2 score"
    elif fields.get("complete") is not True:
        problem = f"{record}: says that the run did not finish"
    elif not all(map(signs, signatures, signatures.values())):
        problem = f"{record}: has a damaged signature"
    elif metric not in signatures:
        problem = f"{record}: has no signature of {metric}"
    else:
        return
    raise InputError(f"{problem}; score the rows again with q2 score")


def signs(name: str, text: object) -> bool:
    """Whether a text is a signature of the metric."""
    with suppress(InputError):
        return isinstance(text, str) and parse(text)[0] == name
    return False
