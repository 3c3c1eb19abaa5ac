"""The cache of scores: complete, bounded, shared, and never needed."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
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
    FakeSpans,
)

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.engine import cache as module
from q2_metric.engine.cache import Cache
from q2_metric.engine.cached import CachedMetric
from q2_metric.metrics.groundedness import Groundedness, Head
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.scoring.codec import from_json, to_json
from q2_metric.scoring.scores import score_with
from q2_metric.types import (
    Comparison,
    Dropped,
    Example,
    Metric,
    Question,
    Score,
    Span,
    Verdict,
)

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
    return Scale(FakeBackbone())


def nli() -> EndToEndNli:
    return EndToEndNli(FakeEntailment())


def groundedness() -> Groundedness:
    head = Head("h", 0.5, {"weakest": (0.0, 1.0, 1.0), "numbers": (0.5, 0.25, 1.0)})
    return Groundedness(scale(), head)


CHAT = Example("thanks !", KNOWLEDGE)


@pytest.mark.parametrize("make", [q2, scale, nli, groundedness])
def test_a_score_comes_back_from_json_as_it_was(make: type[Metric]) -> None:
    metric, examples = make(), [*EXAMPLES, CHAT]
    for example, score in zip(examples, score_with(metric, examples, evidence=True),
                              strict=True):
        assert from_json(example, json.loads(json.dumps(to_json(score)))) == score


def test_every_field_of_a_score_comes_back() -> None:
    example = EXAMPLES[0]
    question = Question(Span(example, "Rome", 0, "GPE"), "What has 7 hills?")
    verdict = Verdict(0.2, 0.3, 0.5)
    score = Score(
        example, 0.25, (Comparison(question, "Rome", "Oslo", 0.5, verdict, "nli", 0.0, 3),
                        Comparison(question, "Rome", None, 0.0, None, "no_answer", 0.0)),
        True, 0.75, verdict, True, None, (Dropped(question, "round_trip", "Oslo"),))
    assert from_json(example, json.loads(json.dumps(to_json(score)))) == score
    other = replace(score, evidence=(), fallback=False, verdict=None, consistent=None,
                    value=None, reason="no_claim", dropped=(Dropped(question, "personal"),))
    assert from_json(example, json.loads(json.dumps(to_json(other)))) == other


def test_scores_with_and_without_evidence_are_kept_apart(tmp_path: Path) -> None:
    def cached() -> CachedMetric:
        return CachedMetric("scale", scale, Cache(tmp_path / "c"))

    plain, searched = scale().score(EXAMPLES), scale().score(EXAMPLES, evidence=True)
    assert plain != searched
    for _ in range(2):
        assert cached().score(EXAMPLES) == plain
        assert cached().score(EXAMPLES, evidence=True) == searched


@pytest.mark.parametrize("evidence", [False, True])
def test_what_another_metric_is_computed_from_is_scored_once(
    tmp_path: Path, evidence: bool
) -> None:
    """After it and before it, by scores with evidence or without."""
    store, made, grounded = Cache(tmp_path / "c"), scale(), groundedness()
    first = CachedMetric("scale", lambda: made, store)
    inner = grounded.scale.backbone
    second = CachedMetric("groundedness", lambda: grounded, store)
    judged = first.score(EXAMPLES, evidence=evidence)
    alone = groundedness().score([*EXAMPLES, CHAT], evidence=evidence)
    assert second.score([*EXAMPLES, CHAT]) == alone
    assert inner.calls == 0  # type: ignore[attr-defined]
    assert first.score(EXAMPLES, evidence=evidence) == judged
    new = Example("Oslo has 1 hill.", KNOWLEDGE)
    assert second.score([new]) == groundedness().score([new])
    assert inner.calls == 1  # type: ignore[attr-defined]
    calls = made.backbone.calls  # type: ignore[attr-defined]
    assert first.score([new]) == scale().score([new])
    assert made.backbone.calls == calls, "found for the other"  # type: ignore[attr-defined]


def test_evidence_makes_no_difference_to_metrics_that_have_none(tmp_path: Path) -> None:
    metric = FakeMetric("nli")
    cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c"))
    for evidence in (True, False, True):
        cached.score([Example("a", "k")], evidence=evidence)
    assert (metric.batches, metric.evidence) == ([1], [False])
    found = CachedMetric("scale", scale, Cache(tmp_path / "c"))
    found.score(EXAMPLES[:1])
    found.score(EXAMPLES[:1], evidence=True)
    assert found.looked_up == 0


def test_what_was_looked_up_is_told(tmp_path: Path) -> None:
    done = list[int]()
    metric = FakeMetric("nli")
    cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c"))
    cached.score([Example("a", "k"), Example("b", "k")])
    cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c"))
    twice = [Example(text, "k") for text in ("a", "c", "a", "c", "d")]
    found = cached.score(twice, progress=done.append)
    assert [score.example for score in found] == twice
    assert metric.batches == [2, 2], "equal ones once"
    assert cached.looked_up == 2
    assert done == [2, 2]
    cached.score(twice)
    assert cached.looked_up == 2 + 2, "what was computed here is not from the cache"
    cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c"))
    cached.score(twice)
    assert cached.looked_up == 5


def test_a_metric_is_loaded_when_a_score_is_missing(tmp_path: Path) -> None:
    """Its signature is known without it, for the same request."""
    loads: list[str] = []

    def cached(request: str) -> CachedMetric:
        def load() -> Metric:
            loads.append(request)
            made = FakeMetric("nli")
            made.signature = f"nli|nli:{request}"
            return made

        return CachedMetric("nli", load, Cache(tmp_path / "c"), {"nli_model": request})

    example = [Example("a", "k")]
    assert cached("m").signature == "nli|nli:m"
    again = cached("m")
    assert (again.name, again.signature, loads) == ("nli", "nli|nli:m", ["m"])
    again.score(example)
    assert again.metric is again.metric
    assert loads == ["m", "m"]
    cached("m").score(example)
    assert loads == ["m", "m"]
    other = cached("n")
    assert other.signature == "nli|nli:n"
    other.score(example)
    assert other.looked_up == 0
    assert loads == ["m", "m", "n"]


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
        int(value[:16], 16)  # the seal
        json.loads(value[16:])


@pytest.mark.parametrize("change", [
    lambda value: value[:16] + value[16:].replace('"value": 0.25', '"value": "abc"'),
    lambda value: value[:16] + value[16:].replace('"value": 0.25', '"value": 9.9'),
    lambda value: value[:16] + value[16:].replace('"value": 0.25', '"value": -5'),
    lambda value: value[:16] + value[16:].replace('"value": 0.25', '"value": 0.5'),
    lambda value: value[16:], lambda _value: "1", lambda _value: "{}", lambda _value: 1,
    lambda _value: "é" * 20, lambda value: value.encode(), lambda value: value[:-1],
])
def test_a_value_that_was_changed_is_not_found(tmp_path: Path, change: Any) -> None:
    examples = [Example("a", "k"), Example("b", "k")]
    metric = FakeMetric("nli", {"a": 0.25, "b": 0.75})
    CachedMetric("nli", lambda: metric, Cache(tmp_path / "c")).score(examples)
    with sqlite3.connect(tmp_path / "c") as database:
        for key, value in database.execute("select key, value from scores").fetchall():
            if '"value": 0.25' in value:
                database.execute("update scores set value = ? where key = ?", (change(value), key))
    cached = CachedMetric("nli", lambda: metric, Cache(tmp_path / "c"))
    assert [one.value for one in cached.score(examples)] == [0.25, 0.75]
    assert (metric.batches, cached.looked_up) == ([2, 1], 1)


def test_values_at_the_keys_of_others_are_not_found(tmp_path: Path) -> None:
    Cache(tmp_path / "c").put({"a": 1, "b": 2})
    with sqlite3.connect(tmp_path / "c") as database:
        one, other = (value for value, in database.execute("select value from scores order by key"))
        database.execute("update scores set value = ? where key = 'a'", (other,))
        database.execute("update scores set value = ? where key = 'b'", (one,))
    assert Cache(tmp_path / "c").get(["a", "b"]) == {}


def test_a_locked_cache_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It blocked for two minutes in silence: twice the 60 s that SQLite was given."""
    assert module.WAITS <= 5
    monkeypatch.setattr(module, "WAITS", 0.2)
    monkeypatch.setattr(metrics, "load_metrics", lambda *_a, **_k: [FakeMetric("scale", {"a": 1})])
    rows, path = tmp_path / "rows.jsonl", tmp_path / "c"
    rows.write_text('{"response": "a", "knowledge": "k"}\n')
    Cache(path).put({"k": 1})
    other = sqlite3.connect(path)
    other.execute("begin exclusive")
    command = ["score", str(rows), "--metrics", "scale", "--cache", str(path), "--quiet"]
    began = time.monotonic()
    result = CliRunner().invoke(main, command)
    assert time.monotonic() - began < 30  # on a machine that is busy
    other.close()
    assert (result.exit_code, result.stderr) == (
        0, f"q2: {path}: cannot be used as a cache of scores (database is locked); "
        "continuing without it\n")


