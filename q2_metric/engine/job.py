"""What to score and how, as an object that can be sent to another process."""

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
"""Maximum number of rows of a block. Blocks of this size fill the models' batches, and an
interruption loses little work."""

Warn = Callable[[str], None]


class Selector(Protocol):
    """Chooses the knowledge of rows."""

    def sign(self, signature: str) -> str:
        """The metric's signature, extended by how the knowledge was chosen."""
        ...

    def choose(self, rows: Sequence[Row], file: str, first: int) -> list[Row]:
        """The rows with their chosen knowledge, in order. Rows for which the choice fails become
        bad rows.

        Args:
            rows: rows of the file.
            file: name for error messages.
            first: index of the first of these rows in the file.
        """
        ...


class Choice(Protocol):
    """Where the rows' knowledge comes from, as an object that can be sent to another process."""

    @property
    def words(self) -> str:
        """A description of the choice for people."""
        ...

    @property
    def request(self) -> Mapping[str, Any]:
        """The settings on which the chosen knowledge depends, by name."""
        ...

    @property
    def paths(self) -> Sequence[str]:
        """The settings that may be paths of files or folders."""
        ...

    def load(self) -> Selector:
        """Loads the selector."""
        ...


@dataclass(frozen=True)
class LoadedJob:
    """The metrics that score a job, and the selector of the knowledge, if there is one.

    Attributes:
        metrics: the metrics, with their calibrations.
        selector: chooses the rows' knowledge.
        cached: the metrics that have a cache, without their calibrations.
    """

    metrics: Sequence[Metric]
    selector: Selector | None = None
    cached: Sequence[CachedMetric] = ()

    @property
    def looked_up(self) -> int:
        """The number of scores that came from the cache so far."""
        return sum(metric.looked_up for metric in self.cached)

    @property
    def signatures(self) -> dict[str, str]:
        """The signatures of the metrics, by metric."""
        signed = {metric.name: metric.signature for metric in self.metrics}
        if self.selector is None:
            return signed
        return {name: self.selector.sign(text) for name, text in signed.items()}


@dataclass(frozen=True)
class Job:
    """The files, metrics and settings of a run.

    Attributes:
        files: files to read, as for :func:`q2_metric.rows.read.read_rows`.
        columns: columns to read.
        metrics: names, in the order of :data:`q2_metric.metrics.registry.METRICS`.
        preset, keywords: arguments of :func:`q2_metric.metrics.load_metrics`.
        calibrations: applied to the scores of their metrics.
        evidence: if true, metrics that support it also return, for each claim, the passage that
            decided it.
        no_claim: how responses that claim nothing count in means.
        texts: whether output rows repeat response, knowledge and history.
        raw_csv: whether texts in csv are written unchanged
            (:func:`q2_metric.rows.writers.writer_of`).
        form: format of the files (:data:`q2_metric.rows.formats.FORMS`). ``None`` means that the
            suffix of each file gives the format.
        group_by: columns; means are also computed for each value of these columns.
        limit: maximum number of rows that are read from each file.
        choice: chooses each row's knowledge; ``None`` if the knowledge is read from the row.
        cache: file of the score cache; ``None`` keeps scores in memory.
        cache_bytes: maximum size of the cache.
        block: maximum number of rows that are scored together.
        entries: registry entries of the metrics. Ray processes need them, because their own
            registry lacks metrics that were named as "package.module:Class".
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
        """The settings that change the output's rows but not the scores, as JSON values."""
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
                 for name, value in asdict(calibration).items()}
                for calibration in self.calibrations
            ],
        }

    def store(self, warn: Warn | None = None) -> Cache:
        """The cache of scores. It is in memory if the job names no cache file.

        Args:
            warn: receives one line that says why the file cannot be used.
        """
        callbacks: dict[str, Warn] = {} if warn is None else {"warn": warn}
        return Cache(self.cache, largest=self.cache_bytes, **callbacks)

    def identities(self, store: Cache | None = None) -> dict[str, Identity]:
        """What determines the scores of each metric, by metric. It includes how the knowledge is
        chosen.

        Args:
            store: result of :meth:`store`; opened here if not given.
        """
        known = self.store() if store is None else store
        identities = {
            name: identity(name, entry(name).request(self.preset, self.keywords), known)
            for name in self.metrics
        }
        if self.choice is not None:
            identities["knowledge"] = {
                **self.choice.request, **contents(self.choice.paths, known),
                CODE: code(),
            }
        return identities

    def check(self, *, strict: bool = False) -> None:
        """Finds missing files and columns before a model is loaded.

        Args:
            strict: also find rows that cannot be scored.

        Raises:
            InputError: a file cannot be read or lacks a column.
            BadRowError: a row cannot be scored, and ``strict`` is set.
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

    def load(self, store: Cache | None = None) -> LoadedJob:
        """Loads the metrics and the selector of the job. With a cache, models are loaded only when
        needed.

        Args:
            store: result of :meth:`store`; opened here if not given.

        Raises:
            As :func:`q2_metric.metrics.load_metrics`,
            :func:`q2_metric.metrics.calibration.calibrate` and :meth:`Choice.load`.
        """
        know(self.entries)
        if self.cache is None:
            loaded = metrics.load_metrics(self.metrics, self.preset, **self.keywords)
        else:
            kept = self.store() if store is None else store
            warn_of_unused(self.keywords, self.metrics)
            loaded = [self._cached(name, kept) for name in self.metrics]
        selector = None if self.choice is None else self.choice.load()
        cached = [metric for metric in loaded if isinstance(metric, CachedMetric)]
        return LoadedJob(calibrate(loaded, self.calibrations), selector, cached)

    def _cached(self, name: str, store: Cache) -> Metric:
        keywords = together(self.metrics, self.keywords)

        def load() -> Metric:
            metrics.check_models(self.metrics, self.preset, self.keywords)
            # Keywords of other metrics are left out. They would be reported as having no effect.
            own = entry(name).keywords()
            mine = {key: value for key, value in keywords.items() if key in own}
            (loaded,) = metrics.load_metrics([name], self.preset, **mine)
            return loaded

        if not entry(name).cached:
            return load()
        return CachedMetric(name, load, store, entry(name).request(self.preset, keywords))

    def rows(self, file: str, **callbacks: Any) -> Iterator[Row]:
        """The rows of one file. ``callbacks`` are passed on to ``read_rows``."""
        rows = read_rows(file, self.columns, blank=True, form=self.form,
                         group_by=self.group_by, **callbacks)
        return islice(rows, self.limit)

    def blocks(
        self, file: str, on_columns: Callable[[Columns], None] | None = None,
        on_note: Callable[[str], None] | None = None,
        on_read: Callable[[str], None] | None = None,
    ) -> Iterator[list[Row]]:
        """The rows of one file in blocks. The same file always gives the same blocks."""
        rows = self.rows(file, on_columns=on_columns, on_note=on_note, on_read=on_read)
        yield from cut(rows, self.block, characters)

    def score(
        self, loaded: LoadedJob, file: str, first: int, block: Sequence[Row]
    ) -> list[OutputRow]:
        """The output row of each row of a block. A row that cannot be scored has an ``error``.

        Args:
            loaded: result of :meth:`load`.
            file: file of the block.
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
            output_row(first + i, row, by_metric, layout, file=file)
            for i, (row, by_metric) in enumerate(zip(block, scores, strict=True))
        ]
        for i, words in faults.items():
            rows[i]["error"] = f"{file}, row {first + i + 1}: {'; '.join(words)}"
        return rows
