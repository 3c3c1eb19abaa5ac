"""The cache of scores: complete, bounded, shared, and never needed."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fakes import (
    FakeBackbone,
    FakeEntailment,
    FakeMetric,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeSentences,
    FakeSpans,
)

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.engine import cache as module
from q2_metric.engine.cache import Cache
from q2_metric.engine.cached import CachedMetric, from_json, to_json
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.types import Example, Metric, Score

KNOWLEDGE = "Rome is in Italy. It has 7 hills."
EXAMPLES = [
    Example("Rome has 7 hills.", KNOWLEDGE, id="a"),
    Example("Rome has 9 hills. It is in Italy.", KNOWLEDGE, id="b"),
    Example("it has hills", KNOWLEDGE, ("Where?",), id="c"),
]


def q2() -> Q2:
    personal = FakePersonal({"What about It?"})
    return Q2(FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), personal)


def scale() -> Scale:
    return Scale(FakeBackbone(), FakeSentences())


@pytest.mark.parametrize("make", [q2, scale])
def test_a_score_comes_back_from_json_as_it_was(make: type[Metric]) -> None:
    metric = make()
    for example, score in zip(EXAMPLES, metrics.score_with(metric, EXAMPLES, evidence=True),
                              strict=True):
        assert from_json(example, json.loads(json.dumps(to_json(score)))) == score


def test_scores_with_and_without_evidence_are_kept_apart(tmp_path: Path) -> None:
    def cached() -> CachedMetric:
        return CachedMetric("scale", scale, Cache(tmp_path / "c"))

    plain, searched = scale().score(EXAMPLES), scale().score(EXAMPLES, evidence=True)
    assert plain != searched
    for _ in range(2):
        assert cached().score(EXAMPLES) == plain
        assert cached().score(EXAMPLES, evidence=True) == searched


def test_a_score_that_is_no_number_is_not_kept(tmp_path: Path) -> None:
    metric = FakeMetric("nli", {"a": float("nan"), "b": 0.5})
    for _ in range(2):
        cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c"))
        first, second = cached.score([Example("a", "k"), Example("b", "k")])
        assert (str(first.value), second.value) == ("nan", 0.5)
    assert metric.batches == [2, 1]


def test_no_pickles(tmp_path: Path) -> None:
    CachedMetric("q2", q2, Cache(tmp_path / "c")).score(EXAMPLES)
    rows = sqlite3.connect(tmp_path / "c").execute("select key, value from scores").fetchall()
    assert len(rows) == len(EXAMPLES) + 1  # and the signature
    for key, value in rows:
        int(key, 16)
        json.loads(value)


def test_the_least_recently_used_leave_a_full_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "c", [0.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    cache = Cache(path, largest=1_000_000)
    text = "x" * 1000
    cache.put({"first": text})
    for i in range(60):  # 50 kB each, three times the size together
        now[0] += 10_000
        cache.put({f"{i}-{j}": [i, text] for j in range(50)})
        cache.get(["first"])
        assert path.stat().st_size < 1_100_000
    assert cache.get(["first"]) == {"first": text}  # used all the time
    assert cache.get(["0-0"]) == {}
    assert cache.get(["59-0"]) == {"59-0": [59, text]}
    kept = sqlite3.connect(path).execute("select count(*) from scores").fetchone()[0]
    assert 500 < kept < 1000


def _fill(path: Path, who: int) -> None:
    cache = Cache(path)
    for i in range(30):
        cache.put({f"{who}-{i}-{j}": j for j in range(20)})
        assert len(cache.get([f"{who}-{i}-{j}" for j in range(20)])) == 20
    cache.put({"shared": who})


def test_several_processes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "c"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_fill, args=(path, who)) for who in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    found = Cache(path).get([*(f"{w}-{i}-{j}" for w in range(3) for i in range(30)
                               for j in range(20)), "shared"])
    assert len(found) == 3 * 30 * 20 + 1


@pytest.mark.parametrize("damage", ["no database", "cut", "no folder", "read only", "vanished"])
def test_a_cache_that_cannot_be_used_is_done_without(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, told = tmp_path / "c", list[str]()
    cache = Cache(path, warn=told.append)
    cache.put({f"k{i}": "x" * 500 for i in range(100)})
    if damage == "vanished":
        cache._database.execute("drop table scores")  # type: ignore[union-attr]
    else:
        cache.close()
        if damage == "no database":
            path.write_text("no database" * 100)
        elif damage == "cut":
            path.write_bytes(path.read_bytes()[:9000])
        elif damage == "no folder":
            (tmp_path / "file").touch()
            path = tmp_path / "file" / "c"
        else:
            path = Path("/proc/c")
        cache = Cache(path, warn=told.append)
    metric = FakeMetric("scale", {"a": 0.25})
    cached = CachedMetric("scale", lambda: metric, cache)
    for i in range(100):
        cache.get([f"k{i}"])
    for _ in range(2):
        assert cached.score([Example("a", "k")]) == [Score(
            Example("a", "k"), 0.25, metric.score([Example("a", "k")])[0].because)]
    (line,) = told
    assert "cannot be used as a cache of scores" in line
    assert "\n" not in line


@pytest.mark.parametrize("value", [None, 7, b"\xff", "{", "[]", '{"because": [1]}', "null"])
def test_values_of_others_are_made_anew(tmp_path: Path, value: object) -> None:
    metric, example = FakeMetric("nli", {"a": 0.5}), Example("a", "k")
    CachedMetric("nli", lambda: metric, Cache(tmp_path / "c")).score([example])
    database = sqlite3.connect(tmp_path / "c")
    with database:
        database.execute("update scores set value = ?, used = 'never'", (value,))
    database.close()
    (score,) = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c")).score([example])
    assert score.value == 0.5
    assert metric.batches == [1, 1]


def test_ten_thousand_scores(tmp_path: Path) -> None:
    found = [Example(f"response {i}", "k") for i in range(10_000)]
    metric = FakeMetric("nli")
    cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c"))
    cached.score(found)
    cached.score(found)
    assert sum(metric.batches) == len(found)


def test_a_score_is_of_its_texts(tmp_path: Path) -> None:
    """Another response, knowledge or history is another score; an id changes nothing."""
    metric, first = FakeMetric("nli"), Example("r", "k", ("h",), "1")
    others = [Example("s", "k", ("h",)), Example("r", "l", ("h",)), Example("r", "k", ("i",)),
              Example("r", "k"), Example("rk", "", ("h",)), Example("r", "k", ("h", ""))]
    cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c"))
    for example in [first, Example("r", "k", ("h",), "2"), *others]:
        cached.score([example])
    assert metric.batches == [1] * (1 + len(others))


def test_blocks_are_kept_as_they_come(tmp_path: Path) -> None:
    found = [Example(f"response {i}", "k") for i in range(600)]

    class Stopping(FakeMetric):
        def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
            if len(self.batches) == 2:
                raise KeyboardInterrupt
            return super().score(examples, evidence=evidence)

    stopping, done = Stopping("nli"), list[int]()
    with pytest.raises(KeyboardInterrupt):
        CachedMetric("nli", lambda: stopping, Cache(tmp_path / "c")).score(
            found, progress=done.append)
    assert stopping.batches == [256, 256]
    assert done == [0, 256, 256]
    metric = FakeMetric("nli")
    CachedMetric("nli", lambda: metric, Cache(tmp_path / "c")).score(found)
    assert metric.batches == [88]


@pytest.mark.parametrize("words", ["locking protocol", "disk I/O error", "database is locked"])
def test_a_file_system_that_cannot_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """As network folders are: each statement of SQLite fails."""
    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if not sql.startswith("pragma"):
                raise sqlite3.OperationalError(words)
            return super().execute(sql, *parameters)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Connection))
    told: list[str] = []
    metric = FakeMetric("nli", {"a": 0.25})
    cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c", warn=told.append))
    assert [score.value for score in cached.score([Example("a", "k")])] == [0.25]
    assert told == [
        f"{tmp_path / 'c'}: cannot be used as a cache of scores ({words}); going on without"]


# --- from the command line ---------------------------------------------------------------


class Counted(FakeMetric):
    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        found: list[Score] = (scale if self.name == "scale" else q2)().score(examples)
        self.batches.append(len(examples))
        return found


def test_a_second_run_scores_nothing_and_writes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    fakes = {name: Counted(name) for name in ("q2", "scale")}

    def load(names: Sequence[str], _preset: str, **_keywords: object) -> list[Metric]:
        loaded.extend(names)
        return [fakes[name] for name in names]

    monkeypatch.setattr(metrics, "load_metrics", load)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(
        json.dumps({"id": e.id, "response": e.response, "knowledge": e.knowledge}) + "\n"
        for e in EXAMPLES
    ))

    def score(out: str, *arguments: str) -> bytes:
        path = tmp_path / out
        command = ["score", str(rows), "--out", str(path), *arguments]
        assert CliRunner().invoke(main, command, catch_exceptions=False).exit_code == 0
        return path.read_bytes()

    kept = ("--cache", str(tmp_path / "c"))
    first = score("a.jsonl", *kept)
    assert loaded == ["q2", "scale"]
    assert score("b.jsonl", *kept) == first
    assert loaded == ["q2", "scale"]  # not even loaded again
    assert score("c.jsonl") == first
    assert len(loaded) == 4
    assert module.default_path().name == "score-cache.sqlite"