def test_a_database_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    path, told = tmp_path / "c", list[str]()
    with sqlite3.connect(path) as database:
        database.execute("create table mine (a)")
    before = path.read_bytes()
    Cache(path, warn=told.append).put({"k": 1})
    assert told == [f"{path}: cannot be used as a cache of scores (the file is a database of "
                    "another program); continuing without it"]
    assert path.read_bytes() == before


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


def test_a_full_cache_keeps_nine_tenths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = tmp_path / "c", [0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    cache, text = Cache(path, largest=150_000), "x" * 3500  # each in a page of its own
    for i in range(60):
        now[0] += 1
        cache.put({str(i): text})
        assert path.stat().st_size <= 150_000
    kept = [i for i in range(60) if cache.get([str(i)])]
    assert kept == list(range(kept[0], 60)), "those that were put last"
    assert 0.75 * 150_000 < len(kept) * 4096 < 150_000
    many = {f"m{i}": text for i in range(300)}
    cache.put(many)
    assert 0.75 * 150_000 < path.stat().st_size < 1.05 * 150_000, "however far it was over"
    kept_then = len(cache.get(many))
    cache.put({"last": text})
    assert len(cache.get(many)) > 0.8 * kept_then, "pages that were given back do not count"


def test_a_use_is_noted_once_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    cache = Cache(tmp_path / "c")
    cache.put({"a": 1})

    def used() -> int:
        with sqlite3.connect(tmp_path / "c") as database:
            return int(database.execute("select used from scores").fetchone()[0])

    for later, noted in [(0, 10_000), (3600, 10_000), (3601, 13_601), (3700, 13_601)]:
        now[0] = 10_000.0 + later
        assert cache.get(["a", "b"]) == {"a": 1}
        assert used() == noted


def test_many_keys_and_other_threads_and_a_closed_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new" / "folder" / "c")
    items = {f"k{i}": [i, {"é": None}] for i in range(1201)}
    worker = threading.Thread(target=cache.put, args=(items,))
    worker.start()
    worker.join()
    assert cache.get([*items, "other"]) == items
    cache.put({"k0": 7})
    cache.put({})
    assert cache.get(key for key in ("k0", "k1")) == {"k0": 7, "k1": items["k1"]}
    cache.close()
    cache.close()
    cache.put({"k0": 8})
    assert cache.get(items) == {}
    assert Cache(tmp_path / "new" / "folder" / "c").get(["k0"]) == {"k0": 7}
    memory = Cache(None)
    memory.put({"k0": 9})
    assert memory.get(["k0"]) == {"k0": 9}


def _fill(path: Path, who: int) -> None:
    cache = Cache(path)
    for i in range(30):
        cache.put({f"{who}-{i}-{j}": j for j in range(20)})
        assert len(cache.get([f"{who}-{i}-{j}" for j in range(20)])) == 20
    cache.put({"shared": who})


@pytest.mark.slow
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
            Example("a", "k"), 0.25, metric.score([Example("a", "k")])[0].evidence)]
    (line,) = told
    assert "cannot be used as a cache of scores" in line
    assert "\n" not in line


@pytest.mark.parametrize("value", [None, 7, b"\xff", "{", "[]", '{"evidence": [1]}', "null"])
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


def test_long_texts_make_short_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("q2_metric.engine.blocks.CHARACTERS", 8)
    metric = FakeMetric("nli")
    CachedMetric("nli", lambda: metric, Cache(tmp_path / "c")).score(
        [Example(f"r{i}", "kk") for i in range(5)])
    assert metric.batches == [2, 2, 1]


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
        f"{tmp_path / 'c'}: cannot be used as a cache of scores ({words}); continuing without it"]


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
        command = ["score", str(rows), "--out", str(path), "--metrics", "q2,scale", *arguments]
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
