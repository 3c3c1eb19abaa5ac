"""Rows in, scores out: jsonl, csv, tsv, parquet and standard input.

Reading streams, and a row that cannot be scored becomes a :class:`BadRow` in its place.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Protocol

from q2_metric.errors import InputError, MissingExtra, Q2Error
from q2_metric.types import Comparison, Evidence, Example, Score

STDIN = "-"
"""The path that stands for standard input (jsonl)."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "response": (
        "response",
        "prediction",
        "generated_text",
        "generated",
        "output",
        "answer",
        "hypothesis",
        "candidate",
        "claim",
        "summary",
    ),
    "knowledge": (
        "knowledge",
        # Before "context", which in dialogues often means the earlier turns.
        "evidence",
        "document",
        "passages",
        "grounding",
        "reference",
        "references",
        "context",
        "contexts",
        "premise",
        "source",
    ),
    "history": ("history", "dialogue", "dialog", "message", "messages", "conversation", "turns"),
    "id": ("id", "idx", "example_id", "row_id", "uid"),
}
"""Column names that are recognised, the first that is there wins; case does not matter."""

PEEKED = 100
"""Rows looked at to find out which columns there are (jsonl rows may leave some out)."""

_BATCH = 256
"""Rows of a parquet file held at a time."""

_ROW_GROUP = 4096
"""Rows of a parquet file written together."""

_LONGEST_FIELD = 2**31 - 1


# --- reading ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be scored, and why.

    ``index`` counts the rows of the file from 0; ``error`` names file and line.
    """

    index: int
    id: str | None
    error: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns to read; ``None`` for the usual ones (:data:`ALIASES`).

    ``history=""`` reads no history; ``knowledge=""`` no knowledge: it is then chosen later.
    """

    response: str | None = None
    knowledge: str | None = None
    history: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class _Record:
    """A row as its format gives it: its fields, or the problem that hides them."""

    where: str
    fields: Mapping[str, object]
    problem: str | None = None


def read_rows(
    path: str | Path,
    columns: Columns | None = None,
    *,
    aliases: Mapping[str, Sequence[str]] = ALIASES,
    need_response: bool = True,
    on_columns: Callable[[Columns], None] | None = None,
) -> Iterator[Example | BadRow]:
    """The rows of a file, in order, one at a time.

    The format follows the suffix: ``.jsonl`` (or ``.ndjson``), ``.csv``, ``.tsv``,
    ``.parquet``; ``-`` is jsonl on standard input. All text is UTF-8. Blank lines are no
    rows. Words such as "nan", "None" and "null" are text.

    The response is a string; the knowledge a string or a list of strings, joined by a
    newline; the history, if any, a string with one turn a line or a list of turns, each
    a string or a chat message (an object with a string ``content``).

    Args:
        path: file to read, or ``-``.
        columns: names of the columns where they are not the usual ones.
        aliases: the usual names of each field's column.
        need_response: whether the file must have a response column; where it need not and
            has none, every response is "".
        on_columns: told which columns are read, before the first row (``None`` where a
            field has no column); not called for a file without rows.

    Raises:
        InputError: (when the first row is asked for, or on reading on) the file cannot be
            read, its suffix is unknown, or it has no column for response or knowledge.
        MissingExtra: parquet without pyarrow.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    records = _records(path, name)
    first = list(islice(records, PEEKED))
    if not first:
        return
    columns = columns or Columns()
    needs = {"response": need_response, "knowledge": columns.knowledge != ""}
    needed = [field for field, need in needs.items() if need]
    resolved = _resolve(columns, first, name, aliases, needed)
    if on_columns is not None:
        on_columns(Columns(**resolved))
    for index, record in enumerate(chain(first, records)):
        yield _row(index, record, resolved, needs)


def read_fields(path: str | Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The rows of a file as they are, each with the words that say where it stands.

    Formats as for :func:`read_rows`; for what is no response with its knowledge, as labels
    and scores of others.

    Raises:
        InputError: the file or one of its rows cannot be read.
        MissingExtra: parquet without pyarrow.
    """
    for record in _records(path, "standard input" if str(path) == STDIN else str(path)):
        if record.problem:
            raise InputError(f"{record.where}: {record.problem}")
        yield record.where, record.fields


