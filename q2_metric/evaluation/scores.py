"""Gets the scores of several metrics for the rows of a data set, by computing or from a file.

Computed scores are cached; a metric is loaded only if the cache lacks some.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

from q2_metric.engine.cached import CachedMetric, Progress
from q2_metric.errors import InputError
from q2_metric.metrics.entry import MetricColumn
from q2_metric.metrics.registry import entry
from q2_metric.metrics.settings import Reading
from q2_metric.metrics.signature import signature
from q2_metric.rows.columns import ALIASES, called
from q2_metric.rows.record import are_numbers
from q2_metric.types import Comparison, Example, Score

USUAL: Reading = "consistent"
ATTRIBUTABLE = frozenset(["ais_wow", "begin", "faithdial"])
"""The data sets whose annotation guideline has the reading (definition of "supported")
"attributable" (AIS, BEGIN, FaithDial): the knowledge must contain every statement, and a response
without a claim is not supported. With "consistent", chat and opinion do not count."""

NEUTRAL = 0.5
"""Replaces a missing score in statistics. Tables say how many scores are missing."""


class ScoreSummary(NamedTuple):
    """What the experiments need of a :class:`~q2_metric.types.Score`. ``questions`` and
    ``unanswered``, a part of them, are ``None`` if the metric asks no questions."""

    value: float | None
    no_nli: float | None = None
    questions: int | None = None
    unanswered: int | None = None


class ByGuideline(NamedTuple):
    """A metric with one version for each reading (definition of "supported")."""

    name: str
    under: Callable[[Reading], MetricSource]


Scores = Mapping[str, Sequence[ScoreSummary | None]]
"""The scores of the same responses by several metrics, keyed by the metric's name."""
Bar = Callable[[str, int], AbstractContextManager[Progress]]
"""Opens a progress bar with a title, for a total number of responses."""


class ScoreColumns:
    """Gets the scores of several metrics for the same examples. Without ``reading`` (definition of
    "supported"), each data set has that of its guideline."""

    def __init__(
        self, sources: Sequence[MetricSource | FileSource | ByGuideline],
        bar: Bar | None = None, reading: Reading | None = None,
    ) -> None:
        names = [source.name for source in sources]
        if len(set(names)) < len(names):
            raise InputError(f"a metric is named twice: {', '.join(names)}")
        self._sources, self._bar, self._reading = sources, bar or silent, reading
        self.signatures: dict[str, str] = {}
        """The signature of each column for which scores were requested."""

    @property
    def names(self) -> list[str]:
        return [name for source in self._sources for name in (
            source.name, *(more.name for more in _more(source)))]

    def scores(
        self, examples: Sequence[Example], title: str = "", *, complete: bool = True
    ) -> dict[str, list[ScoreSummary | None]]:
        """The scores of each column of the metrics, in the order of ``examples``. ``title`` names
        the data set, which determines the reading. A missing score is an InputError, unless
        ``complete`` is false."""
        by_name: dict[str, list[ScoreSummary | None]] = {}
        reading = self.reading_of(title)
        for given in self._sources:
            source = given.under(reading) if isinstance(given, ByGuideline) else given
            with self._bar(f"{title} {source.name}".strip(), len(examples)) as progress:
                column = source.scores(examples, progress)
            lacking = sum(item is None for item in column)
            if complete and lacking:
                raise InputError(f"{source.name}: has no score for {lacking} of {len(examples)} "
                                 f"responses{title and f' of {title}'}")
            by_name[source.name] = column
            for more in _more(source):
                by_name[more.name] = [
                    item and ScoreSummary(getattr(item, more.field)) for item in column]
            other = f" ({reading})" if isinstance(given, ByGuideline) and reading != USUAL else ""
            self.signatures |= {name + other: signed for name, signed
                                in entry(source.name).signatures(source.signature).items()
                                if name in by_name}
        return by_name

    def reading_of(self, name: str) -> Reading:
        return self._reading or ("attributable" if name in ATTRIBUTABLE else USUAL)

    def readings(self, names: Iterable[str]) -> str:
        """The sentence below a table about the sets' readings; "" if they make no difference."""
        if not self._reading and not any(
                isinstance(source, ByGuideline) for source in self._sources):
            return ""
        by_reading: dict[Reading, list[str]] = {}
        for name in sorted(names, key=self.reading_of):
            by_reading.setdefault(self.reading_of(name), []).append(name)
        return " Definition of supported: " + "; ".join(
            f'"{reading}" for {", ".join(sets)}' for reading, sets in by_reading.items()) + "."


