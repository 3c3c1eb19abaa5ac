"""Models that fail on a row: the row is found and reported, the others are scored."""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import FakeMetric

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.engine import job
from q2_metric.engine.cache import Cache
from q2_metric.engine.cached import CachedMetric
from q2_metric.errors import MachineFault, MissingExtra, ModelError
from q2_metric.scoring import score_rows
from q2_metric.scoring.faults import SYSTEMIC, score_each
from q2_metric.types import Example, Metric, Score


def examples(*responses: str) -> list[Example]:
    return [Example(response, "k") for response in responses]


def failing(bad: Callable[[Sequence[Example]], Exception | None]) -> Any:
    calls: list[int] = []

    def score(batch: Sequence[Example]) -> list[Score]:
        calls.append(len(batch))
        problem = bad(batch)
        if problem is not None:
            raise problem
        return [Score(e, float(len(e.response))) for e in batch]

    score.calls = calls  # type: ignore[attr-defined]
    return score


def test_the_row_that_fails_is_found_by_halving() -> None:
    def bad(batch: Sequence[Example]) -> Exception | None:
        return ValueError("strange\nmore") if any(e.response == "r5" for e in batch) else None

    score = failing(bad)
    found = score_each("nli", score, examples(*(f"r{i}" for i in range(16))))
    assert found[5] == "ValueError: strange"
    assert [one.value for i, one in enumerate(found) if i != 5] == [2.0] * 9 + [3.0] * 6  # type: ignore[union-attr]
    assert score.calls == [16, 8, 4, 4, 2, 1, 1, 2, 8]


def test_a_batch_too_large_is_scored_in_parts() -> None:
    score = failing(lambda batch: MemoryError() if len(batch) > 3 else None)
    found = score_each("nli", score, examples(*"abcdefgh"))
    assert all(isinstance(one, Score) for one in found)
    assert max(size for size in score.calls if size <= 3) == 2


def test_a_score_that_is_no_number_is_reported() -> None:
    def score(batch: Sequence[Example]) -> list[Score]:
        values = {"a": math.nan, "b": 0.5, "c": math.inf, "d": None}
        found = [Score(e, values.get(e.response, 0.1)) for e in batch]
        return [*found[:-1], Score(batch[-1], 0.1, no_nli=math.nan)]

    found = score_each("q2", score, examples("a", "b", "c", "d", "e"))
    assert [one if isinstance(one, str) else one.value for one in found] == [
        "the score is nan, not a number", 0.5, "the score is inf, not a number", None,
        "the score is nan, not a number",
    ]


def test_a_broken_model_is_no_fault_of_a_row() -> None:
    broken = failing(lambda _batch: RuntimeError("no kernel image"))
    with pytest.raises(ModelError, match=r"nli failed on all 8 responses.*no kernel image"):
        score_each("nli", broken, examples(*"abcdefgh"))
    assert len(score_each("nli", broken, examples(*"abc"))) == 3  # too few to tell
    assert len(score_each("nli", broken, examples(*"a" * SYSTEMIC))) == SYSTEMIC  # one text


def test_what_is_never_passed_over() -> None:
    class AcceleratorError(RuntimeError):
        pass

    for error, raised in [
        (MissingExtra("x", "torch", "torch"), MissingExtra),
        (AcceleratorError("device-side assert triggered"), ModelError),
        (RuntimeError("CUDA error: unspecified launch failure"), ModelError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ]:
        def score(_batch: Sequence[Example], error: BaseException = error) -> list[Score]:
            raise error

        with pytest.raises(raised):
            score_each("nli", score, examples("a"))
    full = failing(lambda batch: RuntimeError("CUDA error: out of memory") if batch[1:] else None)
    assert all(isinstance(one, Score) for one in score_each("nli", full, examples("a", "b")))


class OrtError(Exception):
    __module__ = "onnxruntime.capi.onnxruntime_pybind11_state"


def caused(error: Exception, cause: Exception) -> Exception:
    error.__context__ = cause
    return error


NOT_ENOUGH: list[Exception] = [
    MemoryError(),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total"),
    OrtError("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : std::bad_alloc"),
    SystemError("<built-in function compile> returned NULL without setting an exception"),
    caused(KeyError("x"), MemoryError()),
    caused(ModelError("a single row of 55 tokens does not fit into memory"), MemoryError()),
]
"""A smaller batch may do."""

BROKEN: list[Exception] = [
    ImportError("libtorch.so: failed to map segment from shared object"),
    ModuleNotFoundError("No module named 'text_to_num'"),
    RuntimeError("can't start new thread"),
    OSError(errno.EMFILE, "Too many open files", "weights.onnx"),
    OSError(errno.ENFILE, "Too many open files in system"),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EIO, "Input/output error"),
]
"""A smaller batch is no help."""


