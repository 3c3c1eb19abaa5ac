"""Reads files that ``q2 score --out`` wrote: the rows, the mean scores and the signatures."""

import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Self

from q2_metric.engine.manifest import Manifest, beside, check_unedited, read_manifest, signs
from q2_metric.engine.result import SystemRun, values_of
from q2_metric.errors import InputError, WriteError
from q2_metric.files import parse_json
from q2_metric.metrics import registry
from q2_metric.metrics.entry import RESERVED
from q2_metric.rows.fields import OTHER, Field, Form, Layout, OutputRow
from q2_metric.rows.formats import records, shown, tells
from q2_metric.rows.record import repeated, value_of
from q2_metric.rows.writers import from_cell
from q2_metric.scoring import Aggregate
from q2_metric.scoring.outcome import of_row
from q2_metric.text.given import kind

_KINDS: Mapping[Form, tuple[type, str]] = {
    "text": (str, "text"), "number": (float, "a number"), "whole": (int, "a whole number"),
    "yes-no": (bool, "true or false"), "texts": (list, "a list"), "objects": (list, "a list"),
    "json": (dict, "an object")}
"""The Python class of a field's values, and its name in messages."""


class Spool:
    """Output rows (:func:`q2_metric.rows.fields.output_row`) with texts, in a temporary file. It is
    removed when the context ends. Raises WriteError, also at later writes, if the folder for
    temporary files is full or cannot be written."""

    def __init__(self) -> None:
        with _errors():
            self._file = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError):  # an error while writing was already reported
            self._file.close()

    def write(self, rows: Iterable[OutputRow]) -> None:
        with _errors():
            self._file.writelines(json.dumps(row) + "\n" for row in rows)

    def __iter__(self) -> Iterator[OutputRow]:
        with _errors():
            self._file.seek(0)  # flushes the buffer
        for line in self._file:
            yield json.loads(line)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError("the folder for temporary files cannot be written: "
                         f"{error.strerror or error}; set TMPDIR to a writable folder") from error


@dataclass(frozen=True, slots=True)
class ScoreFiles:
    """The systems in one or several files of scores. Iteration yields the rows of all, in order."""

    runs: tuple[SystemRun, ...]
    rows: tuple[Spool, ...]

    def __iter__(self) -> Iterator[OutputRow]:
        return chain.from_iterable(self.rows)


def read_scores(
    paths: Sequence[str | Path], open_files: ExitStack, *, form: str | None = None,
    systems_by: str | None = None,
) -> ScoreFiles:
    """Reads files of scores. Each input file that was scored is a system.

    Args:
        paths: files that ``q2 score --out`` wrote (.jsonl, .csv, .parquet); "-" is standard input.
        open_files: closes the temporary files with the rows.
        form: format (:data:`q2_metric.rows.formats.FORMS`) of files whose suffix does not tell it.
        systems_by: an input column. Rows with the same value in it form a system.

    Raises:
        InputError: a file cannot be read, is no file of scores or was edited afterwards, or no row
            has the column ``systems_by``.
        MissingExtra: a parquet file needs pyarrow.
    """
    spools: dict[tuple[str, str], Spool] = {}
    has_systems = False
    for path in map(str, paths):
        several = len(paths) > 1
        check_unedited(path)
        for where, row in _rows(path, None if tells(path) else form):
            scored = row.pop("file", None)
            name = shown(path)
            if scored is not None:
                name = f"{name}: {scored}" if several else scored
            if systems_by is not None:
                found = value_of(row.get(OTHER.name) or {}, systems_by)
                has_systems = has_systems or found is not None
                value, *more = values_of(found)
                if more:
                    raise InputError(f"{where}: has several values in {systems_by!r}, but belongs "
                                     "to one system")
                name = f"{name}: {value}" if several else value
            if (path, name) not in spools:
                spools[path, name] = open_files.enter_context(Spool())
            spools[path, name].write([row])
        if not any(file == path for file, _ in spools):
            raise InputError(f"{path}: has no rows")
    if systems_by is not None and not has_systems:
        kept = dict.fromkeys(key for rows in spools.values() for row in rows
                             for key in row.get(OTHER.name) or {})
        raise InputError(f"no row contains the column {systems_by!r}; they contain: "
                         f"{', '.join(map(repr, kept)) or 'none'}")
    return ScoreFiles(
        tuple(_system(name, path, rows) for (path, name), rows in spools.items()),
        tuple(spools.values()))