def _more(source: MetricSource | FileSource | ByGuideline) -> Sequence[MetricColumn]:
    """The further columns of a metric. A column of a file stands alone, whatever its name."""
    return () if isinstance(source, FileSource) else entry(source.name).more


def known(column: Sequence[ScoreSummary | None]) -> dict[int, float]:
    """The values of scores by the index of the response, without missing ones."""
    return {i: item.value for i, item in enumerate(column)
            if item is not None and item.value is not None}


def values(column: Sequence[ScoreSummary | None]) -> list[float]:
    """The values of scores; :data:`NEUTRAL` for a missing one."""
    found = known(column)
    return [found.get(i, NEUTRAL) for i in range(len(column))]


class MetricSource(CachedMetric):
    """The scores of one of our metrics, from the cache or by computing them."""

    def scores(self, examples: Sequence[Example], progress: Progress) -> list[ScoreSummary | None]:
        return [scored(self.name, score) for score in self.score(examples, progress=progress)]


def scored(name: str, score: Score) -> ScoreSummary:
    value = score.value if score.value is not None and math.isfinite(score.value) else None
    if entry(name).details != "questions":
        return ScoreSummary(value)
    questions = [item for item in score.evidence if isinstance(item, Comparison)]
    unanswered = sum(item.how == "no_answer" for item in questions)
    return ScoreSummary(value, score.no_nli, len(questions), unanswered)


class FileSource:
    """Scores by any metric, from a column of a file. Its rows are matched to ``rows`` by their
    texts if the file has columns for response and knowledge (rows with the same texts in order),
    otherwise by id. Without ids, or with ids that are only row numbers, they are matched by order.
    InputError: the column is missing, a value is not a number, or the rows cannot be matched."""

    def __init__(
        self, path: str | Path, lines: Sequence[tuple[str, Mapping[str, object]]], column: str,
        rows: Sequence[Example],
    ) -> None:
        self.name = column
        self.signature = signature(column, {"file": Path(path).name, "version": "unknown"})
        if not lines or column not in lines[0][1]:
            columns = ", ".join(map(repr, lines[0][1])) if lines else "none"
            raise InputError(f"{path}: there is no column {column!r}; the columns are {columns}")
        numbers = [number_of(fields.get(column), column, where) for where, fields in lines]

        def texts(field: str) -> list[str]:
            key = next(called([*lines[0][1]], ALIASES[field]), None)
            return [] if key is None else [str(fields.get(key)) for _, fields in lines]

        responses, knowledge, ids = texts("response"), texts("knowledge"), texts("id")
        given: Iterable[object] = range(len(numbers))
        wanted: Iterable[object] = range(len(rows))
        if responses and knowledge:
            given = zip(responses, knowledge, strict=True)
            wanted = [(example.response, example.knowledge) for example in rows]
        elif ids and len(names := {example.id for example in rows}) == len(rows) and (
                names <= {*ids}):
            given, wanted = ids, [example.id for example in rows]
        elif len(numbers) != len(rows) or (ids and not are_numbers(ids)):
            raise InputError(
                f"{path}: its {len(numbers)} rows cannot be matched to the {len(rows)} responses; "
                "add the columns response and knowledge, or the ids of the data set (its row "
                "numbers from 0), or use the same rows in order without ids")
        found: dict[object, list[float | None]] = {}
        for key, number in zip(given, numbers, strict=True):
            found.setdefault(key, []).append(number)
        self._rows = rows  # so that no other example gets the id() of one of these
        self._summaries: dict[int, ScoreSummary] = {}
        for example, key in zip(rows, wanted, strict=True):
            if here := found.get(key):
                self._summaries[id(example)] = ScoreSummary(here.pop(0) if here[1:] else here[0])
        if not self._summaries:
            raise InputError(f"{path}: none of its rows is a response of this data set")

    def scores(self, examples: Sequence[Example], progress: Progress) -> list[ScoreSummary | None]:
        """One score for each example, in order; ``None`` for an example that is not in the file.
        The examples must be among ``rows``."""
        progress(len(examples))
        return [self._summaries.get(id(one)) for one in examples]


def number_of(value: object, column: str, where: str) -> float | None:
    """Converts a cell of a file to a score; ``None`` if the cell is empty. InputError: the value is
    not a finite number; the message names ``where`` and ``column``."""
    if value is None or value == "":
        return None
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{where}: the score (field {column!r}) is {value!r}, not a number")
    return number


def silent(_title: str, _total: int) -> AbstractContextManager[Progress]:
    return nullcontext(lambda _rows: None)