def _records(path: str | Path, name: str) -> Iterator[_Record]:
    if str(path) == STDIN:
        yield from _jsonl(sys.stdin.buffer, name)
        return
    suffix = Path(path).suffix.lower()
    if suffix not in _READERS:
        raise InputError(
            f"{name}: cannot tell the format from the suffix {suffix!r}; "
            f"use one of {', '.join(_READERS)} or - for jsonl on standard input"
        )
    try:
        with open(path, "rb") as file:
            yield from _READERS[suffix](file, name)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error


def _jsonl(file: IO[bytes], name: str) -> Iterator[_Record]:
    for number, line in enumerate(file, start=1):
        where = f"{name}, line {number}"
        if number == 1:
            _refuse_utf16(line, name)
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError:
            yield _Record(where, {}, "is not UTF-8")
        except (ValueError, RecursionError) as error:
            yield _Record(where, {}, f"is not JSON ({_json_problem(error)})")
        else:
            if isinstance(value, dict):
                yield _Record(where, value)
            else:
                yield _Record(where, {}, f"is not a JSON object but {kind(value)}")


def _table(file: IO[bytes], name: str, delimiter: str) -> Iterator[_Record]:
    csv.field_size_limit(_LONGEST_FIELD)
    lines = _Lines(_text_lines(file, name))
    header: list[str] | None = None
    while True:
        lines.begin_row()
        where = f"{name}, line {lines.read + 1}"
        try:
            # Strict, so that a stray quote is reported instead of swallowing the rows after it.
            cells = next(csv.reader(lines, delimiter=delimiter, strict=True))
        except StopIteration:
            return
        except csv.Error as error:
            if header is None:
                raise InputError(f"{where}: the header cannot be read: {error}") from error
            yield _Record(where, {}, f"has a misplaced quotation mark ({error})")
            lines.put_back()
            continue
        if not cells:
            continue
        if header is None:
            header = cells
        elif len(cells) != len(header) and _has_row(lines.row[1:], len(header), delimiter):
            yield _Record(where, {}, "has a misplaced quotation mark (it closes lines later)")
            lines.put_back()
        elif len(cells) > len(header):
            problem = f"has {len(cells)} fields where the header has {len(header)}"
            yield _Record(where, {}, problem)
        else:
            yield _Record(where, dict(zip(header, cells, strict=False)))


class _Lines:
    """The lines of a table, where those that a stray quote took can be put back.

    After a quoting error the row is its first line alone, and what follows is read anew:
    one line out for each row in. Each line is read again once or twice at most, because a
    row that runs on ends at the next stray quote.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self.read = 0
        self.row: list[str] = []
        self._waiting: deque[str] = deque()
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._waiting.popleft() if self._waiting else next(self._lines)
        self.read += 1
        self.row.append(line)
        return line

    def begin_row(self) -> None:
        """The next line is a row's first."""
        self.row = []

    def put_back(self) -> None:
        """Only the first line of this row was read, after all."""
        later = self.row[1:]
        self.read -= len(later)
        self._waiting.extendleft(reversed(later))


def _has_row(lines: Sequence[str], width: int, delimiter: str) -> bool:
    """Whether one of the lines is by itself a row with so many fields."""
    for line in lines:
        try:
            if len(next(csv.reader([line], delimiter=delimiter, strict=True), [])) == width:
                return True
        except csv.Error:
            continue
    return False


def _csv(file: IO[bytes], name: str) -> Iterator[_Record]:
    return _table(file, name, ",")


def _tsv(file: IO[bytes], name: str) -> Iterator[_Record]:
    return _table(file, name, "\t")


def _parquet(file: IO[bytes], name: str) -> Iterator[_Record]:
    pa, parquet = _pyarrow()
    try:
        number = 0
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=_BATCH):
            for fields in _parquet_rows(batch):
                number += 1
                where = f"{name}, row {number}"
                yield _Record(where, fields or {}, "is not UTF-8" if fields is None else None)
    # pyarrow's own errors, and what Python makes of names and numbers that are damaged.
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise InputError(f"{name}: is not a parquet file that can be read: {error}") from error


