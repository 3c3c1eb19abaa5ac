"""What ``GET /v1/metrics`` reports, in the text format of Prometheus."""

import time
from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from q2_metric.serve.queue import ScoringQueue

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Numbers:
    """Counts requests (by status), rows (by result), and how long requests took."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.rows = Counter({"scored": 0, "error": 0})
        self.replies, self.seconds = 0, 0.0
        self.within = dict.fromkeys(_SECONDS, 0)

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
                self.replies += 1
                took = time.perf_counter() - started
                self.seconds += took
                for most in _SECONDS:
                    self.within[most] += took <= most

        return counted

    def text(self, queue: ScoringQueue) -> str:
        rows = sum(size * times for size, times in enumerate(queue.sizes))
        lines = [
            *_head("q2_requests_total", "counter", "POST requests, by HTTP status."),
            *(f'q2_requests_total{{status="{status}"}} {count}'
              for status, count in sorted(self.requests.items())),
            *_head("q2_rows_total", "counter", "Rows of answered requests, by result."),
            *(f'q2_rows_total{{result="{result}"}} {count}' for result, count in self.rows.items()),
            *_head("q2_rows_waiting", "gauge", "Rows in the queue."),
            f"q2_rows_waiting {queue.waiting}",
            *_head("q2_request_seconds", "histogram", "Duration of POST requests."),
            *(f'q2_request_seconds_bucket{{le="{most}"}} {count}'
              for most, count in self.within.items()),
            f'q2_request_seconds_bucket{{le="+Inf"}} {self.replies}',
            f"q2_request_seconds_sum {self.seconds:g}", f"q2_request_seconds_count {self.replies}",
            *_head("q2_batch_rows", "summary", "Rows that were scored together."),
            f"q2_batch_rows_sum {rows}", f"q2_batch_rows_count {sum(queue.sizes)}",
        ]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"
