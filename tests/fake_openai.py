"""A small server with OpenAI's chat route, and with faults."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]
Fault = Callable[["Handler"], None]


def status(code: int, text: str = "no", **headers: str) -> Fault:
    return lambda handler: handler.reply(code, text.encode(), headers)


def text(body: str) -> Fault:
    return lambda handler: handler.reply(200, body.encode(), {})


def hangs(handler: Handler) -> None:
    time.sleep(3)


def drops(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.close()


class FakeServer(ThreadingHTTPServer):
    """``answer`` gets a prompt and returns a text, or probabilities of tokens. The next ``faults``
    happen instead, one for each request."""

    daemon_threads = True

    def __init__(self, answer: Callable[[str], str | dict[str, float]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.keys: list[str | None] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.model = f"openai:tiny@{self.url}"

    def handle_error(self, *_: Any) -> None:
        pass


class Handler(BaseHTTPRequestHandler):
    server: FakeServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests.append(body)
            server.keys.append(self.headers["Authorization"])
            fault = server.faults.pop(0) if server.faults else None
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        time.sleep(0.01)
        with server.lock:
            server.at_once -= 1
        if self.path != "/v1/chat/completions":
            self.reply(404, b"no such route", {})
        elif fault is not None:
            fault(self)
        else:
            answer = server.answer(body["messages"][-1]["content"])
            self.reply(200, json.dumps(completion(body, answer)).encode(), {})

    def reply(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def completion(request: Request, answer: str | dict[str, float]) -> dict[str, Any]:
    if isinstance(answer, str):
        answer = {answer: 1.0}
    said = max(answer, key=lambda token: answer[token])
    top = [{"token": token, "logprob": math.log(chance)} for token, chance in answer.items()]
    wanted = request.get("logprobs")
    return {
        "model": request["model"], "usage": {"prompt_tokens": 50, "completion_tokens": 1},
        "choices": [{
            "message": {"role": "assistant", "content": said},
            "logprobs": {"content": [{"token": said, "logprob": 0.0, "top_logprobs": top}]}
            if wanted else None}],
    }


@contextmanager
def serving(answer: Callable[[str], str | dict[str, float]]) -> Iterator[FakeServer]:
    with FakeServer(answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