def _parquet_rows(batch: Any) -> list[dict[str, Any] | None]:
    """The rows of a batch, ``None`` for those with bytes that are no text."""
    try:
        rows: list[dict[str, Any] | None] = batch.to_pylist()
    except UnicodeDecodeError:
        if batch.num_rows == 1:
            return [None]
        half = batch.num_rows // 2
        return _parquet_rows(batch.slice(0, half)) + _parquet_rows(batch.slice(half))
    return rows


_READERS = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
}


def _text_lines(file: IO[bytes], name: str) -> Iterator[str]:
    """Lines with their ends kept; bytes that are not UTF-8 become lone surrogates."""
    for number, line in enumerate(file, start=1):
        if number == 1:
            _refuse_utf16(line, name)
            line = line.removeprefix(b"\xef\xbb\xbf")
        yield line.decode("utf-8", errors="surrogateescape")


def _refuse_utf16(first_line: bytes, name: str) -> None:
    if first_line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}: is UTF-16; save it as UTF-8")


def _resolve(
    columns: Columns,
    records: Sequence[_Record],
    name: str,
    aliases: Mapping[str, Sequence[str]],
    needed: Sequence[str],
) -> dict[str, str | None]:
    """The column of each field, out of those that the first rows have."""
    found = list(dict.fromkeys(key for record in records for key in record.fields))
    if not found:  # nothing readable yet: each row says for itself what is wrong
        return {field: getattr(columns, field) or names[0] for field, names in aliases.items()}
    by_lower = {key.strip().lower(): key for key in reversed(found)}
    resolved: dict[str, str | None] = {}
    for field, names in aliases.items():
        asked: str | None = getattr(columns, field)
        if asked is None:
            resolved[field] = next((by_lower[a] for a in names if a in by_lower), None)
        elif asked in found or not asked:
            resolved[field] = asked or None
        else:
            raise InputError(
                f"{name}: there is no column {asked!r} for the {field}; "
                f"the columns are {_listed(found)}"
            )
    for field in needed:
        if resolved[field] is None:
            raise InputError(
                f"{name}: no column looks like the {field}; the columns are {_listed(found)}; "
                f"name it with --{field} (in Python: Columns({field}=...))"
            )
    return resolved


def _row(
    index: int, record: _Record, columns: Mapping[str, str | None], needs: Mapping[str, bool]
) -> Example | BadRow:
    if record.problem:
        return BadRow(index, None, f"{record.where}: {record.problem}")
    id_ = _id(record.fields, columns["id"])

    def text(field: str) -> str:
        needed = needs[field] or columns[field] is not None
        return _text(record.fields, field, columns[field]) if needed else ""

    try:
        return Example(
            response=text("response"),
            knowledge=text("knowledge"),
            history=_history(record.fields, columns["history"]),
            id=id_,
        )
    except InputError as error:
        return BadRow(index, id_, f"{record.where}: {error}")


def _id(fields: Mapping[str, object], column: str | None) -> str | None:
    value = fields.get(column) if column else None
    if value is None or value == "":
        return None
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def _text(fields: Mapping[str, object], field: str, column: str | None) -> str:
    """The text of the response or of the knowledge."""
    if column is None or column not in fields:
        raise InputError(f"the {field} is missing: the row has no field {column!r}")
    value = fields[column]
    if isinstance(value, list) and field == "knowledge" and _all_text(value):
        value = "\n".join(value)
    if not isinstance(value, str):
        wanted = "a string" + (" or a list of strings" if field == "knowledge" else "")
        raise InputError(f"the {field} (field {column!r}) is {kind(value)}, not {wanted}")
    if not value.strip():
        raise InputError(f"the {field} (field {column!r}) is empty")
    text = _encodable(value, field, column)
    if is_blank(text):
        raise InputError(f"the {field} (field {column!r}) has no visible character")
    return text


