"""What is to be scored and how, as a value that another process can be given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from q2_metric import metrics, scoring
from q2_metric.engine.blocks import CHARACTERS, characters, cut
from q2_metric.engine.cache import LARGEST, Cache
from q2_metric.engine.cached import CachedMetric
from q2_metric.engine.identity import CODE, Identity, code, contents, identity
from q2_metric.errors import BadRowError, InputError
from q2_metric.files import STDIN, rereadable
from q2_metric.metrics.calibration import Calibration, calibrate
from q2_metric.metrics.registry import Entry, entry, know, together, warn_of_unused
from q2_metric.rows.columns import Columns
from q2_metric.rows.fields import Layout, OutputRow, output_row
from q2_metric.rows.read import BadRow, Row, read_rows
from q2_metric.scoring import NO_CLAIM, NoClaim
from q2_metric.types import Metric

BLOCK = 256
"""Rows scored together and then kept, unless they are long: enough to fill batches, little to
lose."""

Warn = Callable[[str], None]


class Selector(Protocol):
    """Chooses the knowledge of rows."""

    def sign(self, signature: str) -> str:
        """The signature of a metric, with what chose its knowledge."""
        ...

    def choose(self, rows: Sequence[Row], file: str, first: int) -> list[Row]:
        """The rows with their knowledge, in order; some may become bad.

        Args:
            rows: of the file.
            file: named in errors.
            first: index of the first of the rows in the file.
        """
        ...


class Choice(Protocol):
    """Where the rows' knowledge comes from, as a value that another process can be given."""

    @property
    def words(self) -> str:
        """Says so to people."""
        ...

    @property
    def request(self) -> Mapping[str, Any]:
        """All that the chosen knowledge depends on, names and paths by what they are of."""
        ...

    @property
    def paths(self) -> Sequence[str]:
        """Those of its values that may be files or folders."""
        ...

    def load(self) -> Selector:
        """What chooses."""
        ...


@dataclass(frozen=True)
class Loaded:
    """What scores a job: the metrics, and what chooses the knowledge, if anything does.

    Attributes:
        metrics: as they score, calibrated.
        selector: of the rows' knowledge.
        cached: those of the metrics, without their calibration, that have a cache.
    """

    metrics: Sequence[Metric]
    selector: Selector | None = None
    cached: Sequence[CachedMetric] = ()

    @property
    def looked_up(self) -> int:
        """Scores that came from the cache so far."""
        return sum(metric.looked_up for metric in self.cached)

    @property
    def signatures(self) -> dict[str, str]:
        """By metric."""
        signed = {metric.name: metric.signature for metric in self.metrics}
        if self.selector is None:
            return signed
        return {name: self.selector.sign(text) for name, text in signed.items()}


