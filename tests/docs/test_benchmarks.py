"""One runner for all benchmarks; the page of speed is made from what they left."""

from __future__ import annotations

import importlib
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from q2_metric.types import Claim, Example, Judgement, Score
from tools.benchmarks import __main__ as runner
from tools.benchmarks import harness, mutants, spans, speed_page

FOLDER = Path(runner.__file__).parent


def test_every_module_that_can_be_run_is_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    runner.main(["--list"])
    lines = capsys.readouterr().out.splitlines()
    found = {path.stem for path in FOLDER.glob("[!_]*.py")
             if "\ndef main() -> None:" in path.read_text(encoding="utf-8")}
    listed = {line.split()[0] for line in lines if line.startswith("  ")}
    assert listed == found
    assert all(len(line.split()) > 4 for line in lines if line.startswith("  ")), "says nothing"


def test_a_case_is_run_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="there is no benchmark 'speed'; there are bundled"):
        runner.main(["speed"])
    ran: list[list[str]] = []
    monkeypatch.setattr(runner.sys, "argv", ["before"])
    module = importlib.import_module("tools.benchmarks.determinism")
    monkeypatch.setattr(module, "main", lambda: ran.append(list(runner.sys.argv)))
    runner.main(["determinism", "--rows", "3"])
    assert ran == [["-m tools.benchmarks determinism", "--rows", "3"]]


def test_only_a_failed_test_or_no_end_catches_a_change() -> None:
    """Exit codes of mutmut: what says nothing about the tests counts as not caught, and shows."""
    codes = {"failed": 1, "endless": 36, "survived": 0, "unreached": 33, "wrong use": 4,
             "inner error": 3, "interrupted": 2, "skipped": 34, "suspicious": 35, "segfault": -11}
    found = {f"q2_metric.text.{name}": mutants.outcome(code) for name, code in codes.items()}
    *missed, room, every = mutants.report(found)
    assert room == every.replace("all:", "text:") == (
        "text: 2 of 10 caught (20%); 1 survived, 1 no tests, 1 out of time, 6 undecided")
    assert "undecided (exit code 4): q2_metric.text.wrong use" in missed
    assert len(missed) == 9


def test_the_page_of_speed_is_made_from_the_records() -> None:
    written = (harness.RESULTS.parent / "speed.md").read_text(encoding="utf-8")
    assert written == speed_page.page(), "run python -m tools.benchmarks speed_page"


def test_two_ways_are_timed_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second becomes slower like the first: their ratio stays."""
    seconds = iter([1.0, 0.5, 2.0, 1.0, 4.0])
    order: list[str] = []

    def timed(work: object) -> float:
        order.append(work())  # type: ignore[operator]
        return next(seconds)

    monkeypatch.setattr(harness, "timed", timed)
    slow, fast = (10, lambda: "slow"), (10, lambda: "fast")
    found = harness.alternate([slow] * 3, [fast] * 2)
    assert order == ["slow", "fast", "slow", "fast", "slow"]
    assert found["ratio_least"] == found["ratio_greatest"] == 2.67  # 20 / ((10 + 5) / 2)
    with pytest.raises(ValueError, match="both sides"):
        harness.alternate([slow], [fast])


def test_tokens_and_operations_are_counted_without_padding() -> None:
    counted = harness.Counted(lambda batch: batch.ids, harness.Clock(), "reader")
    counted(SimpleNamespace(lengths=np.array([8, 3]), ids=np.zeros((2, 8)),
                            query=np.zeros((2, 8))))
    assert counted.figures() == {"calls": 1, "rows": 2, "tokens": 11, "padding": 0.312}
    assert counted.operations == sum(harness.operations("reader", n, n) for n in (8, 3))
    # Six layers of 12 matrices of 384 x 384, two operations a weight; attention is little here.
    assert harness.operations("reader", 1, 1) == 6 * (2 * 12 * 384**2 + 4 * 384)
    whole = harness.operations("entailment", 100, 100)
    spared = 80 * (2 * 10 * 384**2 + 4 * 100 * 384)
    assert harness.operations("entailment", 100, 20) == whole - spared, "of the last layer"


def test_time_of_calls_that_overlap_in_threads_counts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(harness.time, "perf_counter", lambda: now[0])
    clock = harness.Clock()

    def work(entered: threading.Event, leave: threading.Event) -> None:
        entered.set()
        leave.wait()

    clocked = clock.wrap(clock.wrap(work))
    events = [(threading.Event(), threading.Event()) for _ in range(2)]
    threads = [threading.Thread(target=clocked, args=pair) for pair in events]
    for seconds, thread, (entered, _) in zip((0.0, 1.0), threads, events, strict=True):
        now[0] = seconds
        thread.start()
        entered.wait()
    for seconds, thread, (_, leave) in zip((2.0, 3.0), threads, events, strict=True):
        now[0] = seconds
        leave.set()
        thread.join()
    assert (clock.seconds, clock.calls) == (3.0, 2)


def test_characters_are_as_unsupported_as_the_worst_claim_about_them() -> None:
    example = Example("It is old. It is red.", "It is old. It is blue.")
    score = Score(example, 0.5, (
        Judgement(Claim("It is old.", 0, 10), 0.9, "supported"),
        Judgement(Claim("It is red.", 11, 21), 0.2, "contradicted"),
        Judgement(Claim("It is old. It is red.", 0, 21), 0.7, "supported")))
    doubt = spans.unsupported(score)
    assert doubt[[0, 10, 11, 20]] == pytest.approx([0.3, 0.3, 0.8, 0.8])
    labelled = spans.LabelledResponse(example, ((0, 10, True), (11, 21, False)))
    lines = spans.table([labelled], [score])
    assert lines.splitlines()[1].split() == ["claims", "100.0", "100.0", "100.0", "100.0"]
