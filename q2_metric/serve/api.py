"""The HTTP API of ``q2 serve --api``: scores rows as ``q2 score`` does, and judges claims while the
text of a response arrives (docs/serve.md)."""

import asyncio
import hmac
import json
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from q2_metric._version import __version__
from q2_metric.errors import InputError, Q2Error, machine_fault
from q2_metric.files import parse_json
from q2_metric.metrics.groundedness import Groundedness, Stream
from q2_metric.metrics.registry import signatures
from q2_metric.rows.fields import Layout, OutputRow, output_row
from q2_metric.rows.read import BadRow, Row
from q2_metric.scoring import claims
from q2_metric.scoring.verdict import GATED
from q2_metric.serve.gateways import decision, detection
from q2_metric.serve.openapi import document
from q2_metric.serve.queue import LONGEST_ANSWER, MOST_ROWS, ScoreRows, ScoringQueue, row_of
from q2_metric.serve.server import MOST_BYTES, Guard, Server, body, check_type
from q2_metric.types import Example, Judgement, Metric, Score

MOST_WAIT = 120.0
"""Seconds in which a request is scored."""

MOST_STREAMS = 16
"""At the same time."""

LONGEST_PAUSE = 120.0
"""Seconds between two pieces of a response."""

MEDIA_TYPE = "application/x-ndjson"
_Lines = AsyncIterator[tuple[int, object]]

_BUCKETS = {f'q2_request_seconds_bucket{{le="{most}"}}': float(most) for most in (
    0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, "+Inf")}
"""The seconds that a request in a bucket took at most."""

_METRICS = (
    ("q2_requests_total", "counter", "POST requests, by HTTP status."),
    ("q2_rows_total", "counter", "Rows of answered requests, by result."),
    ("q2_rows_waiting", "gauge", "Rows in the queue."),
    ("q2_request_seconds", "histogram", "Duration of POST requests."),
    ("q2_batch_rows", "summary", "Rows that were scored together."),
)

_LOG = logging.getLogger(__name__)


