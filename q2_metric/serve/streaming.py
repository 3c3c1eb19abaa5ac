"""``POST /v1/stream``: judges claims while the text of a response arrives."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from q2_metric.errors import InputError, Q2Error, machine_fault
from q2_metric.files import parse_json
from q2_metric.metrics.groundedness import Groundedness, Stream
from q2_metric.rows.fields import CLAIMS, Layout, output_row
from q2_metric.rows.read import BadRow
from q2_metric.scoring.verdict import GATED
from q2_metric.serve.queue import LONGEST_ANSWER, ScoringQueue, row_of
from q2_metric.serve.server import MOST_BYTES, check_type
from q2_metric.types import Example, Judgement, Metric, Score

MOST_STREAMS = 16
"""At the same time."""

LONGEST_PAUSE = 120.0
"""Seconds between two pieces of a response."""

MEDIA_TYPE = "application/x-ndjson"
_Lines = AsyncIterator[tuple[int, object]]


class Streams:
    """Opens streams for the metric groundedness, if it is among the metrics."""

    def __init__(self, metrics: Sequence[Metric], queue: ScoringQueue) -> None:
        self._metric = next((one for one in metrics if isinstance(one, Groundedness)), None)
        self._queue, self._open = queue, 0

    async def reply(self, request: Request) -> StreamingResponse:
        """Server-sent events: ``claim`` for each claim, then ``score``, or ``error``. HTTPException
        if the first line of the body is no row."""
        if self._metric is None:
            raise HTTPException(400, "Streams need the metric groundedness: start the server with "
                                "--metrics groundedness.")
        check_type(request, MEDIA_TYPE, f"lines of JSON, with Content-Type: {MEDIA_TYPE}")
        if self._open >= MOST_STREAMS:
            raise HTTPException(429, "Too many streams are open. Try again later.",
                                headers={"Retry-After": "5"})
        lines = _lines(request)
        try:
            example = row_of("line 1", (await anext(lines))[1], need_response=False)
        except (InputError, StopAsyncIteration) as error:
            raise HTTPException(400, str(error) or "The body is empty.") from error
        if isinstance(example, BadRow):
            raise HTTPException(400, example.error)
        return _Events(
            self._events(self._metric.stream(example), lines), media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def _events(self, stream: Stream, lines: _Lines) -> AsyncIterator[str]:
        length = 0
        self._open += 1
        try:
            async for number, line in lines:
                text = line.get("text") if isinstance(line, Mapping) else None
                if not isinstance(text, str):
                    raise InputError(f'line {number} is not an object such as {{"text": "…"}}')
                length += len(text)
                if length > LONGEST_ANSWER:
                    raise InputError(f"line {number}: the response has more than "
                                     f"{LONGEST_ANSWER:,} characters")
                for one in await self._queue.call(stream.add, text):
                    yield _event("claim", _claim(stream.example, one))
            for one in await self._queue.call(stream.end):
                yield _event("claim", _claim(stream.example, one))
            assert stream.score is not None
            row = output_row(0, stream.example, {GATED: stream.score}, Layout([GATED]))
            yield _event("score", {key: row[key] for key in (GATED, "reason", "parts", "claims")})
        except ClientDisconnect:
            pass
        except Exception as error:  # the server continues
            why = str(error) if isinstance(error, Q2Error) else machine_fault(error) or repr(error)
            yield _event("error", {"error": why})
        finally:
            self._open -= 1


class _Events(StreamingResponse):
    """Sends events while the request is still being read. Starlette would read the rest of the
    request to see if the client leaves."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def _lines(request: Request) -> _Lines:
    """The numbers and values of the lines. InputError: one is not JSON, is late or too long."""
    rest, size, number, pieces = b"", 0, 0, request.stream()
    while True:
        try:
            async with asyncio.timeout(LONGEST_PAUSE):
                piece = await anext(pieces, None)
        except TimeoutError as error:
            raise InputError(f"no text arrived for {LONGEST_PAUSE:g} seconds") from error
        size += len(piece or b"")
        if size > MOST_BYTES:
            raise InputError(f"the request has more than {MOST_BYTES:,} bytes")
        *lines, rest = (rest + (b"\n" if piece is None else piece)).split(b"\n")
        for line in filter(bytes.strip, lines):
            number += 1
            try:
                yield number, parse_json(line.decode())
            except (ValueError, RecursionError) as error:
                raise InputError(f"line {number} is not JSON in UTF-8") from error
        if piece is None:
            return


def _claim(example: Example, judgement: Judgement) -> Any:
    score = Score(example, None, (judgement,))
    return output_row(0, example, {"scale": score}, Layout(["scale"]))[CLAIMS.name][0]


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