@pytest.mark.parametrize("error", [*NOT_ENOUGH, *BROKEN], ids=repr)
def test_a_fault_of_the_machine_is_no_fault_of_a_row(error: Exception) -> None:
    for rows in (1, 3, 12):
        score = failing(lambda _batch: error)
        with pytest.raises(MachineFault) as caught:
            score_each("nli", score, [replace(example, id=f"i{i}") for i, example in enumerate(
                examples(*"abcdefghijkl"[:rows]))])
        assert caught.value.__cause__ is error
        if error in BROKEN:
            assert score.calls == [rows], "each row would fail"
        else:
            assert "nli cannot score the response of the row 'i0' (1 char" in str(caught.value)


@pytest.mark.parametrize("error", NOT_ENOUGH, ids=repr)
def test_memory_that_is_enough_for_parts(error: Exception) -> None:
    score = failing(lambda batch: error if len(batch) > 2 else None)
    assert all(isinstance(one, Score) for one in score_each("nli", score, examples(*"abcdefgh")))


@pytest.mark.parametrize("error", [
    ValueError("out of memory"), KeyError("x"), OSError("strange"), TimeoutError("timed out"),
    FileNotFoundError(errno.ENOENT, "No such file"), SystemError("error return"),
    ModelError("its outputs are not finite numbers"), RuntimeError("mat1 and mat2 shapes")])
def test_other_errors_are_faults_of_a_row(error: Exception) -> None:
    score = failing(lambda batch: error if any(e.response == "b" for e in batch) else None)
    found = score_each("nli", score, examples("a", "b"))
    assert isinstance(found[0], Score)
    assert found[1] == f"{type(error).__name__}: {error}"


def test_a_metric_that_cannot_be_loaded_is_no_fault_of_a_row(tmp_path: Path) -> None:
    """The metric is loaded when the first score is missing, amid the rows."""
    def load() -> Metric:
        loads.append(1)
        if len(loads) == 1:
            return FakeMetric("scale")
        raise ValueError("BLIS support requires blis: pip install blis")

    loads: list[int] = []
    for _ in range(2):
        cached = CachedMetric("scale", load, Cache(tmp_path / "c"))
    with pytest.raises(MachineFault, match="scale cannot be loaded: ValueError: BLIS support"):
        score_each("scale", cached.score, examples("a", "b", "c"))
    assert len(loads) == 2


def test_without_a_listener_errors_are_raised() -> None:
    class Broken(FakeMetric):
        def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
            raise ValueError("strange")

    with pytest.raises(ValueError, match="strange"):
        score_rows([Broken("nli")], examples("Rome has 7 hills."))


# --- from the command line ---------------------------------------------------------------