def is_blank(text: str) -> bool:
    """Whether nothing in the text can be seen: only spaces, control and format characters.

    >>> is_blank(" \\u200b\\n"), is_blank("\\u200ba")
    (True, False)
    """
    return not any(sign.isprintable() and not sign.isspace() for sign in text)


def _history(fields: Mapping[str, object], column: str | None) -> tuple[str, ...]:
    value = fields.get(column) if column else None
    if value is None:
        return ()
    turns = value.splitlines() if isinstance(value, str) else value
    if isinstance(turns, list):
        turns = [turn.get("content") if isinstance(turn, dict) else turn for turn in turns]
    if not isinstance(turns, list) or not _all_text(turns):
        raise InputError(
            f"the history (field {column!r}) is {kind(value)}, not a string or a list of strings"
        )
    return tuple(_encodable(turn, "history", column) for turn in turns if turn.strip())


def _encodable(text: str, field: str, column: str | None) -> str:
    return encodable(text, f"the {field} (field {column!r})")


def encodable(text: str, where: str) -> str:
    """The text itself; lone surrogates could not be tokenised or written.

    Raises:
        InputError: the text is not valid Unicode; ``where`` names it.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where} is not valid Unicode at character {error.start + 1}"
        ) from None
    return text


def _all_text(values: list[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def kind(value: object) -> str:
    """What a value is, for a message, in JSON's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        if not value or _all_text(value):
            return "a list of strings" if value else "an empty list"
        strange = next(item for item in value if not isinstance(item, str))
        return f"a list with {kind(strange)} in it"
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"