def files_of(paths: Sequence[str]) -> list[str]:
    """The paths, with the .jsonl files of a folder, by name, in its place. InputError: a folder has
    none, or a file is named twice."""
    files: list[str] = []
    for path in paths:
        inside = sorted(map(str, Path(path).glob("*.jsonl"))) if os.path.isdir(path) else [path]
        if not inside:
            raise InputError(f"{path}: this folder contains no .jsonl file")
        files += inside
    if twice := repeated(files):
        raise InputError(f"{twice}: this file is named twice")
    return files


def _system(name: str, path: str, rows: Iterable[OutputRow]) -> SystemRun:
    manifest = _manifest(path)
    settings = manifest["settings"]
    group_by = settings.get("group_by")
    aggregate = Aggregate(no_claim=settings.get("no_claim"))
    run = SystemRun(
        name, group_by=tuple(map(str, group_by)) if isinstance(group_by, list) else (),
        date=day(path))
    for row in rows:
        run.rows += 1
        if row.get("error") is not None:
            run.failed += 1
        elif (row.get("reason") not in ("empty", "no_knowledge")
              and None in (row.get("response"), row.get("knowledge"))):
            run.without_texts += 1
        aggregate.add(of_row(row))
    recorded = manifest.get("signatures")
    if not isinstance(recorded, dict) or not all(map(signs, recorded, recorded.values())):
        recorded = {}
    run.scores = tuple(aggregate.systems(registry.signatures(recorded) | recorded).values())
    return run


def day(path: str) -> str:
    """The day on which the run ended, such as "2026-11-25", from the manifest; "" if unknown."""
    try:
        return datetime.fromisoformat(str(_manifest(path).get("date"))).date().isoformat()
    except ValueError:
        return ""


def _rows(path: str, form: str | None) -> Iterator[tuple[str, OutputRow]]:
    settings = _manifest(path)["settings"]
    recorded = settings.get("metrics")
    names = recorded if isinstance(recorded, list) else []
    # Metrics of the user's own ("package.module:Class"), but none named like another field.
    own = [name for name in names if isinstance(name, str) and name not in RESERVED]
    every = tuple(dict.fromkeys([*registry.METRICS, *own]))
    known = Layout(every, with_file=True, decided=every, texts=True).fields
    columns = registry.columns(every)
    written = form or Path(path).suffix.lower().removeprefix(".")
    escaped = written == "csv" and settings.get("raw_csv") is not True
    for record in records(path, form):
        where, fields = record.where, record.fields
        if problem := record.problem or record.note:
            raise InputError(f"{where}: {problem.removesuffix('; the last is read')}")
        if not any(name in fields for name in columns):
            raise InputError(f"{where}: has no score; give a file that q2 score --out has written")
        if not fields.get("id"):
            raise InputError(f"{where}: has no id, which q2 score --out writes beside each score")
        if escaped:
            fields = {name: from_cell(cell) if isinstance(cell, str) else cell
                      for name, cell in fields.items()}
        row = {field.name: _value(fields[field.name], field, where)
               for field in known if field.name in fields}
        for name in columns:
            score = row.get(name)
            if score is not None and not 0 <= score <= 1:
                raise InputError(f"{where}: the score {name} is {score:g}, not between 0 and 1")
        yield where, row


def _manifest(path: str) -> Manifest:
    """The manifest beside a file, or an empty one. Its ``settings`` are always a dict."""
    manifest = read_manifest(beside(path)) or {}
    settings = manifest.get("settings")
    return {**manifest, "settings": settings if isinstance(settings, dict) else {}}


def _value(value: object, field: Field, where: str) -> Any:
    """Checks the value of a field, and converts the text of a csv cell."""
    wanted, words = _KINDS[field.form]
    if isinstance(value, str) and wanted is not str:
        with suppress(ValueError, RecursionError):  # it remains a text, which is wrong
            value = parse_json(value)
    if value is None or value == "":
        return None
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"{where}: the field {field.name!r} is not {words}")
    return _items(value, field, where) if isinstance(value, list) else value


def _items(values: list[object], field: Field, where: str) -> list[Any]:
    """Checks a list of strings or objects; fields that an object lacks become ``None``."""
    if field.form == "texts":
        if not all(isinstance(item, str) for item in values):
            raise InputError(f"{where}: the field {field.name!r} is not a list of strings")
        return values
    items, here = [], f"{where}: an item of {field.name!r}"
    for item in values:
        if not isinstance(item, dict):
            raise InputError(f"{here} is {kind(item)}, not an object")
        items.append(
            {inner.name: _value(item.get(inner.name), inner, here) for inner in field.fields})
    return items
