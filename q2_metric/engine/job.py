"""A job: the files, metrics and settings of a run, as an object that can be sent to processes."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric import metrics, scoring
from q2_metric.engine.blocks import CHARACTERS, characters, cut, slices
from q2_metric.engine.cache import Cache, largest_size
from q2_metric.engine.cached import CachedMetric, Progress
from q2_metric.engine.identity import CODE, Identity, code, contents, identity
from q2_metric.errors import BadRowError, InputError
from q2_metric.files import STDIN, rereadable
from q2_metric.metrics.calibration import Calibration, calibrate
from q2_metric.metrics.registry import Entry, entry, know, warn_of_unused
from q2_metric.rows.columns import Columns
from q2_metric.rows.fields import Layout, OutputRow, output_row
from q2_metric.rows.read import BadRow, Row, Turns, read_rows
from q2_metric.scoring import NO_CLAIM, NoClaim
from q2_metric.types import Example, Metric

if TYPE_CHECKING:
    from q2_metric.knowledge.choose import PoolChoice, PoolSelector

BLOCK = 256
"""Maximum number of rows scored together. It fills batches, and an interruption loses few rows."""


@dataclass(frozen=True)
class LoadedJob:
    """The loaded metrics of a job, calibrated.
    ``selector`` is ``None`` if the rows contain their knowledge. ``cached`` holds the metrics with
    cached scores, as they are before calibration."""

    metrics: Sequence[Metric]
    selector: PoolSelector | None = None
    cached: Sequence[CachedMetric] = ()

    @property
    def looked_up(self) -> int:
        """The number of scores so far that an earlier run had put into the cache."""
        return sum(metric.looked_up for metric in self.cached)

    @property
    def signatures(self) -> dict[str, str]:
        """By metric, its signature. If the job chooses the knowledge, the signature says how."""
        sign = self.selector.sign if self.selector else str
        return {metric.name: sign(metric.signature) for metric in self.metrics}


@dataclass(frozen=True)
class Job:
    """The files, metrics and settings of a run.

    Attributes:
        files: paths; "-" is standard input.
        keywords: further keyword arguments of :func:`q2_metric.metrics.load_metrics`.
        texts: whether output rows also contain the response, the knowledge and the history.
        raw_csv: if false, a text that a spreadsheet might run as a formula gets a ' in front.
        form: format (:data:`q2_metric.rows.formats.FORMS`); ``None`` goes by the suffix.
        limit: maximum number of rows that are read from each file.
        turns: which turns of a chat are scored (:func:`q2_metric.rows.read.read_rows`).
        choice: how each row's knowledge is chosen; ``None`` if the row contains its knowledge.
        cache: file of the score cache; ``None`` means that scores are not cached.
        block: maximum number of rows that are scored together.
        entries: the metrics' registry entries, sent along because the registry of a Ray process
            lacks the user's own metrics.
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
    turns: Turns = "last"
    choice: PoolChoice | None = None
    cache: Path | None = None
    cache_bytes: int = field(default_factory=largest_size)
    block: int = field(default_factory=lambda: BLOCK)
    entries: tuple[Entry, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(map(entry, self.metrics)))

    @property
    def layout(self) -> Layout:
        return Layout(
            self.metrics, with_file=len(self.files) > 1,
            decided=[calibration.metric for calibration in self.calibrations], texts=self.texts,
            selected=self.choice is not None, group_by=self.group_by)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that change the output rows but not the scores, as JSON values."""
        if_given = {**asdict(self.columns), "group_by": self.group_by or None, "limit": self.limit,
                    "turns": None if self.turns == "last" else self.turns}
        same = ("metrics", "evidence", "no_claim", "texts", "raw_csv", "block")
        settings: dict[str, Any] = json.loads(json.dumps({
            **{name: getattr(self, name) for name in same},
            **{name: value for name, value in if_given.items() if value is not None},
            "format": self.form, "block_characters": CHARACTERS,
            "calibration": list(map(asdict, self.calibrations)),
        }))
        return settings

    def identities(self) -> dict[str, Identity]:
        """By metric, its identity. The key "knowledge" stands for the choice of knowledge."""
        identities = {name: identity(name, entry(name).request(self.preset, self.keywords))
                      for name in self.metrics}
        if self.choice is not None:
            identities["knowledge"] = {
                **self.choice.request, **contents(self.choice.paths), CODE: code()}
        return identities

    def check(self, *, strict: bool = False) -> None:
        """Checks that the files exist and have the needed columns, before a model is loaded.
        InputError: a file cannot be read or lacks a column. BadRowError: ``strict`` is true, and a
        row cannot be scored."""
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

    def load(self, warn: Callable[[str], None] | None = None) -> LoadedJob:
        """Loads the metrics and, if the job chooses knowledge, the selector (Q2Error if it cannot).
        With a cache file, a metric loads its models only when a score is not cached. ``warn`` is
        that of :class:`~q2_metric.engine.cache.Cache`."""
        know(self.entries)
        if self.cache is None:
            loaded = metrics.load_metrics(self.metrics, self.preset, **self.keywords)
        else:
            store = Cache(self.cache, largest=self.cache_bytes, warn=warn)
            warn_of_unused(self.keywords, self.metrics)
            loaded = [self._cached(name, store) for name in self.metrics]
        selector = None if self.choice is None else self.choice.load()
        cached = [metric for metric in loaded if isinstance(metric, CachedMetric)]
        return LoadedJob(calibrate(loaded, self.calibrations), selector, cached)

    def _cached(self, name: str, store: Cache) -> Metric:
        def load() -> Metric:
            metrics.check_models(self.metrics, self.preset, self.keywords)
            # Keywords of other metrics would be reported as having no effect, so they are left out.
            own = entry(name).keywords()
            mine = {key: value for key, value in self.keywords.items() if key in own}
            (loaded,) = metrics.load_metrics([name], self.preset, **mine)
            return loaded

        if not entry(name).cached:
            return load()
        return CachedMetric(name, load, store, entry(name).request(self.preset, self.keywords))

    def rows(self, file: str, **callbacks: Any) -> Iterator[Row]:
        """Reads one file; ``callbacks`` are those of :func:`q2_metric.rows.read.read_rows`."""
        rows = read_rows(file, self.columns, blank=True, form=self.form,
                         group_by=self.group_by, turns=self.turns, **callbacks)
        return islice(rows, self.limit)

    def blocks(self, file: str, **callbacks: Any) -> Iterator[list[Row]]:
        """Reads one file in blocks. The same file is always cut into the same blocks."""
        yield from cut(self.rows(file, **callbacks), self.block, characters)

    def score(
        self, loaded: LoadedJob, file: str, first: int, block: Sequence[Row],
        progress: Progress = lambda _rows: None,
    ) -> tuple[list[OutputRow], int]:
        """Scores a block. Returns an output row for each row, with an ``error`` if it failed, and
        how many scores an earlier run had put into the cache.

        ``first`` is the index in the file of the block's first row. ``progress`` gets the number of
        rows that were just finished; a row that only some metrics have scored counts in part.
        ModelError: a model failed on every row that was tried, its device is lost, or the machine
        has another fault."""
        faults = defaultdict[int, list[str]](list)
        scored = told = 0
        before = loaded.looked_up

        def tell(done: int) -> None:
            nonlocal told
            if done > told:
                progress(done - told)
                told = done

        def in_slices(examples: Sequence[Example]) -> Iterator[Sequence[Example]]:
            nonlocal scored
            for part in slices(examples, first=first == 0):
                yield part
                scored += len(part)
                tell(-(-scored // len(loaded.metrics)))

        if loaded.selector is not None:
            block = loaded.selector.choose(block, file, first)
        scores = scoring.score_rows(
            loaded.metrics, [None if isinstance(row, BadRow) else row for row in block],
            evidence=self.evidence, slices=in_slices,
            on_fault=lambda place, words: faults[place].append(words))
        tell(len(block))
        layout = self.layout
        rows = [output_row(first + i, row, by_metric, layout, file=file)
                for i, (row, by_metric) in enumerate(zip(block, scores, strict=True))]
        for i, words in faults.items():
            rows[i]["error"] = f"{file}, row {first + i + 1}: {'; '.join(words)}"
        return rows, loaded.looked_up - before
