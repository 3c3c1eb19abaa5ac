"""``q2 serve`` as a browser and a hostile page meet it: real requests to the real command."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode

import pytest
from browsers import chromium
from starlette.applications import Starlette

from q2_metric.serve import server
from q2_metric.serve.page import page
from q2_metric.serve.server import MOST_BYTES, Server

SOURCES = ("The tower opened in 1889.\nIt is 330 metres tall. <img src=x onerror=alert(1)>\n"
           "Tickets cost 20 euros.")
ANSWER = "It opened in 1889.</script><script>alert(1)</script> Tickets cost 35 euros."
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Served:
    """The command as it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "q2_metric", "serve", "--port", "0"], cwd=folder, text=True,
            stderr=subprocess.PIPE,
            # A process that was started in the background of a shell ignores Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            env={**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"),
                 "Q2_NO_REGISTER": "1"})
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line + self.process.stderr.read()
        self.url, self.port = found[0], int(found[1])

    def ask(
        self, method: str, path: str, body: str | bytes | None = None,
        headers: Mapping[str, str] = {},
    ) -> tuple[int, str, http.client.HTTPMessage]:
        """Status, text and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        finally:
            connection.close()

    def judge(self, **fields: str) -> tuple[int, str, http.client.HTTPMessage]:
        return self.ask("POST", "/explanation", urlencode(fields), FORM)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("serve"))
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()


def test_a_start_that_cannot_be_announced_is_no_fault_of_the_application(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """uvicorn would log a traceback, and end by itself."""
    def announce() -> None:
        raise BrokenPipeError

    with closing(Server("127.0.0.1", 0)) as found, pytest.raises(BrokenPipeError):
        found.run(Starlette(), announce)
    assert not caplog.records


def test_the_form_and_an_explanation(served: Served) -> None:
    status, page, headers = served.ask("GET", "/")
    assert status == 200
    assert 'name="sources"' in page
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    status, page, headers = served.judge(answer=ANSWER, sources=SOURCES, question="When?")
    assert status == 200
    assert "Tickets cost 35 euros." in page
    assert "When?" in page
    assert "|preset:bundled|" in re.sub("<wbr>", "", page)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert served.ask("HEAD", "/")[1] == ""


def test_texts_are_no_markup(served: Served) -> None:
    _, page, _ = served.judge(answer=ANSWER, sources=SOURCES)
    assert "<script>alert" not in page
    assert "<img" not in page
    long = f"<b>{'x' * 30_000}"
    status, page, _ = served.judge(answer=long, sources=SOURCES)
    assert (status, "30,003 characters" in page, "<b>" in page) == (400, True, False)


@pytest.mark.parametrize(("fields", "words"), [
    ({"answer": " ", "sources": SOURCES}, "“answer” is empty"),
    ({"answer": ANSWER}, "“sources” is empty"),
    ({"answer": ANSWER, "sources": "x" * 200_001}, "at most 200,000"),
    ({"answer": ANSWER, "sources": SOURCES, "question": "x" * 20_001}, "at most 20,000"),
])
def test_what_is_wrong_is_said(served: Served, fields: dict[str, str], words: str) -> None:
    status, page, _ = served.judge(**fields)
    assert status == 400
    assert words in page


def test_an_answer_that_claims_nothing_is_explained(served: Served) -> None:
    status, page, _ = served.judge(answer="lol", sources=SOURCES)
    assert status == 200
    assert "claims nothing" in page


@pytest.mark.parametrize("name", [
    "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "user@127.0.0.1", "",
    "127.0.0.1:1", "a b", "[::1"])
def test_another_name_is_refused(served: Served, name: str) -> None:
    """A page of evil.example whose name leads here must read nothing (DNS rebinding)."""
    host = name if ":1" in name else f"{name}:{served.port}"
    for method, path in (("GET", "/"), ("POST", "/explanation")):
        status, page, _ = served.ask(method, path, "answer=a&sources=b" * (method == "POST"),
                                     {**FORM, "Host": host})
        assert status == 421
        assert "another name" in page


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]", "192.0.2.7"])
def test_its_own_names_and_addresses_are_not(served: Served, name: str) -> None:
    assert served.ask("GET", "/", headers={"Host": f"{name}:{served.port}"})[0] == 200


def test_a_paragraph_or_a_table_is_one_passage(served: Served) -> None:
    """A citation names passages as the reader counts them, not lines of a table."""
    table = "| model | RAM |\r\n|---|---|\r\n| Aero 13 | 16 GB |\r\n| Forge 16 | 64 GB |"
    answer = "The Forge 16 has 64 GB [1]. Engineers may choose either model [2]."
    _, page, _ = served.judge(
        sources=f"{table}\r\n\r\nEngineers may choose\r\neither model.", answer=answer)
    assert re.findall(r'"citation":"([^"]+)"', page) == ["right", "right"]
    assert re.findall(r'"passage_number":(\d+)', page) == ["1", "2"]


def test_a_form_of_another_site_is_refused(served: Served) -> None:
    body = urlencode({"answer": ANSWER, "sources": SOURCES})
    for origin in ("https://evil.example", "null", f"http://localhost:{served.port}"):
        status, _, _ = served.ask("POST", "/explanation", body, {**FORM, "Origin": origin})
        assert status == 403
    own = served.url.rstrip("/")
    assert served.ask("POST", "/explanation", body, {**FORM, "Origin": own})[0] == 200


def test_requests_are_bounded(served: Served) -> None:
    status, page, _ = served.ask("POST", "/explanation", b"a" * (MOST_BYTES + 1), FORM)
    assert (status, "2,000,000 bytes" in page) == (413, True)
    # The longest texts that are taken, in characters of nine bytes each, get through.
    status, page, _ = served.judge(answer="猫" * 20_001, sources="猫" * 200_000)
    assert (status, "20,001 characters" in page) == (400, True)
    status, _, _ = served.ask("POST", "/explanation", "{}", {"Content-Type": "application/json"})
    assert status == 415
    for body in (b"answer=%ff", "answer=ä".encode(), b"&".join([b"answer=a"] * 9)):
        assert served.ask("POST", "/explanation", body, FORM)[0] == 400
    assert served.ask("GET", "/../../etc/passwd")[0] == 404
    assert served.ask("POST", "/", "a", FORM)[0] == 405
    assert served.ask("PUT", "/")[0] == 405


@pytest.mark.parametrize(("headers", "status"), [
    ([f"Content-Length: {3 * MOST_BYTES + 11}"], 413),
    (["Content-Length: " + "9" * 5_000], 400),
    (["Content-Length: 11"], 400),  # the answer alone
    *(([f"Content-Length: {length}"], 400) for length in ("", "-1", "1e3", "11, 12", "x", "²")),
    (["Content-Length: 11", "Content-Length: 12"], 400),
])
def test_a_length_that_is_wrong(served: Served, headers: list[str], status: int) -> None:
    """The reply also reaches a client that sends its body before it reads."""
    start = ["POST /explanation HTTP/1.1", f"Host: 127.0.0.1:{served.port}", "Connection: close",
             f"Content-Type: {FORM['Content-Type']}", *headers, "", "answer=Rome"]
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall("\r\n".join(start).encode())
        if status == 413:
            client.sendall(b"a" * 3 * MOST_BYTES)
        reply = client.makefile("rb").read().decode()
    assert reply.startswith(f"HTTP/1.1 {status} "), reply[:200]
    assert "Traceback" not in reply


class NoExplainer:
    def row(self, *_: str) -> None:
        raise AssertionError("it is not asked")


@pytest.mark.parametrize("begin", [
    b"", b"POST /explan", b"POST /explanation HTTP/1.1\r\nX-",
    b"POST /explanation HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 1000\r\n\r\n"])
def test_a_request_that_drips_is_ended(
    monkeypatch: pytest.MonkeyPatch, begin: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    """A byte now and then does not keep a connection open (slowloris)."""
    monkeypatch.setattr(server, "MOST_SECONDS", 1.0)
    with closing(Server("127.0.0.1", 0)) as found:
        thread = Thread(target=found.run, args=(page(NoExplainer(), found),))
        thread.start()
        port = found.address[1]
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=0.1) as client:
                client.sendall(begin % port if b"%d" in begin else begin)
                began, reply = time.monotonic(), b""
                while time.monotonic() - began < 20:
                    try:
                        piece = client.recv(1000)
                    except TimeoutError:
                        client.sendall(b"a")
                        continue
                    except ConnectionError:
                        break
                    if not piece:
                        break
                    reply += piece
                took = time.monotonic() - began
        finally:
            found.running.should_exit = True
            thread.join()
    assert 0.9 < took < 10
    assert reply.partition(b" R")[0] == (b"HTTP/1.1 408" if b"%d" in begin else b"")
    assert "Traceback" not in capfd.readouterr().err


def test_a_request_that_is_not_finished_holds_nobody_up(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.sendall(b"POST /explanation HTTP/1.1\r\nContent-Length: 9\r\n")
        assert served.judge(answer=ANSWER, sources=SOURCES)[0] == 200


def test_nothing_is_kept(served: Served) -> None:
    assert served.judge(answer=ANSWER, sources=SOURCES)[0] == 200
    assert [path for path in served.folder.rglob("*") if path.is_file()] == []


def test_a_port_that_is_taken(served: Served) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "q2_metric", "serve", "--port", str(served.port)],
        capture_output=True, text=True)
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1, port {served.port}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_control_c_ends_it(tmp_path: Path) -> None:
    found = Served(tmp_path)
    found.process.send_signal(signal.SIGINT)
    assert found.process.stderr is not None
    assert found.process.wait(timeout=60) == 0
    assert found.process.stderr.read().strip() == ""


@pytest.mark.parametrize(("host", "local"), [("127.0.0.1", True), ("localhost", True),
                                             ("0.0.0.0", False)])
def test_what_can_be_reached_from_outside(host: str, local: bool) -> None:
    with closing(Server(host, 0)) as server:
        assert server.is_local is local
        assert server.url == f"http://{host}:{server.address[1]}/"


@pytest.mark.browser
@pytest.mark.parametrize("width", [1200, 390])
def test_in_a_browser(served: Served, width: int) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 844})
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(served.url)
        frame = page.frame_locator("iframe[title=Explanation]")
        frame.get_by_text("appears here").wait_for()
        page.get_by_label("Sources").fill(SOURCES)
        page.get_by_label("Question").fill("When did it open?")
        answer = page.get_by_label("Answer", exact=True)
        answer.fill("")
        page.get_by_role("button", name="Judge").click()  # the browser asks for an answer
        assert page.evaluate("document.activeElement.id") == "answer"
        answer.fill(ANSWER)
        page.get_by_role("button", name="Judge").click()
        frame.locator(".response").wait_for(timeout=120_000)
        assert frame.locator(".response").inner_text().startswith("It opened")
        assert "<script>alert(1)" in frame.locator(".response").text_content()  # signs may follow
        assert frame.locator("img").count() == 0
        # The texts stay for the next try, with Ctrl+Enter this time.
        answer.fill("Tickets cost 20 euros.")
        answer.press("Control+Enter")
        second = frame.locator(".response", has_text="Tickets").filter(has_not_text="opened")
        second.wait_for(timeout=120_000)
        assert page.get_by_label("Sources").input_value() == SOURCES
        assert page.get_by_role("button", name="Judge").is_enabled()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert wrong == []
        assert {url for url in asked if not url.startswith((served.url, "data:"))} == set()
