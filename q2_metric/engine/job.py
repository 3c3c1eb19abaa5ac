"""What is to be scored and how, as a value that another process can be given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric import metrics
from q2_metric.engine.cache import LARGEST, Cache, CachedMetric
from q2_metric.files import STDIN
from q2_metric.metrics.calibration import Calibration, calibrate
from q2_metric.metrics.registry import entry
from q2_metric.rows.columns import Columns
from q2_metric.rows.fields import Layout, OutputRow, output_row
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.types import Example, Metric

if TYPE_CHECKING:
    from q2_metric.knowledge.scoring import Selector

BLOCK = 256
"""Rows scored together and then kept: enough to fill batches, little to lose."""

ROW = "row"
"""A pool of knowledge of its own for each row: the lines of its knowledge."""

Row = Example | BadRow
Warn = Callable[[str], None]


@dataclass(frozen=True)
class Loaded:
    """What scores a job: the metrics, and what chooses the knowledge, if anything does."""

    metrics: Sequence[Metric]
    selector: Selector | None = None

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
        metrics: names, in the order of :data:`q2_metric.metrics.METRICS`.
        preset, keywords: arguments of :func:`q2_metric.metrics.load_metrics`.
        calibrations: applied to the scores of their metrics.
        evidence: whether SCALE also finds each sentence's support.
        texts: whether output rows repeat response, knowledge and history.
        knowledge_pool: file that each row's knowledge is chosen from, or :data:`ROW`.
        rankers: that choose it (:class:`q2_metric.knowledge.scoring.Selector`).
        cache: file of the score cache; ``None`` for none.
        cache_bytes: that the cache may have.
        block: rows scored together.
    """

    files: tuple[str, ...]
    columns: Columns
    metrics: tuple[str, ...]
    preset: str = "bundled"
    keywords: Mapping[str, Any] = field(default_factory=dict)
    calibrations: tuple[Calibration, ...] = ()
    evidence: bool = False
    texts: bool = False
    knowledge_pool: str | None = None
    rankers: tuple[str, ...] = ()
    cache: Path | None = None
    cache_bytes: int = LARGEST
    block: int = field(default_factory=lambda: BLOCK)

    @property
    def decided(self) -> list[str]:
        """Metrics that have a calibration."""
        return [calibration.metric for calibration in self.calibrations]

    @property
    def layout(self) -> Layout:
        """The fields of the output's rows."""
        return Layout(
            self.metrics, with_file=len(self.files) > 1, decided=self.decided, texts=self.texts,
            selected=self.knowledge_pool is not None,
        )

    def load(self, warn: Warn | None = None) -> Loaded:
        """What scores the job; with a cache, models are loaded when they are needed.

        Args:
            warn: told in one line why the cache cannot be used.

        Raises:
            As :func:`q2_metric.metrics.load_metrics`,
            :func:`q2_metric.metrics.calibration.calibrate` and
            :class:`q2_metric.knowledge.scoring.Selector`.
        """
        if self.knowledge_pool is None:
            return Loaded(self._metrics(warn))
        from q2_metric.knowledge.scoring import Selector

        return Loaded(self._metrics(warn), Selector(self.knowledge_pool, self.rankers))

    def _metrics(self, warn: Warn | None) -> list[Metric]:
        if self.cache is None:
            loaded = metrics.load_metrics(self.metrics, self.preset, **self.keywords)
            return calibrate(loaded, self.calibrations)
        told: dict[str, Warn] = {} if warn is None else {"warn": warn}
        store = Cache(self.cache, largest=self.cache_bytes, **told)
        return calibrate([self._load(name, store) for name in self.metrics], self.calibrations)

    def _load(self, name: str, store: Cache) -> Metric:
        def load() -> Metric:
            (loaded,) = metrics.load_metrics([name], self.preset, **self.keywords)
            return loaded

        if not entry(name).cached:
            return load()
        made_from = entry(name).request(self.preset, self.keywords)
        return CachedMetric(name, load, store, made_from)

    def blocks(
        self, file: str, on_columns: Callable[[Columns], None] | None = None
    ) -> Iterator[list[Row]]:
        """The rows of one of the files, always cut in the same places."""
        rows = read_rows(file, self.columns, on_columns=on_columns)
        while block := list(islice(rows, self.block)):
            yield block

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
            ModelError: a model is broken (:func:`q2_metric.metrics.faults.score_each`).
        """
        faults: dict[int, str] = {}

        def on_fault(place: int, words: str) -> None:
            faults[place] = f"{faults[place]}; {words}" if place in faults else words

        if loaded.selector is not None:
            block = loaded.selector.choose(block, file, first)
        examples = [None if isinstance(row, BadRow) else row for row in block]
        scores = metrics.score_rows(
            loaded.metrics, examples, evidence=self.evidence, on_fault=on_fault
        )
        rows = []
        for i, (row, found) in enumerate(zip(block, scores, strict=True)):
            out = output_row(
                first + i, row, found, self.layout, file=file,
            )
            if i in faults:
                out["error"] = f"{file}, row {first + i + 1}: {faults[i]}"
            rows.append(out)
        return rows


def rereadable(file: str) -> bool:
    """Whether reading a file now leaves it there for later: not of stdin and pipes."""
    return file != STDIN and os.path.isfile(file)
