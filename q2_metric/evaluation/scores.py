"""Columns of scores for the rows of a data set: by our metrics (cached) or from a file.

Scores come from :mod:`q2_metric.engine.cache`, so a second run is fast. A metric is loaded only if
the cache lacks a score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from q2_metric.engine.cached import CachedMetric, Progress
from q2_metric.errors import InputError
from q2_metric.evaluation.readings import USUAL, reading_of, told
from q2_metric.metrics.registry import entry
from q2_metric.metrics.scale_settings import Reading
from q2_metric.metrics.signature import signature
from q2_metric.rows.columns import ALIASES
from q2_metric.types import Comparison, Example, Score

NEUTRAL = 0.5
"""Stands for a missing value in statistics that need one. Tables say how many were missing."""


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """The parts of a :class:`~q2_metric.types.Score` that the experiments need.

    ``questions`` and ``unanswered`` are numbers of questions. Both are ``None`` if the metric asks
    no questions.
    """

    value: float | None
    no_nli: float | None = None
    fallback: bool = False
    questions: int | None = None
    unanswered: int | None = None


@dataclass(frozen=True, slots=True)
class ByGuideline:
    """A metric with one version for each reading, which ``under`` returns."""

    name: str
    under: Callable[[Reading], ScoreSource]


Scores = Mapping[str, Sequence[ScoreSummary | None]]
"""A column of scores for each metric, over the same responses."""


class Bar(Protocol):
    """Opens a progress bar."""

    def __call__(self, title: str, total: int, /) -> AbstractContextManager[Progress]: ...


class ScoreSource(Protocol):
    """A column of scores by one metric."""

    name: str

    @property
    def signature(self) -> str:
        """The signature: a line that records where the scores come from."""
        ...

    def scores(self, examples: Sequence[Example], progress: Progress) -> list[ScoreSummary | None]:
        """One score for each example, in order; ``None`` for an example without a score."""
        ...


class ScoreColumns:
    """Scores of several metrics over the same examples, side by side.

    Args:
        sources: sources in display order. Each source gives all columns of its metric. A source by
            guideline has one signature for each reading under which it scored.
        reading: the reading for all sets; ``None`` uses the reading of each set's guideline.
        bar: opens a progress bar for (title, total).
    """

    def __init__(
        self,
        sources: Sequence[ScoreSource | ByGuideline],
        bar: Bar | None = None,
        reading: Reading | None = None,
    ) -> None:
        names = [source.name for source in sources]
        if len(set(names)) < len(names):
            raise InputError(f"a metric is named twice: {', '.join(names)}")
        self._sources, self._bar, self._reading = sources, bar or silent, reading
        self._signatures: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for source in self._sources for column in entry(source.name).columns]

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each column that has given scores, by name of the column."""
        return dict(self._signatures)

    def scores(
        self, examples: Sequence[Example], title: str = "", *, complete: bool = True
    ) -> dict[str, list[ScoreSummary | None]]:
        """A column for each metric. The scores are in the order of ``examples``.

        Args:
            examples: the examples of one set.
            title: name of the set. It determines the reading and is shown beside the progress bar.
            complete: raise an error if a source lacks some of the examples.

        Raises:
            InputError: a source lacks some of the examples, or a metric raises an InputError.
        """
        by_name: dict[str, list[ScoreSummary | None]] = {}
        reading = self.reading_of(title)
        for given in self._sources:
            source = given.under(reading) if isinstance(given, ByGuideline) else given
            with self._bar(f"{title} {source.name}".strip(), len(examples)) as progress:
                column = source.scores(examples, progress)
            lacking = sum(item is None for item in column)
            if complete and lacking:
                raise InputError(
                    f"{source.name}: has no score for {lacking} of {len(examples)} responses"
                    f"{' of ' + title if title else ''}"
                )
            metric = entry(source.name)
            by_name[source.name] = column
            for more in metric.more:
                by_name[more.name] = [
                    item and ScoreSummary(getattr(item, more.field)) for item in column]
            other = f" ({reading})" if isinstance(given, ByGuideline) and reading != USUAL else ""
            self._signatures |= {name + other: signed for name, signed
                                 in metric.signatures(source.signature).items()}
        return by_name

    def reading_of(self, name: str) -> Reading:
        """The reading under which the set of this name is scored."""
        return self._reading or reading_of(name)

    def readings(self, names: Iterable[str]) -> str:
        """A sentence for a table's note that names the readings of these sets.

        "" if no metric has several readings.
        """
        if not self._reading and not any(
                isinstance(source, ByGuideline) for source in self._sources):
            return ""
        return " " + told({name: self.reading_of(name) for name in names})


