"""What ``GET /v1/metrics`` reports, in the text format of Prometheus."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from q2_metric.serve.queue import ScoringQueue

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_ROWS = (1, 2, 4, 8, 16, 32)


class Numbers:
    """Counts requests (by status), rows (by result), and how long requests took."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.rows = Counter({"scored": 0, "error": 0})
        self.times = [0] * (len(_SECONDS) + 1)
        self.seconds = 0.0

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """Counts each POST request."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            async def seen(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self.requests[message["status"]] += 1
                await send(message)

            if scope["type"] != "http" or scope["method"] != "POST":
                return await app(scope, receive, send)
            started = time.perf_counter()
            try:
                await app(scope, receive, seen)
            finally:
                took = time.perf_counter() - started
                self.times[bisect_left(_SECONDS, took)] += 1
                self.seconds += took

        return counted

    def text(self, queue: ScoringQueue) -> str:
        sizes = [sum(queue.sizes[low + 1:high + 1])
                 for low, high in zip((0, *_ROWS), _ROWS, strict=False)]
        total = sum(rows * times for rows, times in enumerate(queue.sizes))
        lines = [
            *_head("q2_requests_total", "counter", "POST requests, by HTTP status."),
            *(f'q2_requests_total{{status="{status}"}} {count}'
              for status, count in sorted(self.requests.items())),
            *_head("q2_rows_total", "counter", "Rows of answered requests, by result."),
            *(f'q2_rows_total{{result="{result}"}} {count}' for result, count in self.rows.items()),
            *_head("q2_rows_waiting", "gauge", "Rows in the queue."),
            f"q2_rows_waiting {queue.waiting}",
            *_histogram("q2_request_seconds", "Duration of POST requests.", _SECONDS, self.times,
                        self.seconds),
            *_histogram("q2_batch_rows", "Rows that were scored together.", _ROWS, [*sizes, 0],
                        total),
        ]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"


def _histogram(name: str, words: str, bounds: Sequence[float], counts: Sequence[int],
               total: float) -> Iterator[str]:
    """``counts`` has one item more than ``bounds``: what lies above them all."""
    yield from _head(name, "histogram", words)
    below = 0
    for bound, count in zip((*map(str, bounds), "+Inf"), counts, strict=True):
        below += count
        yield f'{name}_bucket{{le="{bound}"}} {below}'
    yield f"{name}_sum {total:g}"
    yield f"{name}_count {below}"