def _json_problem(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return shown + (", …" if len(names) > 20 else "")


# --- rows of the output ----------------------------------------------------------------

OutputRow = dict[str, Any]

TEXTS = ("response", "knowledge", "history")
"""Fields of an output row that repeat what was scored; ``history`` is a list of turns."""


def output_fields(
    metrics: Sequence[str],
    *,
    with_file: bool = False,
    decided: Sequence[str] = (),
    texts: bool = False,
    selected: bool = False,
) -> list[str]:
    """The fields of an output row, in order, for the requested metrics.

    Those in ``decided`` have a calibration, and with it a field ``METRIC_consistent``;
    ``texts`` adds :data:`TEXTS`; ``selected`` rows say which snippet was chosen as their
    knowledge.
    """
    numbers = {"q2": ["q2", "q2_no_nli"]}
    fields = ["file"] if with_file else []
    fields.append("id")
    for name in metrics:
        fields += numbers.get(name, [name])
        if name in decided:
            fields.append(f"{name}_consistent")
    if "q2" in metrics:
        fields.append("fallback")
    fields.append("error")
    if texts:
        fields += TEXTS
    if "q2" in metrics:
        fields.append("questions")
    if "scale" in metrics:
        fields.append("evidence")
    if selected:
        fields.append("selected")
    return fields


def output_row(
    index: int,
    row: Example | BadRow,
    scores: Mapping[str, Score],
    metrics: Sequence[str],
    *,
    file: str | None = None,
    decided: Sequence[str] = (),
    texts: bool = False,
    selected: bool = False,
) -> OutputRow:
    """One row of the output, every field of :func:`output_fields` present.

    Args:
        index: of the row in its file, from 0; its number from 1 is the id of a row that
            has none.
        row: as it was read.
        scores: by metric; empty for a bad row.
        metrics: the requested metrics.
        file: named in the row where several files are scored.
        decided: metrics that have a calibration.
        texts: whether the row repeats its texts, ``None`` for a bad row.
        selected: whether the knowledge was chosen out of a pool.
    """
    fields = output_fields(
        metrics, with_file=file is not None, decided=decided, texts=texts, selected=selected
    )
    out: OutputRow = dict.fromkeys(fields)
    if file is not None:
        out["file"] = file
    out["id"] = row.id if row.id is not None else str(index + 1)
    if isinstance(row, BadRow):
        out["error"] = row.error
    elif selected:
        out["selected"] = getattr(row, "selected", None)
    if texts:
        out = with_texts(out, row)
    for name, score in scores.items():
        out[name] = _number(score.value)
        if name in decided:
            out[f"{name}_consistent"] = score.consistent
        if name == "q2":
            out["q2_no_nli"] = _number(score.no_nli)
            out["fallback"] = score.fallback
            out["questions"] = [_question(c) for c in score.because if isinstance(c, Comparison)]
        elif name == "scale":
            out["evidence"] = [_evidence(e) for e in score.because if isinstance(e, Evidence)]
    return out


def with_texts(row: OutputRow, scored: Example | BadRow) -> OutputRow:
    """The row with the :data:`TEXTS` of what was scored, where it could be read.

    Knowledge that was chosen for the row stands in ``selected``.
    """
    if isinstance(scored, BadRow):
        return row
    knowledge = (row.get("selected") or {}).get("text", scored.knowledge)
    texts = (scored.response, knowledge, list(scored.history))
    return row | dict(zip(TEXTS, texts, strict=True))


QUESTION_FIELDS = (
    "span",
    "start",
    "question",
    "response_answer",
    "knowledge_answer",
    "knowledge_start",
    "how",
    "verdict",
    "verdict_p",
    "f1",
    "score",
)
"""Fields of an item of ``questions``; ``verdict_p`` is the probability of ``verdict``."""

EVIDENCE_FIELDS = ("sentence", "start", "score", "support", "support_start", "support_score")
"""Fields of an item of ``evidence``; places are in characters."""

SELECTED_FIELDS = ("domain", "entity_id", "entity_name", "doc_id", "text", "score")
"""Fields of ``selected``: the snippet that was chosen as the row's knowledge."""


def _question(comparison: Comparison) -> OutputRow:
    span, verdict = comparison.question.span, comparison.verdict
    return {
        "span": span.text,
        "start": span.start,
        "question": comparison.question.text,
        "response_answer": comparison.response_answer,
        "knowledge_answer": comparison.knowledge_answer,
        "knowledge_start": comparison.knowledge_start,
        "how": comparison.how,
        "verdict": verdict.label if verdict else None,
        "verdict_p": _number(getattr(verdict, verdict.label)) if verdict else None,
        "f1": _number(comparison.f1),
        "score": _number(comparison.score),
    }


def _evidence(evidence: Evidence) -> OutputRow:
    return {
        "sentence": evidence.sentence,
        "start": evidence.start,
        "score": _number(evidence.score),
        "support": evidence.support,
        "support_start": evidence.support_start,
        "support_score": _number(evidence.support_score),
    }


def _number(value: float | None) -> float | None:
    """A number that JSON can hold."""
    return None if value is None or not math.isfinite(value) else float(value)


# --- writing ---------------------------------------------------------------------------


class Writer(Protocol):
    """Appends rows."""

    def write(self, rows: Sequence[OutputRow]) -> None:
        """Appends rows, each with the same fields in the same order."""
        ...


@contextmanager
def open_writer(
    path: str | Path,
    metrics: Sequence[str],
    *,
    with_file: bool = False,
    inputs: Sequence[str | Path] = (),
    decided: Sequence[str] = (),
    texts: bool = False,
    selected: bool = False,
) -> Iterator[Writer]:
    """A writer for ``.jsonl``, ``.csv`` or ``.parquet``, by suffix; UTF-8, no NaN.

    The file takes the place of one that is there when it is complete, and not before. In
    csv, ``questions``, ``evidence`` and ``history`` are JSON.

    Args:
        path: file to write.
        metrics: the requested metrics, which give the fields.
        with_file: whether rows carry a ``file`` field.
        inputs: files that must not be overwritten.
        decided: metrics that have a calibration.
        texts: whether rows repeat their texts.
        selected: whether the knowledge was chosen out of a pool.

    Raises:
        InputError: unknown suffix, no such folder, ``path`` is one of the inputs, or it
            cannot be written.
        MissingExtra: parquet without pyarrow.
    """
    path = Path(path)
    check_output(path, inputs)
    fields = output_fields(
        metrics, with_file=with_file, decided=decided, texts=texts, selected=selected
    )
    suffix = path.suffix.lower()
    with replacing(path) as unfinished:
        if suffix == ".parquet":
            with _ParquetWriter(unfinished, fields) as writer:
                yield writer
            return
        # newline="": the csv module writes its own line ends.
        with open(
            unfinished, "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            yield _CsvWriter(file, fields) if suffix == ".csv" else _JsonlWriter(file)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to; what was written is ``path`` afterwards, on disk, or not at all.

    Raises:
        InputError: it cannot be written; what ``path`` held stays.
    """
    unfinished = path.with_name(path.name + ".tmp")
    try:
        yield unfinished
        _to_disk(unfinished)
        os.replace(unfinished, path)
        if os.name != "nt":  # where folders cannot be opened
            _to_disk(path.parent)
    except Q2Error:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_output(path: str | Path, inputs: Sequence[str | Path] = ()) -> None:
    """Refuses a path that :func:`open_writer` would refuse, without touching the file."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".csv", ".parquet"):
        raise InputError(
            f"{path}: cannot tell the format from the suffix {suffix!r}; "
            "use one of .jsonl, .csv, .parquet"
        )
    if not path.parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise InputError(f"{path}: cannot be written: it is a folder")
    if any(path.resolve() == Path(item).resolve() for item in inputs if str(item) != STDIN):
        raise InputError(f"{path}: is read, so it cannot be written; choose another name")
    if suffix == ".parquet":
        _pyarrow()


class _JsonlWriter:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, rows: Sequence[OutputRow]) -> None:
        self._file.writelines(json_line(row) for row in rows)


class _CsvWriter:
    def __init__(self, file: IO[str], fields: Sequence[str]) -> None:
        self._plain = csv.writer(file, lineterminator="\n")
        # The csv module leaves a lone carriage return unquoted, which ends a row on reading.
        self._quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self._plain.writerow(fields)

    def write(self, rows: Sequence[OutputRow]) -> None:
        for row in rows:
            cells = [_cell(value) for value in row.values()]
            returns = any(isinstance(cell, str) and "\r" in cell for cell in cells)
            (self._quoted if returns else self._plain).writerow(cells)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _json(value) if isinstance(value, (list, dict)) else value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def json_line(row: OutputRow) -> str:
    """An output row as a line of jsonl."""
    return _json(row) + "\n"


class _ParquetWriter:
    def __init__(self, path: Path, fields: Sequence[str]) -> None:
        self._pa, parquet = _pyarrow()
        self._schema = _schema(self._pa, fields)
        self._writer = parquet.ParquetWriter(path, self._schema)
        self._waiting: list[OutputRow] = []

    def __enter__(self) -> _ParquetWriter:
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self._flush()
        finally:
            self._writer.close()

    def write(self, rows: Sequence[OutputRow]) -> None:
        self._waiting += rows
        if len(self._waiting) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        table = self._pa.Table.from_pylist(self._waiting, schema=self._schema)
        self._writer.write_table(table)
        self._waiting = []


def _schema(pa: Any, fields: Sequence[str]) -> Any:
    text, real, whole = pa.string(), pa.float64(), pa.int64()
    question = {**dict.fromkeys(("start", "knowledge_start"), whole),
                **dict.fromkeys(("verdict_p", "f1", "score"), real)}
    evidence = {"start": whole, "score": real, "support_start": whole, "support_score": real}
    types = {
        **dict.fromkeys(("file", "id", "error", "response", "knowledge"), text),
        "history": pa.list_(text),
        "fallback": pa.bool_(),
        **{field: pa.bool_() for field in fields if field.endswith("_consistent")},
        "questions": pa.list_(pa.struct([(f, question.get(f, text)) for f in QUESTION_FIELDS])),
        "evidence": pa.list_(pa.struct([(f, evidence.get(f, text)) for f in EVIDENCE_FIELDS])),
        "selected": pa.struct([(f, real if f == "score" else text) for f in SELECTED_FIELDS]),
    }
    return pa.schema([(field, types.get(field, real)) for field in fields])


def _pyarrow() -> tuple[Any, Any]:
    """pyarrow and its parquet module, which have no types."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra("parquet", "pyarrow", "parquet") from error
