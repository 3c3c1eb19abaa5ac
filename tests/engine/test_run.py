"""The bookkeeping of a run: what is counted, of which rows, and by whom it was scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeMetric

from q2_metric import metrics
from q2_metric.engine import cluster as on_ray
from q2_metric.engine.job import Job
from q2_metric.engine.manifest import difference, manifest
from q2_metric.engine.result import SystemRun
from q2_metric.engine.run import JobRun, Listener
from q2_metric.errors import BadRowError, InputError
from q2_metric.rows.columns import Columns
from q2_metric.rows.fields import OutputRow
from q2_metric.scoring.aggregate import system_score
from q2_metric.scoring.verdict import VerdictCounts
from q2_metric.types import Example, Score

VALUES = [i / 10 for i in range(10)]


def row(i: int) -> str:
    """The third and eighth row cannot be scored."""
    return json.dumps({"response": 7 if i in (2, 7) else f"r{i}", "knowledge": "k"}) + "\n"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMetric:
    found = FakeMetric("scale", {f"r{i}": value for i, value in enumerate(VALUES)})
    monkeypatch.setattr(metrics, "load_metrics", lambda *_arguments, **_keywords: [found])
    return found


@pytest.fixture
def job(tmp_path: Path) -> Job:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(map(row, range(10))))
    return Job((str(path),), Columns(), ("scale",), block=3)


SCORED = [value for i, value in enumerate(VALUES) if i not in (2, 7)]


def heard() -> tuple[Listener, dict[str, list[Any]]]:
    told: dict[str, list[Any]] = {"warn": [], "note": [], "files": [], "rows": []}

    @contextmanager
    def progress(file: str) -> Iterator[Callable[[int], None]]:
        told["files"].append(file)
        yield told["rows"].append

    return Listener(told["warn"].append, told["note"].append, progress), told


def test_a_run_without_an_output(job: Job, fake: FakeMetric) -> None:
    listener, told = heard()
    [found] = JobRun(job, listener=listener).run()
    assert found == SystemRun(
        name=job.files[0], rows=10, failed=2, seconds=found.seconds, timed=8,
        scores=(system_score("scale", [Score(Example("", ""), v) for v in SCORED],
                              "scale|version:test"),),
        columns={**dict.fromkeys(asdict(Columns())), "response": "response",
                 "knowledge": "knowledge"},
        verdict=found.verdict)
    assert found.verdict.headline == "5 of 8 responses with claims have an unsupported claim"
    assert found.seconds > 0
    assert found.rows_per_second == pytest.approx(8 / found.seconds)
    assert told["files"] == [job.files[0]]
    assert told["rows"] == [1, 1, 1, 3, 2, 1, 1]
    assert told["warn"] == [
        f"{job.files[0]}, line {line}: the response (field 'response') is a number, not a string"
        for line in (3, 8)]


def test_a_run_that_goes_on_says_what_was_there(
    job: Job, fake: FakeMetric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"

    def stop(_examples: Sequence[Example]) -> None:
        if len(fake.batches) == 3:
            raise KeyboardInterrupt

    real = fake.score
    monkeypatch.setattr(fake, "score", lambda examples, **keywords: (
        stop(examples), real(examples, **keywords))[1])
    with pytest.raises(KeyboardInterrupt):
        JobRun(job).run(str(out))
    monkeypatch.setattr(fake, "score", real)
    listener, told = heard()
    [found] = JobRun(job, listener=listener).run(str(out))
    assert (found.rows, found.failed) == (10, 2)
    assert found.rows_per_second == pytest.approx((10 - 2 - (6 - 1)) / found.seconds)
    assert told["note"] == [f"resuming: {out}.unfinished has 2 finished blocks"]
    assert told["rows"] == [3, 3, 2, 1, 1]
    assert found.scores[0].value == pytest.approx(sum(SCORED) / 8)
    kept = json.loads(Path(f"{out}.manifest.json").read_text())
    assert kept["files"] == [{
        **manifest([job.files[0]], {}, {}, {})["files"][0], "rows": 10, "failed": 2,
        "columns": found.columns}]
    again, told = heard()
    [complete] = JobRun(job, listener=again).run(str(out))
    assert complete == replace(found, seconds=0.0, timed=0)
    assert told["note"] == [f"{out} is complete already (10 rows); --overwrite scores them again"]
    assert complete.rows_per_second == 0


def test_results_as_json() -> None:
    system = system_score("f1", [Score(Example("", ""), 0.5), Score(Example("", ""), 0.75)], "s")
    result = SystemRun("a", 4, 1, (system,), {"id": "i", "label": None}, 2.0, timed=2,
                        looked_up=3, no_knowledge=1)
    shown = result.as_json()
    assert shown == {
        "file": "a", "rows": 4, "failed": 1, "no_knowledge": 1, "rows_per_second": 1.0,
        "scores_from_cache": 3,
        "columns": {"id": "i", "label": None}, "verdict": VerdictCounts().as_json(),
        "scores": {"f1": asdict(system)}}
    assert SystemRun.from_json(json.loads(json.dumps(shown))) == SystemRun(
        "a", 4, 1, (system,), {"id": "i", "label": None}, no_knowledge=1)


def test_scores_from_the_cache_are_counted(job: Job, fake: FakeMetric, tmp_path: Path) -> None:
    job = replace(job, cache=tmp_path / "c")
    assert [JobRun(job).run()[0].looked_up for _ in range(3)] == [0, 8, 8]
    both = replace(job, files=job.files * 2)
    Path(job.files[0]).write_text(row(1) + row(3) + row(11))
    # The new row is computed for the first file, and used again for the second.
    assert [one.looked_up for one in JobRun(both).run()] == [2, 2]


@pytest.mark.parametrize(("bad", "told"), [(1, 1), (5, 5), (6, 6), (9, 6)])
def test_the_first_bad_rows_are_explained(
    tmp_path: Path, fake: FakeMetric, bad: int, told: int
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(row(2) * bad + row(1))
    listener, heard_ = heard()
    JobRun(Job((str(path),), Columns(), ("scale",), block=2), listener=listener).run()
    assert len(heard_["warn"]) == told
    assert heard_["warn"][0].startswith(f"{path}, line 1: ")
    further = "… further errors are only counted; --out has all of them"
    assert (heard_["warn"][-1] == further) == (bad > 5)
    with pytest.raises(BadRowError, match=r"line 1: the response .* is a number"):
        JobRun(Job((str(path),), Columns(), ("scale",)), strict=True).run()


class Page:
    def __init__(self) -> None:
        self.rows: list[OutputRow] = []

    def write(self, rows: Any) -> None:
        self.rows += rows


def test_a_page_gets_the_rows_with_their_texts(
    job: Job, fake: FakeMetric, tmp_path: Path
) -> None:
    for out in (None, str(tmp_path / "out.jsonl"), str(tmp_path / "out.jsonl")):
        page = Page()
        assert JobRun(job).run(out, page)[0].rows == 10  # type: ignore[arg-type]
        assert [row.get("response") for row in page.rows] == [
            None if i in (2, 7) else f"r{i}" for i in range(10)]
        assert [row["scale"] for row in page.rows if row["error"] is None] == SCORED


def test_a_choice_of_knowledge_is_said_in_place_of_a_column(
    job: Job, fake: FakeMetric
) -> None:
    class Choice:
        words = "by hand"
        request: dict[str, Any] = {}  # noqa: RUF012
        paths = ()

        def load(self) -> Any:
            return type("Selector", (), {
                "sign": lambda _self, signed: signed,
                "choose": lambda _self, rows, _file, _first: list(rows)})()

    [found] = JobRun(replace(job, choice=Choice())).run()
    assert found.columns["knowledge"] == "by hand"


# --- on a cluster, the actors played by this process ---------------------------------------


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> on_ray.Cluster:
    class Here:
        def __init__(self, job: Job, *_given: object) -> None:
            self.job, self.loaded = job, job.load()
            self.signatures = self.loaded.signatures
            self.identities = job.identities()

        def scored(self, done: int) -> Iterator[tuple[list[OutputRow], int]]:
            for file, first, block in islice(on_ray.all_blocks(self.job), done, None):
                yield self.job.score(self.loaded, file, first, block)[0], 5

    monkeypatch.setattr(on_ray, "Remote", Here)
    return on_ray.Cluster()


def test_a_run_on_a_cluster(
    job: Job, fake: FakeMetric, ray: on_ray.Cluster, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(row(1) * 5)
    job = replace(job, files=(*job.files, str(other)))
    here, listener_told = JobRun(job).run(), heard()
    for out in (None, str(tmp_path / "out.jsonl")):
        listener, told = heard() if out else listener_told
        found = JobRun(job, ray, listener=listener).run(out)
        assert [replace(one, seconds=0.0, looked_up=0) for one in found] == [
            replace(one, seconds=0.0, looked_up=0) for one in here]
        assert [one.looked_up for one in found] == [4 * 5, 2 * 5]
        assert min(one.seconds for one in found) > 0
        assert told["files"] == [*job.files]
        assert told["rows"][:6] == [3, 3, 3, 1, 3, 2]
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [one["scale"] for one in written[:10] if one["error"] is None] == SCORED
    assert [one["id"] for one in written] == [*map(str, range(1, 11)), *map(str, range(1, 6))]
    with pytest.raises(InputError) as caught:
        JobRun(replace(job, files=("-",)), ray)
    assert str(caught.value) == "-: can be read only once; --engine ray needs files"


# --- what is not as it was -----------------------------------------------------------------


@pytest.mark.parametrize(("change", "words"), [
    ({}, None),
    ({"files": [{"file": "b", "sha256": "1"}]}, "file 1 was a, now b"),
    ({"files": [{"file": "a", "sha256": "2"}]}, "the contents of a have changed"),
    ({"files": [{"file": "a", "sha256": "1"}] * 2}, "file 2 was not given, now a"),
    ({"files": []}, "file 1 was a, now not given"),
    ({"settings": {"texts": True}}, "texts was False, now True"),
    ({"settings": {}}, "texts was False, now not given"),
    ({"settings": {"texts": False, "id": "n"}}, "id was not given, now n"),
    ({"identities": {"q2": {"preset": "p", "contents of m": "1", "code": "1", "seed": 2}}},
     "q2's seed was not given, now 2"),
    ({"identities": {"q2": {"preset": "r", "contents of m": "1", "code": "1"}}},
     "q2's preset was p, now r"),
    ({"identities": {"q2": {"preset": "p", "contents of m": "2", "code": "2"}}},
     "the contents of m have changed"),
    ({"identities": {"q2": {"preset": "p", "contents of m": "1", "code": "2"}}},
     "the code of q2-metric or a library that it uses has changed"),
    ({"identities": {"f1": {}}}, "q2's preset was p, now not given"),
    ({"signatures": {"q2": "q2|nli:n"}}, "q2's nli was m, now n"),
    ({"signatures": {"q2": "q2|nli:m|top:1"}}, "q2's top was not given, now 1"),
    ({"signatures": {"q2": "q2|nli"}}, "its manifest cannot be understood"),
    ({"version": "2"}, "q2-metric was 1, now 2"),
    ({"settings": None}, "its manifest cannot be understood"),
    ({"files": None}, "its manifest cannot be understood"),
    ({"complete": True}, None),
])
def test_what_has_changed_since_a_run_began(change: dict[str, Any], words: str | None) -> None:
    begun = {
        "version": "1", "complete": False, "signatures": {"q2": "q2|nli:m"},
        "settings": {"texts": False},
        "identities": {"q2": {"preset": "p", "contents of m": "1", "code": "1"}},
        "files": [{"file": "a", "sha256": "1"}],
    }
    assert difference(begun, {**begun, **change}) == words
    assert difference({}, begun) == "its manifest cannot be understood"


def test_the_bar_moves_before_a_block_is_done(tmp_path: Path, fake: FakeMetric) -> None:
    """It stood at 0 of 30 until it was at 30 of 30."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(row(i % 10) for i in range(30)))
    listener, told = heard()
    [found] = JobRun(Job((str(path),), Columns(), ("scale",)), listener=listener).run()
    assert told["rows"] == [1, 2, 4, 8, 9, 6], "six rows cannot be scored"
    assert found.rows == 30
    out = tmp_path / "out.jsonl"
    JobRun(Job((str(path),), Columns(), ("scale",))).run(str(out))
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [
        json.loads(line).get("id", str(i + 1)) for i, line in enumerate(
            path.read_text().splitlines())]
