"""``POST /v1/stream``: events arrive while the request is still being sent."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any

import pytest
from test_api import ask

from q2_metric import scoring
from q2_metric.serve import api
from q2_metric.serve.api import Api
from q2_metric.serve.server import Server

ROW = {"contexts": ["The tower opened in 1889.", "Tickets cost 20 euros."]}
NDJSON = {"Content-Type": "application/x-ndjson"}


@contextmanager
def running(metrics: str) -> Iterator[int]:
    with closing(Server("127.0.0.1", 0)) as server:
        thread = Thread(target=server.run, args=(
            Api(scoring.load(metrics, {}), server, "").app(),))
        thread.start()
        try:
            while ask(server.address[1], "GET", "/v1/health")[0] != 200:
                time.sleep(0.05)
            yield server.address[1]
        finally:
            server.running.should_exit = True
            thread.join(60)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running("groundedness") as found:
        yield found


def about(wanted: Any) -> Any:
    """What equals values that differ from these only in their last digits."""
    return json.loads(json.dumps(wanted), parse_float=lambda digits: pytest.approx(float(digits)))


class Streaming:
    """A client that sends lines and reads events in turns."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.sendall(
            f"POST /v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n"
            "Content-Type: application/x-ndjson\r\n\r\n".encode())
        self.file = self.socket.makefile("rb")

    def send(self, value: Any) -> None:
        line = json.dumps(value).encode() + b"\n"
        self.socket.sendall(b"%x\r\n%s\r\n" % (len(line), line))

    def end(self) -> None:
        self.socket.sendall(b"0\r\n\r\n")

    def event(self) -> tuple[str, Any]:
        while not (line := self.file.readline()).startswith(b"event: "):
            assert line
        return line[7:].decode().strip(), json.loads(self.file.readline()[6:])


def events(reply: str) -> list[tuple[str, Any]]:
    parts = [part.split("\n") for part in reply.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
            for name, data in parts]


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def test_claims_come_before_the_response_is_complete(port: int) -> None:
    with closing((client := Streaming(port)).socket):
        client.send(ROW)
        for word in "It opened in 1889 [1]. Tickets for the tower cost exactly 35 euros":
            client.send({"text": word})
        name, claim = client.event()  # while the response is not complete
        assert (name, claim["text"], claim["verdict"]) == (
            "claim", "It opened in 1889.", "supported")
        assert (claim["passage_number"], claim["citation"]) == (1, "right")
        client.send({"text": " [2]."})
        client.end()
        name, claim = client.event()
        assert (name, claim["verdict"], claim["start"]) == ("claim", "contradicted", 23)
        name, score = client.event()
        assert name == "score"
        assert 0 < score["groundedness"] < 0.5
        assert [one["verdict"] for one in score["claims"]] == ["supported", "contradicted"]


def test_the_score_is_that_of_the_whole_response(port: int) -> None:
    text = "It opened in 1889. Tickets cost 20 euros."
    _, reply, headers = ask(port, "POST", "/v1/stream", lines(ROW, {"text": text}), NDJSON)
    assert headers.get_content_type() == "text/event-stream"
    _, whole, _ = ask(port, "POST", "/v1/score", {**ROW, "response": text})
    found = dict(events(reply))["score"]
    [wanted] = whole["results"]
    # In float32, the last bit of a score depends on the batch.
    assert found == about({name: wanted[name]
                           for name in ("groundedness", "reason", "parts", "claims")})


@pytest.mark.parametrize(("body", "words"), [
    (b"", "empty"), (b"{", "line 1 is not JSON"), (b"[]\n", "line 1: is not an object"),
    (lines({"question": "x"}), "line 1: no column looks like the knowledge"),
    (lines({"knowledge": 3}), "line 1: the knowledge"),
])
def test_a_wrong_beginning(port: int, body: bytes, words: str) -> None:
    status, answer, _ = ask(port, "POST", "/v1/stream", body, NDJSON)
    assert (status, words in answer["error"]) == (400, True), answer


@pytest.mark.parametrize(("line", "words"), [
    (b"{\n", "line 3 is not JSON"), (b"3\n", "line 3 is not an object such as"),
    (b'{"text": 3}\n', "line 3 is not an object such as"),
    (lines({"text": "x" * 20_001}), "line 3: the response has more than 20,000"),
])
def test_a_wrong_line_ends_the_stream(port: int, line: bytes, words: str) -> None:
    body = lines(ROW, {"text": "It opened in 1889. Tickets for the tower cost, I think, "}) + line
    status, reply, _ = ask(port, "POST", "/v1/stream", body, NDJSON)
    (first, _), (last, error) = events(reply)
    assert (status, first, last) == (200, "claim", "error")
    assert words in error["error"]
    assert ask(port, "POST", "/v1/stream", lines(ROW), NDJSON)[0] == 200


def test_streams_are_bounded(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "MOST_STREAMS", 1)
    monkeypatch.setattr(api, "LONGEST_PAUSE", 0.5)
    with closing((client := Streaming(port)).socket):
        client.send(ROW)
        client.send({"text": "It opened in 1889. Tickets for the tower cost, I think, "})
        assert client.event()[0] == "claim"
        status, _, headers = ask(port, "POST", "/v1/stream", lines(ROW), NDJSON)
        assert (status, headers["Retry-After"]) == (429, "5")
        name, error = client.event()  # nothing more is sent
        assert (name, error) == ("error", {"error": "no text arrived for 0.5 seconds"})
    assert ask(port, "POST", "/v1/stream", lines(ROW), NDJSON)[0] == 200


def test_a_client_that_leaves_frees_its_place(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "MOST_STREAMS", 1)
    with closing((client := Streaming(port)).socket):
        client.send(ROW)
        client.send({"text": "It opened in 1889. Tickets for the tower cost, I think, "})
        client.event()
        client.file.close()
    for _ in range(200):
        if ask(port, "POST", "/v1/stream", lines(ROW), NDJSON)[0] == 200:
            return
        time.sleep(0.02)
    raise AssertionError("the place is still taken")


def test_what_cannot_stream() -> None:
    with running("knowledge_f1") as port:
        status, answer, _ = ask(port, "POST", "/v1/stream", lines(ROW), NDJSON)
        assert (status, "--metrics groundedness" in answer["error"]) == (400, True)


def test_the_media_type(port: int) -> None:
    assert ask(port, "POST", "/v1/stream", lines(ROW))[0] == 415
