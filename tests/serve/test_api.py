"""``q2 serve --api`` as programs meet it: real requests to a real server."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import jsonschema
import pytest
import yaml

from q2_metric import Example, Score
from q2_metric.errors import MachineFault
from q2_metric.serve import api, queue
from q2_metric.serve.queue import Scored, ScoringQueue
from q2_metric.serve.server import MOST_BYTES, Server

ROW = {"response": "It opened in 1889.", "knowledge": "The tower opened in 1889."}
JSON = {"Content-Type": "application/json"}


def ask(port: int, method: str, path: str, body: Any = None,
        headers: dict[str, str] | None = None) -> tuple[int, Any, http.client.HTTPMessage]:
    """Status, JSON (or text) and headers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        text = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, text, {**(JSON if body is not None else {}),
                                                **(headers or {})})
        answer = connection.getresponse()
        read = answer.read().decode()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(read) if is_json else read, answer.headers
    finally:
        connection.close()


class Held:
    """A metric that waits until it may go on. It fails on responses that say how."""

    name, signature = "held", "held|v1"

    def __init__(self) -> None:
        self.go, self.asked = Event(), list[list[str]]()
        self.go.set()

    def score(self, examples: Sequence[Example]) -> list[Score]:
        self.asked.append([example.response for example in examples])
        assert self.go.wait(60)
        said = " ".join(example.response for example in examples)
        if "breaks" in said:
            raise ValueError("this response breaks the model")
        if "memory" in said:
            raise MachineFault("out of memory; free some")
        return [Score(example, len(example.response) / 1000) for example in examples]


def text(number: int) -> dict[str, str]:
    return {"response": f"The tower has {number} steps.", "knowledge": "The tower has 7 steps."}


@contextmanager
def serving(metric: Any, key: str = "") -> Iterator[int]:
    with closing(Server("127.0.0.1", 0)) as server:
        thread = Thread(target=server.run, args=(api.Api([metric], server, key).app(),))
        thread.start()
        try:
            for _ in range(100):
                if ask(server.address[1], "GET", "/v1/health")[0] == 200:
                    break
            yield server.address[1]
        finally:
            metric.go.set()
            server.running.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def held() -> Iterator[tuple[Held, int]]:
    metric = Held()
    with serving(metric) as port:
        yield metric, port