def values(column: Sequence[ScoreSummary | None]) -> list[float]:
    """The values as numbers. A missing value becomes :data:`NEUTRAL`."""
    return [NEUTRAL if item is None or item.value is None else item.value for item in column]


# --- our metrics ------------------------------------------------------------------------


class MetricSource(CachedMetric):
    """Scores by one of our metrics. The metric is loaded only if the cache lacks a score."""

    def scores(self, examples: Sequence[Example], progress: Progress) -> list[ScoreSummary | None]:
        """The scores of all examples; each example is scored once."""
        return [scored(self.name, score) for score in self.score(examples, progress=progress)]


def scored(name: str, score: Score) -> ScoreSummary:
    """The parts that the experiments keep of a score by the metric ``name``."""
    value = score.value if score.value is not None and math.isfinite(score.value) else None
    if entry(name).details != "questions":
        return ScoreSummary(value)
    questions = [item for item in score.evidence if isinstance(item, Comparison)]
    unanswered = sum(item.how == "no_answer" for item in questions)
    return ScoreSummary(value, score.no_nli, score.fallback, len(questions), unanswered)


# --- scores of others -------------------------------------------------------------------


class FileSource:
    """A column of a file: scores by a metric that is not ours.

    The rows of the file are matched to the rows of the data set. They are matched by their texts if
    the file has columns for response and knowledge, otherwise by id, otherwise by order.

    Args:
        path: .csv, .jsonl, .tsv or .parquet.
        found: the rows of the file (:func:`q2_metric.rows.formats.read_fields`).
        column: column with the scores; also the metric's name.
        rows: rows of the data set, in the order of the data set.

    Raises:
        InputError: the column is missing, a value is not a number, or the rows cannot be
            matched.
    """

    def __init__(
        self,
        path: str | Path,
        lines: Sequence[tuple[str, Mapping[str, object]]],
        column: str,
        rows: Sequence[Example],
    ) -> None:
        self.name = column
        self.signature = signature(column, {"file": Path(path).name, "version": "unknown"})
        if not lines or column not in lines[0][1]:
            columns = ", ".join(map(repr, lines[0][1])) if lines else "none"
            raise InputError(f"{path}: there is no column {column!r}; the columns are {columns}")
        numbers = [number_of(fields.get(column), column, where) for where, fields in lines]
        named = {key.strip().lower(): key for key in lines[0][1]}

        def texts(field: str) -> list[object] | None:
            key = next((named[a] for a in ALIASES[field] if a in named), None)
            return None if key is None else [fields.get(key) for _, fields in lines]

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
                "add the columns response and knowledge, or ids, or use the same rows in order"
            )
        for example, place in zip(rows, places, strict=True):
            if place is None or not math.isnan(place):
                self._values.setdefault((example.response, example.knowledge), place)
        if not self._values:
            raise InputError(f"{path}: none of its rows is a response of this data set")

    def scores(self, examples: Sequence[Example], progress: Progress) -> list[ScoreSummary | None]:
        """The score of each example; ``None`` for responses that are not in the file."""
        progress(len(examples))
        summaries: list[ScoreSummary | None] = []
        for example in examples:
            key = (example.response, example.knowledge)
            summaries.append(ScoreSummary(self._values[key]) if key in self._values else None)
        return summaries


def _named(rows: Sequence[Example]) -> set[str | None]:
    """The ids that identify a row. An id that occurs twice, as in several sets, is left out."""
    names = {row.id for row in rows}
    return names if len(names) == len(rows) else {None}


def number_of(value: object, column: str, where: str) -> float | None:
    """A score from a file; ``None`` for an empty cell or null, which mean that there is no score.

    Raises:
        InputError: the value is not a finite number.
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
