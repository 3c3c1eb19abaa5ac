"""Reads the rows of requests as rows of files are read, and scores those of several requests
together, in the order in which they arrived.

The rows wait in a queue of limited size. One thread scores: the models use all cores themselves.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from starlette.exceptions import HTTPException

from q2_metric import scoring
from q2_metric.engine.blocks import SLICE, characters, cut
from q2_metric.errors import InputError
from q2_metric.rows.columns import Columns
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.read import BadRow, Row, read_rows
from q2_metric.rows.record import Record
from q2_metric.types import Example, Metric, Score

T = TypeVar("T")

ScoreRows = Callable[[Sequence[Row]], Awaitable[list[OutputRow]]]

LONGEST_ANSWER, LONGEST_SOURCES = 20_000, 200_000
"""In characters, of an answer (or question) and of its sources."""

MOST_ROWS = 64
"""Of a request."""

MOST_WAITING = 256
"""Rows in the queue."""


class _FieldNames(Columns):
    def option(self, field: str) -> str:
        return f"the name {field!r}"


def row_of(where: str, given: object, *, place: int = 0, need_response: bool = True) -> Row:
    """A row of a request; a BadRow, whose error begins with ``where``, if it cannot be scored."""
    if not isinstance(given, Mapping):
        return BadRow(place, None, f"{where}: is not an object")
    try:
        # Each row is read by itself: its neighbours do not change which fields are read.
        [row] = read_rows(where, _FieldNames(), given=[Record(where, given)], blank=True,
                           need_response=need_response)
    except InputError as error:
        words = str(error).strip()
        return BadRow(place, None, words if words.startswith(where) else f"{where}: {words}")
    if row.id == "(row 1)":  # the row has a blank id
        row = replace(row, id=None)
    for name, longest in (("response", LONGEST_ANSWER), ("knowledge", LONGEST_SOURCES)):
        if (length := len(getattr(row, name, ""))) > longest:
            return BadRow(place, row.id, f"{where}: the {name} has {length:,} characters; it may "
                          f"have at most {longest:,}; use q2 score for longer texts")
    return row


class Scored(NamedTuple):
    """A row's scores, by metric. ``error`` says which metrics failed on it."""

    scores: Mapping[str, Score]
    error: str | None = None


@dataclass(slots=True)
class ScoringQueue:
    """Scores rows while the context :meth:`open` lasts. ``sizes`` counts batches, by rows."""

    metrics: Sequence[Metric]
    sizes: list[int] = field(default_factory=lambda: [0] * (SLICE + 1))
    _queue: dict[asyncio.Future[Scored], Example] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _thread: ThreadPoolExecutor | None = None
    _task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def alive(self) -> bool:
        """Whether the task that scores runs. It ends only with the context."""
        return self._task is not None and not self._task.done()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        with ThreadPoolExecutor(1, "q2-scores") as self._thread:
            self._task = asyncio.create_task(self._run())
            try:
                yield
            finally:
                self._task.cancel()

    async def score(self, rows: Sequence[Example]) -> list[Scored]:
        """Results in the order of the rows. If the caller is cancelled, its rows leave the queue.
        HTTPException: the queue has no room for all the rows. Q2Error: an error of which no row is
        the cause, such as a lack of memory."""
        if len(rows) > MOST_WAITING - len(self._queue):
            raise HTTPException(429, "Too many rows are waiting. Try again later.",
                                headers={"Retry-After": "1"})
        loop = asyncio.get_running_loop()
        mine = {loop.create_future(): row for row in rows}
        self._queue |= mine
        self._wake.set()
        try:
            return list(await asyncio.gather(*mine))
        finally:
            for future in mine:
                self._queue.pop(future, None)

    async def call(self, work: Callable[..., T], *arguments: Any) -> T:
        """What ``work`` returns. It runs between batches, in their thread."""
        assert self._thread is not None
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            if not self._queue:
                await self._wake.wait()
            rows = cut(self._queue.items(), SLICE, size=lambda item: characters(item[1]))
            batch = dict(next(rows, ()))
            for future in batch:
                del self._queue[future]
            self.sizes[len(batch)] += 1
            found = await self.call(self._scored, list(batch.values()))
            for future, result in zip(batch, found, strict=True):
                if future.done():  # cancelled
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    def _scored(self, rows: Sequence[Example]) -> list[Scored | Exception]:
        faults: dict[int, list[str]] = {}
        try:
            scores = scoring.score_rows(
                self.metrics, rows, evidence=True,
                on_fault=lambda place, words: faults.setdefault(place, []).append(words))
        except Exception as error:
            # Many rows together may fail as if the model were broken.
            return [error] if len(rows) == 1 else [
                result for row in rows for result in self._scored([row])]
        return [Scored(by_metric, "; ".join(faults[place]) if place in faults else None)
                for place, by_metric in enumerate(scores)]
