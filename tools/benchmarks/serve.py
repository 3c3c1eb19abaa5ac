"""Load on q2 serve --api: latencies, lost requests, memory, clients that leave, a stop under load.

Each client sends one row at a time, and the next one when it has the reply. Rows are from
examples/, each with a number of its own, so that a reply that was mixed up is noticed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tools.benchmarks.harness import machine, save

ROWS = [json.loads(line) for line in
        (Path(__file__).parents[2] / "examples" / "dialogues.jsonl").read_text().splitlines()]


@contextmanager
def server(metrics: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "q2_metric", "serve", "--api", "--port", "0", "--metrics",
         metrics], text=True,
        stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        found = re.search(r":(\d+)/v1/score", process.stderr.readline())
        if found is None:
            sys.exit(f"serve: {process.stderr.read()}")
        yield process, int(found[1])
    finally:
        process.kill()
        process.wait()


class Client:
    """Sends rows until ``until`` is set; counts statuses, and measures the successful requests."""

    def __init__(self, port: int, numbers: Iterator[int], until: threading.Event) -> None:
        self.port, self.numbers, self.until = port, numbers, until
        self.times: list[float] = []
        self.statuses: Counter[int | str] = Counter()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=150)
        while not self.until.is_set():
            number = next(self.numbers)
            row = {**ROWS[number % len(ROWS)], "id": str(number)}
            began = time.perf_counter()
            try:
                connection.request("POST", "/v1/score", json.dumps(row),
                                   {"Content-Type": "application/json"})
                reply = connection.getresponse()
                answer = json.loads(reply.read())
            except (OSError, http.client.HTTPException) as error:
                self.statuses[type(error).__name__] += 1
                connection.close()
                if isinstance(error, ConnectionRefusedError):
                    return
                continue
            if reply.status == 200 and answer["results"][0]["id"] != str(number):
                self.statuses["mixed up"] += 1
            else:
                self.statuses[reply.status] += 1
            if reply.status == 200:
                self.times.append(time.perf_counter() - began)
            else:
                time.sleep(0.05)


def load(port: int, clients: int, seconds: float, requests: int = 0) -> dict[str, Any]:
    """For some seconds, or until there are ``requests`` replies."""
    numbers, until = count(), threading.Event()
    began = time.perf_counter()
    running = [Client(port, numbers, until) for _ in range(clients)]
    while (time.perf_counter() - began < seconds
           if not requests else sum(len(one.times) for one in running) < requests):
        time.sleep(0.1)
    until.set()
    for one in running:
        one.thread.join()
    took = time.perf_counter() - began
    times = sorted(time for one in running for time in one.times)
    statuses = sum((one.statuses for one in running), Counter())
    return {"clients": clients, "requests": sum(statuses.values()),
            "statuses": {str(status): times for status, times in statuses.items()},
            "per_second": round(len(times) / took, 1),
            "p50_ms": round(1000 * statistics.median(times)),
            "p99_ms": round(1000 * times[int(0.99 * (len(times) - 1))])}


def memory(process: subprocess.Popen[str]) -> int:
    """The resident memory in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) // 1024 if found else 0


def leavers(port: int, times: int) -> dict[str, Any]:
    """Clients that close the connection at a random moment, beside one that stays."""
    body = json.dumps(ROWS[0]).encode()
    head = (f"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json"
            f"\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    until = threading.Event()
    stays = Client(port, count(), until)
    for _ in range(times):
        with socket.create_connection(("127.0.0.1", port)) as gone:
            gone.sendall((head + body)[:random.choice([10, len(head) + 5, len(head + body)])])
            time.sleep(random.random() / 50)
    until.set()
    stays.thread.join()
    return {"left": times, "replies_to_the_client_that_stays": stays.statuses[200],
            "others": sum(stays.statuses.values()) - stays.statuses[200]}


def stopped(metrics: str, clients: int) -> dict[str, Any]:
    """SIGTERM under load: each client's request is answered; later ones are refused."""
    with server(metrics) as (process, port):
        numbers, until = count(), threading.Event()
        running = [Client(port, numbers, until) for _ in range(clients)]
        time.sleep(3)
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        until.set()
        for one in running:
            one.thread.join()
    statuses = sum((one.statuses for one in running), Counter())
    return {"clients": clients, "exit": code,
            "statuses": {str(status): times for status, times in statuses.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="for each number of clients")
    parser.add_argument("--requests", type=int, default=5_000, help="for the memory; 0: none")
    parser.add_argument("--metrics", default="groundedness")
    options = parser.parse_args()
    record: dict[str, Any] = {"machine": machine()}
    with server(options.metrics) as (process, port):
        load(port, 8, 5)
        record["load"] = [load(port, clients, options.seconds) for clients in (1, 8, 64)]
        record["leavers"] = leavers(port, 300)
        if options.requests:
            before = memory(process)
            again = load(port, 16, 0, options.requests)
            record["memory"] = {"requests": again["requests"], "before_mb": before,
                                "after_mb": memory(process)}
    record["stopped"] = stopped(options.metrics, 16)
    print(json.dumps(record, indent=1))
    save("serve", record)


if __name__ == "__main__":
    main()