class Fragile(FakeMetric):
    """Fails where a response has one of these words."""

    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        for example in examples:
            if "huge" in example.response:
                raise RecursionError
            if "odd" in example.response:
                raise IndexError("list index out of range")
        found = super().score(examples, evidence=evidence)
        return [Score(s.example, math.nan) if "nan" in s.example.response else s for s in found]


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, responses: Sequence[str],
        *arguments: str) -> tuple[Result, list[dict[str, Any]]]:
    fakes: dict[str, Metric] = {"scale": Fragile("scale"), "nli": FakeMetric("nli")}
    monkeypatch.setattr(metrics, "load_metrics", lambda names, _preset, **_keywords:
                        [fakes[name] for name in names])
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows = [{"id": f"i{i}", "response": text, "knowledge": "k"}
            for i, text in enumerate(responses)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = CliRunner().invoke(
        main, ["score", str(path), "--metrics", "scale,nli", "--out", str(out), *arguments])
    written = out.read_text().splitlines() if out.exists() else []
    return result, [json.loads(line) for line in written]


def test_bad_rows_are_named_and_keep_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses = [f"Rome has {words} hills." for words in (
        "7", "huge", "8", "odd", "nan", "9")]
    result, rows = run(tmp_path, monkeypatch, responses)
    assert result.exit_code == 1
    assert [row["id"] for row in rows] == [f"i{i}" for i in range(6)]
    assert [row["scale"] for row in rows] == [0.5, None, 0.5, None, None, 0.5]
    assert [row["nli"] for row in rows] == [0.5] * 6  # what could be scored is not lost
    where = f"{tmp_path}/rows.jsonl, row "
    assert [row["error"] for row in rows] == [
        None,
        f"{where}2: scale: RecursionError",
        None,
        f"{where}4: scale: IndexError: list index out of range",
        f"{where}5: scale: the score is nan, not a number",
        None,
    ]
    assert "q2: 3 of 6 rows could not be scored" in result.stderr
    assert f"q2: {where}2: scale: RecursionError" in result.stderr


def test_a_broken_model_ends_the_run_and_the_run_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, rows = run(tmp_path, monkeypatch, [f"odd {i}" for i in range(SYSTEMIC)])
    assert (result.exit_code, rows) == (3, [])
    assert "scale failed on all 8 responses: IndexError" in result.stderr
    monkeypatch.setattr(Fragile, "score", FakeMetric.score)
    result, rows = run(tmp_path, monkeypatch, [f"odd {i}" for i in range(SYSTEMIC)])
    assert result.exit_code == 0
    assert len(rows) == SYSTEMIC


@pytest.mark.parametrize("other", ["lol", "Rome has 7 hills, {} of them tall."])
def test_all_rows_of_a_block_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """Rows are scored in slices, and some are not scored at all."""
    responses = [f"Rome has odd hills, {i} of them." for i in range(9)]
    responses[3:3] = [other.format(i) for i in range(4)]
    result, rows = run(tmp_path, monkeypatch, responses)
    assert (result.exit_code, len(rows)) == ((3, 0) if other == "lol" else (1, 13))


def test_a_run_goes_on_when_the_machine_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "BLOCK", 3)
    responses = [f"Rome has {i} hills." for i in range(8)]
    _, rows = run(tmp_path, monkeypatch, responses)
    (tmp_path / "out.jsonl").unlink()
    for error in [MemoryError(), RuntimeError("can't start new thread"),
                  OSError(errno.EMFILE, "Too many open files")]:
        def full(metric: FakeMetric, examples: Sequence[Example], *, error: Exception = error,
                 evidence: bool = False) -> list[Score]:
            if any("4" in example.response for example in examples):
                raise error
            return FakeMetric.score(metric, examples, evidence=evidence)

        with monkeypatch.context() as patch:
            patch.setattr(Fragile, "score", full)
            result, found = run(tmp_path, monkeypatch, responses)
        assert (result.exit_code, found) == (3, [])
        [line] = [line for line in result.stderr.splitlines() if "error" in line]
        assert ".unfinished keeps what is finished: the same command resumes from there" in line
    result, found = run(tmp_path, monkeypatch, responses)
    assert (result.exit_code, found) == (0, rows)
    assert "out.jsonl.unfinished has 1 finished blocks" in result.stderr


def test_strict_stops_at_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, rows = run(tmp_path, monkeypatch, ["fine", "It is a nan."], "--strict")
    assert (result.exit_code, rows) == (1, [])
    assert "row 2: scale: the score is nan" in result.stderr