@contextmanager
def command(folder: Path, *options: str, **variables: str) -> Iterator[tuple[Any, int]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "q2_metric", "serve", "--api", "--port", "0", *options], cwd=folder,
        text=True, stderr=subprocess.PIPE, env={**os.environ, **variables})
    assert process.stderr is not None
    try:
        said = ""
        while not (found := re.search(r"http://[\w.]+:(\d+)/v1/score", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with command(tmp_path_factory.mktemp("api"), "--metrics",
                 "groundedness,q2,scale") as (_, found):
        yield found


def checked(document: Any, schema: str, value: Any) -> None:
    """Checks a reply against the served description. Fields that it lacks are errors too."""
    def closed(item: Any) -> Any:
        if isinstance(item, list):
            return [closed(one) for one in item]
        if not isinstance(item, dict):
            return item
        whole = {name: closed(one) for name, one in item.items()}
        return whole | ({"additionalProperties": False} if "required" in whole else {})

    schemas = closed(document["components"]["schemas"])
    jsonschema.Draft202012Validator(
        {"$ref": f"#/components/schemas/{schema}", "components": {"schemas": schemas}},
    ).validate(value)


def test_rows_are_scored_as_in_files(port: int, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "answer": "It opened in 1901. Tickets cost 20 euros [2].", "question": "When?",
         "contexts": [{"page_content": "The tower opened in 1889.", "metadata": {"source": "w1"}},
                      "Tickets cost 20 euros."]},
        {"messages": [{"role": "tool", "content": "Rome is in Italy."},
                      {"role": "assistant", "content": "Rome is in Italy."}]},
        {"response": "lol", "knowledge": "Rome is in Italy.", "id": ""},
        {"response": " ", "knowledge": "Rome is in Italy."},
        {"response": "Rome is in Italy.", "knowledge": None},
    ]
    status, answer, _ = ask(port, "POST", "/v1/score", {"rows": rows})
    assert status == 200
    first, second, third, *blank = answer["results"]
    assert [first["id"], second["id"], third["id"]] == ["a", "2", "3"]
    assert [row["reason"] for row in blank] == ["empty", "no_knowledge"]
    assert [claim["verdict"] for claim in first["claims"]] == ["contradicted", "supported"]
    assert [claim["passage_id"] for claim in first["claims"]] == ["w1", None]
    assert second["groundedness"] > 0.5 > first["groundedness"]
    assert (third["groundedness"], third["reason"], third["error"]) == (None, "no_claim", None)
    assert set(answer["signatures"]) == {"groundedness", "q2", "q2_no_nli", "scale"}
    # A row of a file has the same fields and values.
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text(json.dumps(rows[0]) + "\n")
    subprocess.run([sys.executable, "-m", "q2_metric", "score", path, "--out", out, "--no-texts",
                    "--no-cache", "--dtype", "auto"], check=True, capture_output=True)
    written = json.loads(out.read_text())
    for name in ("groundedness", "q2", "scale"):
        assert first.pop(name) == pytest.approx(written.pop(name), abs=0.05)
    assert set(first) == set(written) - {"file"}
    assert [claim["text"] for claim in first["claims"]] == [
        claim["text"] for claim in written["claims"]]


def test_a_single_row_needs_no_list(port: int) -> None:
    status, answer, _ = ask(port, "POST", "/v1/score", ROW)
    assert (status, len(answer["results"])) == (200, 1)
    assert answer["results"][0]["groundedness"] > 0.5


def test_the_description_describes_the_replies(port: int) -> None:
    status, document, _ = ask(port, "GET", "/openapi.json")
    assert (status, document["openapi"]) == (200, "3.1.0")
    routes = [route for methods in document["paths"].values() for route in methods.values()]
    assert [route["operationId"] for route in routes] == [
        "score", "stream", "detect", "guard", "health", "metrics"]
    for route in routes[:4]:
        assert {"413", "422", "429"} < set(route["responses"])
        assert "Retry-After" in route["responses"]["429"]["description"]
    jsonschema.Draft202012Validator.check_schema({"$defs": document["components"]["schemas"]})
    rows = [ROW, {"response": "It opened in 1901.", "knowledge": ["It opened in 1889."]},
            {"response": "lol", "knowledge": "x"}, {"response": 3, "knowledge": "x"}]
    for body in ({"rows": rows}, ROW):
        checked(document, "Scores", ask(port, "POST", "/v1/score", body)[1])
    checked(document, "Health", ask(port, "GET", "/v1/health")[1])
    for body in (b"{", [], {"rows": []}):
        status, answer, _ = ask(port, "POST", "/v1/score", body)
        assert status == 400
        checked(document, "Error", answer)


@pytest.mark.parametrize(("row", "words"), [
    ({"response": 3, "knowledge": "x"},
     "rows[1]: the response (field 'response') is a number, not a string"),
    ({"response": "x"}, "rows[1]: no column looks like the knowledge; the columns are 'response'; "
     "name it with the name 'knowledge'"),
    ({"response": "x", "knowledge": {"a": 1}}, "rows[1]: the knowledge (field 'knowledge')"),
    ({"response": "x" * 20_001, "knowledge": "x"}, "rows[1]: the response has 20,001 characters"),
    ({"response": "x", "knowledge": "x" * 200_001}, "at most 200,000"),
    ({"response": "\ud800", "knowledge": "x"}, "rows[1]: the response (field 'response')"),
    ("a text", "rows[1]: is not an object"), (None, "rows[1]: is not an object"),
    ([], "rows[1]: is not an object"), ({}, "rows[1]: the response is missing"),
    ({"messages": [{"role": "tool", "content": 3}]}, "rows[1]: has a message whose content is"),
    ({"id": "", "response": [1], "knowledge": "x"}, "rows[1]: the response (field 'response')"),
])
def test_a_bad_row_does_not_harm_the_others(
    held: tuple[Held, int], row: Any, words: str
) -> None:
    status, answer, _ = ask(held[1], "POST", "/v1/score", {"rows": [text(1), row, text(2)]})
    assert status == 200
    before, bad, after = answer["results"]
    assert words in bad["error"]
    assert (bad["held"], bad["id"]) == (None, "2")
    assert (before["error"], after["error"]) == (None, None)
    assert before["held"] == after["held"] > 0


@pytest.mark.parametrize(("body", "headers", "status", "words"), [
    (b"{", JSON, 400, "not JSON"), (b"\xff", JSON, 400, "not JSON"),
    (b"[" * 100_000, JSON, 400, "nested too deeply"), (b'"text"', JSON, 400, "must be a row"),
    (json.dumps({"rows": [ROW], "metrics": ["q2"]}).encode(), JSON, 400, "'metrics' beside"),
    (b'{"rows": 3}', JSON, 400, "must be a row"), (b'{"rows": []}', JSON, 400, "must be a row"),
    (b"1" * 5_000, JSON, 400, "not JSON"),
    (b"{}", {"Content-Type": "text/plain"}, 415, "application/json"),
    (json.dumps({"rows": [ROW] * 65}).encode(), JSON, 413, "65 rows"),
    (b" " * (MOST_BYTES + 1), JSON, 413, "2,000,000 bytes"),
    (b"{}", {**JSON, "Host": "evil.example"}, 421, "another name"),
    (b"{}", {**JSON, "Origin": "https://evil.example"}, 403, "another site"),
])
def test_a_wrong_request_is_refused(
    held: tuple[Held, int], body: bytes, headers: dict[str, str], status: int, words: str
) -> None:
    found, answer, _ = ask(held[1], "POST", "/v1/score", body, headers)
    assert found == status
    assert words in answer["error"]
    assert ask(held[1], "POST", "/v1/score", text(1))[0] == 200


def test_other_paths_and_methods(held: tuple[Held, int]) -> None:
    assert ask(held[1], "GET", "/v1/score")[0] == 405
    assert ask(held[1], "GET", "/")[:2] == (404, {"error": "Not Found"})


def waiting(port: int) -> int:
    return int(number(ask(port, "GET", "/v1/metrics")[1], "q2_rows_waiting"))


def number(metrics: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} ([\d.e+-]+)$", metrics, re.M)
    assert found, metrics
    return float(found[1])


def until(condition: Any) -> None:
    for _ in range(500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def test_requests_that_arrive_together_are_scored_together(held: tuple[Held, int]) -> None:
    metric, port = held
    metric.go.clear()
    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(ask, port, "POST", "/v1/score", text(0))
        until(lambda: metric.asked)
        others = [pool.submit(ask, port, "POST", "/v1/score", text(one)) for one in range(1, 20)]
        until(lambda: waiting(port) == 19)
        metric.go.set()
        answers = [future.result() for future in (first, *others)]
    assert list(map(len, metric.asked)) == [1, 19]
    # Each client gets its own row back.
    assert [answer["results"][0]["held"] for _, answer, _ in answers] == [
        len(text(one)["response"]) / 1000 for one in range(20)]
    metrics = ask(port, "GET", "/v1/metrics")[1]
    assert number(metrics, 'q2_requests_total{status="200"}') == 20
    assert number(metrics, 'q2_rows_total{result="scored"}') == 20
    assert (number(metrics, "q2_batch_rows_sum"), number(metrics, "q2_batch_rows_count")) == (20, 2)
    assert number(metrics, "q2_request_seconds_count") == 20
    assert number(metrics, 'q2_request_seconds_bucket{le="0.05"}') <= number(
        metrics, 'q2_request_seconds_bucket{le="120"}') == 20
    assert number(metrics, 'q2_request_seconds_bucket{le="+Inf"}') == 20


def test_a_full_queue_says_so(held: tuple[Held, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MOST_WAITING", 5)
    metric, port = held
    metric.go.clear()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(ask, port, "POST", "/v1/score", text(0))
        until(lambda: metric.asked)
        second = pool.submit(ask, port, "POST", "/v1/score", {"rows": [text(1)] * 5})
        until(lambda: waiting(port) == 5)
        status, answer, headers = ask(port, "POST", "/v1/score", text(2))
        assert (status, headers["Retry-After"]) == (429, "1")
        assert "Too many rows" in answer["error"]
        assert ask(port, "GET", "/v1/health")[0] == 200
        metric.go.set()
        assert [future.result()[0] for future in (first, second)] == [200, 200]


def test_rows_of_a_client_that_left_are_not_scored(held: tuple[Held, int]) -> None:
    metric, port = held
    metric.go.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, port, "POST", "/v1/score", text(0))
        until(lambda: metric.asked)
        gone = socket.create_connection(("127.0.0.1", port))
        body = json.dumps({"rows": [text(1), text(2)]})
        gone.sendall(f"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: "
                     f"application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        until(lambda: waiting(port) == 2)
        gone.close()
        until(lambda: waiting(port) == 0)
        metric.go.set()
        assert first.result()[0] == 200
    assert list(map(len, metric.asked)) == [1]


def test_what_takes_too_long_is_given_up(
    held: tuple[Held, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "MOST_WAIT", 0.3)
    held[0].go.clear()
    status, answer, headers = ask(held[1], "POST", "/v1/score", text(0))
    assert (status, "0.3 seconds" in answer["error"]) == (503, True)
    assert headers["Retry-After"]


def test_a_row_that_breaks_a_metric(held: tuple[Held, int]) -> None:
    """Also if all rows of eight clients break it, each gets an answer of its own."""
    _, port = held
    breaks = [{"response": f"Tower {one} breaks it.", "knowledge": "x"} for one in range(10)]
    _, answer, _ = ask(port, "POST", "/v1/score", {"rows": [text(1), breaks[0]]})
    assert [row["error"] for row in answer["results"]] == [
        None, "rows[1]: held: ValueError: this response breaks the model"]
    _, answer, _ = ask(port, "POST", "/v1/score", {"rows": breaks})
    assert all("breaks the model" in row["error"] for row in answer["results"])
    metrics = ask(port, "GET", "/v1/metrics")[1]
    assert number(metrics, 'q2_rows_total{result="error"}') == 11
    assert number(metrics, 'q2_rows_total{result="scored"}') == 1


def test_a_fault_of_the_machine_is_no_rows_fault(held: tuple[Held, int]) -> None:
    status, answer, _ = ask(held[1], "POST", "/v1/score",
                            {"response": "It needs memory.", "knowledge": "x"})
    assert (status, "out of memory" in answer["error"]) == (500, True)
    assert ask(held[1], "POST", "/v1/score", text(1))[0] == 200


def test_a_key_is_asked_for() -> None:
    with serving(Held(), key="sesame ß") as port:
        assert ask(port, "GET", "/v1/health")[0] == 200
        for given in ({}, {"Authorization": "Bearer other"}, {"Authorization": "sesame"}):
            status, answer, headers = ask(port, "POST", "/v1/score", text(1), given)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert "sesame" not in json.dumps(answer)
            assert ask(port, "GET", "/v1/metrics", headers=given)[0] == 401
        # A key cannot be guessed by a page, so any name leads here (as in a compose file).
        right = {"Authorization": "Bearer sesame ß".encode().decode("latin-1"), "Host": "q2:8765"}
        assert ask(port, "POST", "/v1/score", text(1), right)[0] == 200


def test_it_ends_gracefully(tmp_path: Path) -> None:
    """A request that is being scored gets its reply; then the process ends."""
    with command(tmp_path, Q2_API_KEY="k") as (process, port):
        rows = [{"response": f"It opened in {year}.", "knowledge": "It opened in 1889."}
                for year in range(1800, 1840)]
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask, port, "POST", "/v1/score", {"rows": rows},
                                {"Authorization": "Bearer k"})
            until(lambda: number(ask(port, "GET", "/v1/metrics", headers={
                "Authorization": "Bearer k"})[1], "q2_batch_rows_count") > 0)
            process.send_signal(signal.SIGTERM)
            status, answer, headers = asked.result()
        assert (status, len(answer["results"])) == (200, 40)
        assert headers["Connection"] == "close"
        assert process.wait(60) in (0, -signal.SIGTERM)
        assert process.stderr.read() == ""
        with pytest.raises(OSError, match="refused"):
            ask(port, "GET", "/v1/health")


def test_who_listens_outside_without_a_key_is_warned(tmp_path: Path) -> None:
    for key, words in (("", "set Q2_API_KEY"), ("k", "the API is at http://0.0.0.0:")):
        process = subprocess.Popen(
            [sys.executable, "-m", "q2_metric", "serve", "--api", "--host", "0.0.0.0", "--port",
             "0", "--metrics", "knowledge_f1"], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "Q2_API_KEY": key})
        assert process.stderr is not None
        line = process.stderr.readline()
        process.kill()
        process.communicate()
        assert words in line
        assert ("no password" in line) is (key == "")


def test_rows_in_a_batch_score_as_alone() -> None:
    from q2_metric import scoring

    waiting_rows = ScoringQueue(scoring.load("groundedness", {}))
    rows = [Example(f"The tower opened in {year}.", "It opened in 1889 in Paris.")
            for year in range(1886, 1892)]

    async def scored() -> list[list[Scored]]:
        async with waiting_rows.open():
            return await asyncio.gather(*(waiting_rows.score([row]) for row in rows))

    together = [one.scores["groundedness"] for [one] in asyncio.run(scored())]
    assert max(size for size, times in enumerate(waiting_rows.sizes) if times) == 6
    for row, score in zip(rows, together, strict=True):
        [alone] = waiting_rows.metrics[0].score([row], evidence=True)  # type: ignore[call-arg]
        assert score.value == pytest.approx(alone.value, abs=1e-4)


def test_the_container_runs_the_command_as_nobody_and_checks_its_health(port: int) -> None:
    root = Path(__file__).resolve().parents[2]
    lines = (root / "Dockerfile").read_text().replace("\\\n", "")
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", lines, re.M)
    assert all((root / name).exists() for line in copied for name in line.split())
    ignored = (root / ".dockerignore").read_text().splitlines()
    assert {f"!{name}" for line in copied for name in line.split()} <= set(ignored)
    assert re.search(r"^USER q2$", lines, re.M)
    entry = json.loads(re.search(r"^ENTRYPOINT (.+)$", lines, re.M)[1])
    assert entry[:3] == ["q2", "serve", "--api"]
    subprocess.run([sys.executable, "-m", "q2_metric", *entry[1:], "--help"], check=True,
                   capture_output=True)
    check = json.loads(re.search(r"^HEALTHCHECK .*CMD (.+)$", lines, re.M)[1])
    for where, code in ((f":{port}/", 0), (":1/", 1)):
        done = subprocess.run([sys.executable, "-c", check[2].replace(":8765/", where)],
                              capture_output=True)
        assert done.returncode == code
    service = yaml.safe_load((root / "compose.yaml").read_text())["services"]["q2"]
    assert service["ports"] == ["127.0.0.1:8765:8765"]
    assert "Q2_API_KEY" in service["environment"]