@dataclass(frozen=True)
class Job:
    """Files, metrics and settings.

    Attributes:
        files: to read, as for :func:`q2_metric.rows.read.read_rows`.
        columns: to read.
        metrics: names, in the order of :data:`q2_metric.metrics.registry.METRICS`.
        preset, keywords: arguments of :func:`q2_metric.metrics.load_metrics`.
        calibrations: applied to the scores of their metrics.
        evidence: whether metrics that can also find each sentence's support.
        no_claim: how responses that claim nothing count in means.
        texts: whether output rows repeat response, knowledge and history.
        raw_csv: whether texts in csv are as they are
            (:func:`q2_metric.rows.writers.open_writer`).
        form: of the files (:data:`q2_metric.rows.formats.FORMS`); ``None`` where the
            suffix tells.
        group_by: columns whose values the means are also taken by.
        limit: rows that are read of each file at most.
        choice: of each row's knowledge; ``None`` where it is read.
        cache: file of the score cache; ``None`` for none.
        cache_bytes: that the cache may have.
        block: rows scored together at most.
        entries: of the metrics; a process of Ray does not know those that were named as
            "package.module:Class" here.
    """

    files: tuple[str, ...]
    columns: Columns
    metrics: tuple[str, ...]
    preset: str = "bundled"
    keywords: Mapping[str, Any] = field(default_factory=dict)
    calibrations: tuple[Calibration, ...] = ()
    evidence: bool = False
    no_claim: NoClaim = NO_CLAIM
    texts: bool = False
    raw_csv: bool = False
    form: str | None = None
    group_by: tuple[str, ...] = ()
    limit: int | None = None
    choice: Choice | None = None
    cache: Path | None = None
    cache_bytes: int = LARGEST
    block: int = field(default_factory=lambda: BLOCK)
    entries: tuple[Entry, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(map(entry, self.metrics)))

    @property
    def layout(self) -> Layout:
        """The fields of the output's rows."""
        return Layout(
            self.metrics, with_file=len(self.files) > 1,
            decided=[calibration.metric for calibration in self.calibrations],
            texts=self.texts, selected=self.choice is not None, group_by=self.group_by,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What changes the output's rows beside what makes the scores, as JSON gives it back."""
        return {
            "metrics": list(self.metrics),
            **{name: value for name, value in asdict(self.columns).items() if value is not None},
            "evidence": self.evidence,
            "no_claim": self.no_claim,
            "texts": self.texts,
            "raw_csv": self.raw_csv,
            "format": self.form,
            **({"group_by": list(self.group_by)} if self.group_by else {}),
            **({"limit": self.limit} if self.limit is not None else {}),
            "block": self.block,
            "block_characters": CHARACTERS,
            "calibration": [
                {name: list(value) if isinstance(value, tuple) else value
                 for name, value in asdict(one).items()}
                for one in self.calibrations
            ],
        }

    def store(self, warn: Warn | None = None) -> Cache:
        """The cache of scores, in memory where the job has no file for it.

        Args:
            warn: told in one line why the file cannot be used.
        """
        told: dict[str, Warn] = {} if warn is None else {"warn": warn}
        return Cache(self.cache, largest=self.cache_bytes, **told)

    def identities(self, store: Cache | None = None) -> dict[str, Identity]:
        """What makes the scores, by metric, and what chooses the knowledge.

        Args:
            store: of :meth:`store`; opened here where none is given.
        """
        known = self.store() if store is None else store
        found = {
            name: identity(name, entry(name).request(self.preset, self.keywords), known)
            for name in self.metrics
        }
        if self.choice is not None:
            found["knowledge"] = {
                **self.choice.request, **contents(self.choice.paths, known),
                CODE: code(),
            }
        return found

    def check(self, *, strict: bool = False) -> None:
        """Finds missing files and columns, with ``strict`` bad rows, before a model is loaded.

        Raises:
            InputError: a file cannot be read or lacks a column.
            BadRowError: ``strict``, and a row cannot be scored.
        """
        if self.files.count(STDIN) > 1:
            raise InputError("standard input (-) can be read only once")
        for file in self.files:
            if file == STDIN or (os.path.exists(file) and not rereadable(file)):
                continue
            for row in self.rows(file):
                if not strict:
                    break
                if isinstance(row, BadRow):
                    raise BadRowError(row.error)

    def load(self, store: Cache | None = None) -> Loaded:
        """What scores the job; with a cache, models are loaded when they are needed.

        Args:
            store: of :meth:`store`; opened here where none is given.

        Raises:
            As :func:`q2_metric.metrics.load_metrics`,
            :func:`q2_metric.metrics.calibration.calibrate` and what loads the choice.
        """
        know(self.entries)
        if self.cache is None:
            found = metrics.load_metrics(self.metrics, self.preset, **self.keywords)
        else:
            kept = self.store() if store is None else store
            warn_of_unused(self.keywords, self.metrics)
            found = [self._cached(name, kept) for name in self.metrics]
        selector = None if self.choice is None else self.choice.load()
        cached = [metric for metric in found if isinstance(metric, CachedMetric)]
        return Loaded(calibrate(found, self.calibrations), selector, cached)

    def _cached(self, name: str, store: Cache) -> Metric:
        told = together(self.metrics, self.keywords)

        def load() -> Metric:
            metrics.check_models(self.metrics, self.preset, self.keywords)
            # What other metrics take would be said to change nothing.
            own = entry(name).keywords()
            mine = {key: value for key, value in told.items() if key in own}
            (loaded,) = metrics.load_metrics([name], self.preset, **mine)
            return loaded

        if not entry(name).cached:
            return load()
        return CachedMetric(name, load, store, entry(name).request(self.preset, told))

    def rows(self, file: str, **told: Any) -> Iterator[Row]:
        """The rows of one of the files; ``told`` are the callbacks of ``read_rows``."""
        rows = read_rows(file, self.columns, blank=True, form=self.form,
                         group_by=self.group_by, **told)
        return islice(rows, self.limit)

    def blocks(
        self, file: str, on_columns: Callable[[Columns], None] | None = None,
        on_note: Callable[[str], None] | None = None,
        on_read: Callable[[str], None] | None = None,
    ) -> Iterator[list[Row]]:
        """The rows of one of the files, always cut in the same places."""
        rows = self.rows(file, on_columns=on_columns, on_note=on_note, on_read=on_read)
        yield from cut(rows, self.block, characters)

    def score(
        self, loaded: Loaded, file: str, first: int, block: Sequence[Row]
    ) -> list[OutputRow]:
        """The output row of each row of a block; one that cannot be scored has an ``error``.

        Args:
            loaded: of :meth:`load`.
            file: that the block is of.
            first: index of the block's first row in the file.
            block: rows as they were read.

        Raises:
            ModelError: a model is broken (:func:`q2_metric.scoring.faults.score_each`).
        """
        faults: dict[int, list[str]] = {}
        if loaded.selector is not None:
            block = loaded.selector.choose(block, file, first)
        scores = scoring.score_rows(
            loaded.metrics,
            [None if isinstance(row, BadRow) else row for row in block],
            evidence=self.evidence,
            on_fault=lambda place, words: faults.setdefault(place, []).append(words),
        )
        layout = self.layout
        rows = [
            output_row(first + i, row, found, layout, file=file)
            for i, (row, found) in enumerate(zip(block, scores, strict=True))
        ]
        for i, words in faults.items():
            rows[i]["error"] = f"{file}, row {first + i + 1}: {'; '.join(words)}"
        return rows