class Numbers:
    """What ``GET /v1/metrics`` reports: samples, in the text format of Prometheus."""

    def __init__(self) -> None:
        self.samples: defaultdict[str, float] = defaultdict(int, dict.fromkeys((
            'q2_rows_total{result="scored"}', 'q2_rows_total{result="error"}', *_BUCKETS,
            "q2_request_seconds_sum", "q2_request_seconds_count"), 0))

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """Counts each POST request."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            async def seen(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self.samples[f'q2_requests_total{{status="{message["status"]}"}}'] += 1
                await send(message)

            if scope["type"] != "http" or scope["method"] != "POST":
                return await app(scope, receive, send)
            started = time.perf_counter()
            try:
                await app(scope, receive, seen)
            finally:
                took = time.perf_counter() - started
                for bucket, most in _BUCKETS.items():
                    self.samples[bucket] += took <= most
                self.samples["q2_request_seconds_sum"] += took
                self.samples["q2_request_seconds_count"] += 1

        return counted

    def text(self, queue: ScoringQueue) -> str:
        rows = sum(size * times for size, times in enumerate(queue.sizes))
        now = {**self.samples, "q2_rows_waiting": queue.waiting, "q2_batch_rows_sum": rows,
               "q2_batch_rows_count": sum(queue.sizes)}
        lines = []
        for name, kind, words in _METRICS:
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
            lines += [f"{one} {value}" for one, value in now.items() if one.startswith(name)]
        return "\n".join(lines) + "\n"


class Api:
    """The routes. ``key`` is the API key; "" lets every request in that :class:`Guard` lets in,
    which needs the ``server``. ``streams`` counts the open streams."""

    def __init__(self, metrics: Sequence[Metric], server: Server | None, key: str) -> None:
        self.layout = Layout([metric.name for metric in metrics])
        self.signatures = signatures({metric.name: metric.signature for metric in metrics})
        self.queue, self.numbers = ScoringQueue(metrics), Numbers()
        self.streams = 0
        self.server, self.key = server, key

    def app(self) -> Starlette:
        assert self.key or self.server
        guard = Middleware(Guard, check=self.server.check if self.server and not self.key
                           else partial(_check_key, self.key.encode()))
        described = JSONResponse(document(self.layout, __version__))
        return Starlette(
            routes=[
                Route("/v1/health", self.health),
                Route("/openapi.json", described, methods=["GET"]),
                Mount("/v1", middleware=[guard], routes=[
                    self._post("/score", self._results),
                    Route("/stream", self.stream, methods=["POST"]),
                    Route("/metrics", self.metrics),
                    self._post("/chat/completions", detection),
                ]),
                Mount("/beta", middleware=[guard], routes=[
                    self._post("/litellm_basic_guardrail_api", decision)]),
            ],
            middleware=[Middleware(self.numbers.middleware)],
            exception_handlers={HTTPException: _refused},
            lifespan=lambda _app: self.queue.open())

    async def health(self, _request: Request) -> Response:
        status, code = ("ok", 200) if self.queue.alive else ("broken", 503)
        return JSONResponse({"status": status, "version": __version__}, code)

    async def metrics(self, _request: Request) -> Response:
        return PlainTextResponse(self.numbers.text(self.queue),
                                 media_type="text/plain; version=0.0.4")

    async def stream(self, request: Request) -> StreamingResponse:
        """Server-sent events: ``claim`` for each claim, then ``score``, or ``error``. HTTPException
        if the metrics lack groundedness, or the first line of the body is no row."""
        metric = next((one for one in self.queue.metrics if isinstance(one, Groundedness)), None)
        if metric is None:
            raise HTTPException(400, "Streams need the metric groundedness: start the server with "
                                "--metrics groundedness.")
        check_type(request, MEDIA_TYPE, f"lines of JSON, with Content-Type: {MEDIA_TYPE}")
        if self.streams >= MOST_STREAMS:
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
            self._events(metric.stream(example), lines), media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def _events(self, stream: Stream, lines: _Lines) -> AsyncIterator[str]:
        length = 0
        self.streams += 1
        try:
            async for number, line in lines:
                text = line.get("text") if isinstance(line, Mapping) else None
                if not isinstance(text, str):
                    raise InputError(f'line {number} is not an object such as {{"text": "…"}}')
                length += len(text)
                if length > LONGEST_ANSWER:
                    raise InputError(f"line {number}: the response has more than "
                                     f"{LONGEST_ANSWER:,} characters")
                for claim in _claims(stream, await self.queue.call(stream.add, text)):
                    yield _event("claim", claim)
            for claim in _claims(stream, await self.queue.call(stream.end)):
                yield _event("claim", claim)
            assert stream.score is not None
            row = output_row(0, stream.example, {GATED: stream.score}, [GATED])
            yield _event("score", {key: row[key] for key in (GATED, "reason", "parts", "claims")})
        except ClientDisconnect:
            pass
        except Exception as error:  # the server continues
            yield _event("error", {"error": _words(error)})
        finally:
            self.streams -= 1

    async def _results(self, given: Any, score: ScoreRows) -> dict[str, Any]:
        return {"results": await score(given_rows(given)), "signatures": self.signatures}

    def _post(
        self, path: str, made: Callable[[Any, ScoreRows], Coroutine[Any, Any, Any]]
    ) -> Route:
        """A route for which ``made`` makes the reply from the body and a scorer."""
        async def reply(request: Request) -> Response:
            work = made(await _given(request), self._scored)
            return JSONResponse(await self._unless_gone(request, work))

        return Route(path, reply, methods=["POST"])

    async def _scored(self, rows: Sequence[Row]) -> list[OutputRow]:
        """The output rows; those of bad rows have only an error."""
        good = [row for row in rows if isinstance(row, Example)]
        found = iter(await self.queue.score(good))
        results = []
        for place, row in enumerate(rows):
            scored = next(found) if isinstance(row, Example) else None
            result = output_row(place, row, scored.scores if scored else {}, self.layout)
            if scored is not None and scored.error is not None:
                result["error"] = f"rows[{place}]: {scored.error}"
            results.append(result)
            kind = "scored" if result["error"] is None else "error"
            self.numbers.samples[f'q2_rows_total{{result="{kind}"}}'] += 1
        return results

    async def _unless_gone(self, request: Request, work: Coroutine[Any, Any, Any]) -> Any:
        """What ``work`` returns. It is cancelled if the client disconnects or waits too long."""
        task, gone = asyncio.create_task(work), asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait({task, gone}, timeout=MOST_WAIT, return_when="FIRST_COMPLETED")
            if task.done():
                return task.result()
            if gone.done():
                raise HTTPException(499, "The client has disconnected.")
            raise HTTPException(503, f"The rows were not scored within {MOST_WAIT:g} seconds. Send "
                                "fewer or shorter rows.", headers={"Retry-After": "30"})
        except HTTPException:
            raise
        except Exception as error:  # no row is the cause; the server continues
            why = _words(error)
            _LOG.error("the rows could not be scored: %s", " ".join(why.split()))
            raise HTTPException(500, f"The rows could not be scored: {why}") from error
        finally:
            task.cancel()
            gone.cancel()


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, Q2Error) else machine_fault(error) or repr(error)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def _check_key(key: bytes, headers: Headers) -> None:
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        given = headers.get("x-api-key", "")
    if not hmac.compare_digest(given.strip().encode("latin-1"), key):
        raise HTTPException(401, "The request needs the header Authorization: Bearer KEY (or "
                            "X-API-Key: KEY), with the server's API key.",
                            headers={"WWW-Authenticate": "Bearer"})


def given_rows(given: Any) -> list[Row]:
    """The rows of a request's body: one object, or ``{"rows": [...]}``. HTTPException if it is
    neither. A row that cannot be scored is a BadRow."""
    rows = given.get("rows", [given]) if isinstance(given, dict) else None
    if rows is not None and "rows" in given and (other := sorted(given.keys() - {"rows"})):
        raise HTTPException(400, f"The body has {', '.join(map(repr, other))} beside \"rows\". "
                            "Choose metrics and settings when you start the server.")
    if not isinstance(rows, list) or not rows:
        raise HTTPException(400, 'The body must be a row, such as {"response": "…", "knowledge": '
                            '"…"}, or {"rows": [row, …]}.')
    if len(rows) > MOST_ROWS:
        raise HTTPException(413, f"The request has {len(rows):,} rows; it may have at most "
                            f"{MOST_ROWS}. Send several requests.")
    return [row_of(f"rows[{place}]", row, place=place) for place, row in enumerate(rows)]


async def _given(request: Request) -> Any:
    text = await body(request)
    check_type(request, "application/json", "JSON, with Content-Type: application/json")
    try:
        return parse_json(text.decode())
    except RecursionError:
        raise HTTPException(400, "The body is nested too deeply.") from None
    except ValueError as error:
        raise HTTPException(400, f"The body is not JSON in UTF-8: {error}") from error


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


def _claims(stream: Stream, judged: Sequence[Judgement]) -> list[dict[str, Any]]:
    return claims(stream.example, {"scale": Score(stream.example, None, tuple(judged))})


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
