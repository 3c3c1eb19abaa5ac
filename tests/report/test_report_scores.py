"""``q2 report``: from what ``q2 score --out`` wrote to systems, pairs and differences."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import FakeEntailment, FakeMetric, FakePersonal, FakeQuestions, FakeReader, FakeSpans

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.engine.manifest import beside
from q2_metric.engine.result import SystemRun
from q2_metric.errors import InputError
from q2_metric.metrics.q2 import Q2
from q2_metric.report.compare import SystemValues, differences, match
from q2_metric.report.read import read_scores
from q2_metric.report.systems import in_order, series

KNOWLEDGE = "Rome is in Italy. It has 7 hills."
ROWS = (
    {"id": "a", "response": "Rome has 7 hills.", "knowledge": KNOWLEDGE, "history": ["Where?"]},
    {"id": "b", "response": "Rome has 9 hills.", "knowledge": KNOWLEDGE},
    {"id": "c", "response": 7, "knowledge": KNOWLEDGE},
    {"id": "d", "response": "it has hills", "knowledge": KNOWLEDGE},
)


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    q2 = Q2(FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), FakePersonal())
    loaded = [FakeMetric("groundedness"), q2, FakeMetric("scale", {"it has hills": 0.125})]
    monkeypatch.setattr(metrics, "load_metrics", lambda names, *_, **__: [
        metric for metric in loaded if metric.name in names])


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, args)))


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def scored(folder: Path, *args: str, name: str = "scores.jsonl", rows: Any = ROWS) -> Path:
    source = write(folder / f"{Path(name).stem}-rows.jsonl", *rows)
    result = run("score", source, "--out", folder / name, "--quiet", *args)
    assert result.exit_code in (0, 1), result.output
    return folder / name


def read(*paths: Path, **options: Any) -> tuple[tuple[SystemRun, ...], list[dict[str, Any]]]:
    with ExitStack() as files:
        found = read_scores(paths, files, **options)
        return found.runs, list(found)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_the_scores_are_those_that_q2_score_printed(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    source = write(tmp_path / "rows.jsonl", *ROWS)
    out = tmp_path / f"scores.{suffix}"
    printed = json.loads(run("score", source, "--out", out, "--json").stdout)["files"][0]
    (system,), rows = read(out)
    assert (system.name, system.rows, system.failed) == (str(out), 4, 1)
    for score in system.scores:
        wanted = printed["scores"][score.name]
        for field in ("value", "n", "n_fallback", "coverage", "no_answer_rate", "n_questions"):
            assert getattr(score, field) == wanted[field], (score.name, field)
        assert score.interval == tuple(wanted["interval"])
    assert [score.name for score in system.scores] == [
        "groundedness", "q2", "q2_no_nli", "scale"]
    a, b, c, d = rows
    assert (a["response"], a["knowledge"], a["history"]) == (
        "Rome has 7 hills.", KNOWLEDGE, ["Where?"])
    assert (a["q2"], a["fallback"], a["error"]) == (1.0, False, None)
    seven = KNOWLEDGE.index("7")
    assert [(q["span"], q["start"], q["knowledge_start"]) for q in a["questions"]] == [
        ("Rome", 0, 0), ("7", 9, seven)]
    assert b["questions"][1]["knowledge_start"] is None  # no answer
    assert "is a number" in c["error"]
    assert (c["response"], c["history"], c["questions"]) == (None, None, None)
    assert (d["fallback"], d["scale"], d["claims"][0]["passage_start"]) == (True, 0.125, 0)


def test_signatures_come_from_the_manifest(tmp_path: Path) -> None:
    out = scored(tmp_path)
    manifest = tmp_path / "scores.jsonl.manifest.json"
    signature = "q2|preset:fake|compare:nli|fallback:nli|version:1"
    signed = {"groundedness": "groundedness|a:b", "q2": signature, "scale": "scale|a:b"}
    recorded = {"signatures": signed}
    manifest.write_text(json.dumps(recorded))
    (system,), _ = read(out)
    assert [score.signature for score in system.scores] == [f"{one}|no_claim:zero" for one in (
        "groundedness|a:b", signature,
        "q2_no_nli|preset:fake|compare:f1|fallback:nli|version:1", "scale|a:b")]
    for strange in ("", "[]", '{"signatures": 3}', '{"signatures": {"q2": null}}',
                    '{"signatures": {"q2": "q2|strange"}}', "\udcff"):
        manifest.write_bytes(strange.encode("utf-8", "surrogateescape"))
        (system,), _ = read(out)
        assert {score.signature for score in system.scores} == {""}, strange


def test_scores_without_texts(tmp_path: Path) -> None:
    out = scored(tmp_path, "--no-texts")
    assert "response" not in json.loads(out.read_text().splitlines()[0])
    (system,), _ = read(out)
    assert system.without_texts == 3  # the bad row has none anyway
    page = tmp_path / "report.html"
    result = run("report", out, "-o", page)
    assert (result.exit_code, result.stdout) == (0, f"{page}\n")
    assert "3 rows have no texts" in result.stderr
    assert "3 rows have no texts" in page.read_text()


def test_empty_rows_do_not_lack_their_texts(tmp_path: Path) -> None:
    texts = {"response": "It has hills.", "knowledge": "It has hills."}
    out = scored(tmp_path, rows=[texts, texts | {"response": ""}, texts | {"knowledge": None}])
    (system,), _ = read(out)
    assert (system.rows, system.without_texts) == (3, 0)


def test_a_row_where_one_metric_failed(tmp_path: Path) -> None:
    row = {"id": "a", "knowledge_f1": 0.5, "nli": None, "error": "the model is broken"}
    other = {"id": "b", "knowledge_f1": 1.0, "nli": 1.0}
    (system,), _ = read(write(tmp_path / "s.jsonl", row, other))
    assert (system.rows, system.failed) == (2, 1)
    assert [(one.name, one.n, one.value) for one in system.scores] == [
        ("knowledge_f1", 2, 0.75), ("nli", 1, 1.0)]


def test_two_files_scored_into_one(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", *ROWS[:2])
    second = write(tmp_path / "b.jsonl", *ROWS[:1])
    out = tmp_path / "scores.jsonl"
    run("score", first, second, "--out", out, "--quiet")
    runs, rows = read(out)
    assert [(system.name, system.rows) for system in runs] == [(str(first), 2), (str(second), 1)]
    lines = out.read_text().splitlines()
    out.write_text("\n".join([lines[2], lines[0], lines[1]]))  # as of several merged files
    with pytest.raises(InputError, match="was edited after q2 score wrote it"):
        read(out)
    beside(out).unlink()
    mixed, rows = read(out)
    assert [system.name for system in mixed] == [str(second), str(first)]
    assert [row["id"] for row in rows] == ["a", "a", "b"]
    other = scored(tmp_path, name="other.jsonl")
    runs, _ = read(out, other)
    assert [system.name for system in runs] == [f"{out}: {second}", f"{out}: {first}", str(other)]


NO_SCORE = "line 1: has no score; give a file that q2 score --out has written"
QUESTION = {"span": "a", "start": 0, "question": "?", "how": "equal", "score": 1.0}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"response": "r", "knowledge": "k"}, NO_SCORE),
        ({"id": "a", "response": "r"}, NO_SCORE),
        ({"q2": 1}, "line 1: has no id, which q2 score --out writes beside each score"),
        ({"id": "a", "q2": "high"}, "line 1: the field 'q2' is not a number"),
        ({"id": "a", "q2": True}, "line 1: the field 'q2' is not a number"),
        ({"id": "a", "q2": float("nan")}, "line 1: the field 'q2' is not a number"),
        ({"id": "a", "q2": 1, "fallback": 1}, "line 1: the field 'fallback' is not true or false"),
        ({"id": "a", "q2": 1, "history": ["a", 1]},
         "line 1: the field 'history' is not a list of strings"),
        ({"id": "a", "q2": 1, "questions": [3]},
         "line 1: an item of 'questions' is a number, not an object"),
        ({"id": "a", "q2": 1, "questions": [{**QUESTION, "start": 0.5}]},
         "line 1: an item of 'questions': the field 'start' is not a whole number"),
        ({"id": "a", "q2": 1, "questions": [{**QUESTION, "span": ["</script>"]}]},
         "line 1: an item of 'questions': the field 'span' is not text"),
    ],
)
def test_what_is_no_output_of_q2_score(
    tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(write(tmp_path / "scores.jsonl", row))
    assert str(caught.value) == f"{tmp_path / 'scores.jsonl'}, {message}"


def test_fields_that_items_lack_are_null(tmp_path: Path) -> None:
    _, (row,) = read(write(tmp_path / "s.jsonl", {"id": "a", "q2": 1, "questions": [QUESTION]}))
    assert row["questions"][0] == {
        **QUESTION, "response_answer": None, "knowledge_answer": None, "knowledge_start": None,
        "verdict": None, "verdict_p": None, "f1": None, "plain": None}


# --- side by side ----------------------------------------------------------------------


def column(*rows: tuple[str, str | None, float | None]) -> SystemValues:
    return SystemValues("zero", [
        {"id": id_, "knowledge": knowledge, "q2": value} for id_, knowledge, value in rows], ["q2"])


@pytest.mark.parametrize(
    ("first", "second", "how", "pairs"),
    [
        # By id, in any order, what is not shared left out.
        ([("a", "k"), ("b", "l"), ("c", "m")], [("c", "m"), ("x", "y"), ("a", "k")],
         "id", [(0, 2), (2, 0)]),
        # Only one of them counts: the ids are ids.
        ([("1", "k"), ("2", "l")], [("2", "k"), ("1", "l")], "id", [(0, 1), (1, 0)]),
        ([("2", "k"), ("1", "l")], [("1", "k"), ("2", "l")], "id", [(0, 1), (1, 0)]),
        # Even with other knowledge, as of systems that retrieve their own.
        ([("a", "k"), ("b", "l")], [("b", "m"), ("a", "n")], "id", [(0, 1), (1, 0)]),
        # Row numbers as ids: the knowledge says that the order is another one.
        ([("1", "k"), ("2", "l"), ("3", "m")], [("1", "m"), ("2", "k"), ("3", "l")],
         "knowledge", [(0, 1), (1, 2), (2, 0)]),
        # Several responses to the same turn: the first with the first.
        ([("a", "k"), ("b", "k"), ("c", "l")], [("x", "k"), ("y", "l"), ("z", "k"), ("w", "k")],
         "knowledge", [(0, 0), (1, 2), (2, 1)]),
        # An id twice tells nothing; texts are not known.
        ([("a", None), ("a", None)], [("a", None), ("b", None)], "order", [(0, 0), (1, 1)]),
        # Ids alone, without texts to check them.
        ([("a", None), ("b", None)], [("b", None), ("a", None)], "id", [(0, 1), (1, 0)]),
    ],
)
def test_matching(
    first: list[tuple[str, str | None]], second: list[tuple[str, str | None]],
    how: str, pairs: list[tuple[int, int]],
) -> None:
    made = [column(*((*row, 0.0) for row in rows)) for rows in (first, second)]
    matched = match(*made)
    assert matched is not None
    assert (matched.how, matched.pairs) == (how, pairs)
    other = {(i, j): ("knowledge",) for i, j in pairs if first[i][1] != second[j][1]}
    assert matched.changed == other


def test_what_cannot_be_matched() -> None:
    assert match(column(("a", "k", 1.0)), column(("b", "l", 1.0))) is None
    assert match(column(("a", None, 1.0)), column(("b", None, 1.0), ("c", None, 1.0))) is None
    assert match(column(), column()) is None


def test_row_numbers_do_not_outweigh_texts() -> None:
    """Ids that are row numbers (0, 1, …: a pandas index; 1, 2, …: no ids at all)."""
    def system(start: int, *knowledge: str) -> SystemValues:
        return column(*((str(i), text, 0.0) for i, text in enumerate(knowledge, start)))

    for start in (0, 1):
        shuffled = match(system(start, "k", "l", "m"), system(start, "m", "k", "l"))
        assert shuffled is not None
        assert (shuffled.how, shuffled.pairs) == ("knowledge", [(0, 1), (1, 2), (2, 0)])
        # A row is missing in the middle of the second file.
        short = match(system(start, *"klmnop"), system(start, *"klmop"))
        assert short is not None
        assert short.pairs == [(0, 0), (1, 1), (2, 2), (4, 3), (5, 4)]
        # The knowledge of one row changed: its number still says which row it is.
        changed = match(system(start, "k", "l", "m"), system(start, "k", "new", "m"))
        assert changed is not None
        assert (changed.how, changed.changed) == ("number", {(1, 1): ("knowledge",)})


def test_lost_knowledge_is_a_change() -> None:
    rows = [{"id": "a", "knowledge": "k", "q2": 1.0}, {"id": "b", "knowledge": "l", "q2": 1.0}]
    lost = [rows[0], {"id": "b", "knowledge": None, "q2": None, "reason": "no_knowledge"}]
    matched = match(*(SystemValues("zero", some, ["q2"]) for some in (rows, lost)))
    assert matched is not None
    assert matched.changed == {(1, 1): ("knowledge",)}
    assert SystemValues("zero", lost, ["q2"]).unchecked == ""


def test_the_history_tells_turns_apart() -> None:
    matched = match(*(
        SystemValues("zero", [
            {"id": f"{place}", "knowledge": "k", "history": [turn], "q2": 1.0}
            for place, turn in enumerate(turns, start=1)], ["q2"])
        for turns in (("x", "y"), ("y", "x"))))
    assert matched is not None
    assert (matched.how, matched.pairs) == ("knowledge", [(0, 1), (1, 0)])


def test_differences() -> None:
    first = column(("a", "k", 0.5), ("b", "k", 1.0), ("c", "k", None), ("d", "k", 0.25))
    second = column(("a", "k", 1.0), ("b", "k", 0.0), ("c", "k", 1.0), ("d", "k", 0.2501))
    (found,) = differences(first, second, [(i, i) for i in range(4)])
    assert (found.n, found.better, found.worse, found.same) == (3, 1, 1, 1)
    assert found.value == pytest.approx((0.5 - 1 + 0.0001) / 3)
    assert found.interval is not None
    assert found.interval[0] < found.value < found.interval[1]
    assert not found.clear
    pairs = [(i, i) for i in range(50)]
    (clear,) = differences(column(*[("a", "k", i / 100) for i in range(50)]),
                           column(*[("a", "k", i / 90 + 0.1) for i in range(50)]), pairs)
    assert clear.clear
    (nothing,) = differences(column(("a", "k", None)), column(("a", "k", 1.0)), [(0, 0)])
    assert (nothing.n, nothing.value, nothing.interval, nothing.clear) == (0, None, None, False)


@pytest.mark.parametrize(("names", "steps"), [
    (["a-1", "a-2", "a-10"], [1, 2, 10]),
    (["a-1", "a-2"], None),  # two are no series
    (["a-1", "a-2", "b-3"], None),
    (["a-1", "a-2", "a-2"], None),
    (["a-2", "a-1", "a-3"], None),
    (["a", "b", "c"], None),
    (["1/a-1", "2/a-2", "3/a-3"], None),
    (["a-1-b", "a-2-b", "a-3"], None),
])
def test_checkpoints_are_told_by_one_number(names: list[str], steps: list[int] | None) -> None:
    found = series(names)
    assert (found and found.steps) == steps


def test_checkpoints_are_put_in_the_order_of_their_numbers() -> None:
    assert in_order(["a-10", "a-2", "a-1"]) == ["a-1", "a-2", "a-10"]
    assert in_order(["a-2", "a-1"]) == ["a-2", "a-1"]
    assert in_order(["c", "a", "b"]) == ["c", "a", "b"]


# --- q2 report --------------------------------------------------------------------------


def test_report_of_two_files(tmp_path: Path) -> None:
    first = scored(tmp_path, name="a.jsonl")
    other = [{**row, "response": "Rome has 7 hills."} for row in ROWS]
    second = scored(tmp_path, name="b.jsonl", rows=other)
    page = tmp_path / "compare.html"
    result = run("report", first, second, "-o", page)
    assert (result.exit_code, result.output) == (0, f"{page}\n")
    text = page.read_text(encoding="utf-8")
    assert f"Differences from <bdi>{first}</bdi>" in text
    assert "4 pairs, matched by id" in text
    # b 1/2 -> 1; a and d as before; c has a score on one side only.
    pairs = '"pairs":[{"system":1,"against":0,"rows":[[0,4],[1,5],[2,6],[3,7]]}]'
    assert pairs in text
    third = scored(tmp_path, name="c.jsonl", rows=[{**ROWS[0], "id": "z", "knowledge": "Other."}])
    assert run("report", first, second, third, "-o", page).exit_code == 0
    assert "is not compared" in page.read_text(encoding="utf-8")


def test_report_that_cannot_be_made(tmp_path: Path) -> None:
    out = scored(tmp_path)
    for args, message in (
        ([out, "-o", out], "is an input, so it cannot be written"),
        ([out, "-o", tmp_path / "none" / "r.html"], "there is no folder"),
        ([out, "-o", tmp_path], "it is a folder"),
        ([out, out, "-o", tmp_path / "r.html"], "is named twice"),
        ([tmp_path / "none.jsonl", "-o", tmp_path / "r.html"], "there is no such file"),
        ([tmp_path / "scores-rows.jsonl", "-o", tmp_path / "r.html"], "has no score; give a file"),
    ):
        result = run("report", *args)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1), args
        assert message in result.stderr
        assert not (tmp_path / "r.html").exists()


def test_report_of_standard_input(tmp_path: Path) -> None:
    out, page = scored(tmp_path), tmp_path / "r.html"
    result = CliRunner().invoke(
        main, ["report", "-", "-o", str(page)], input=out.read_bytes())
    assert result.exit_code == 0, result.output
    assert "standard input" in page.read_text(encoding="utf-8")


def test_report_of_no_rows(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    assert run("report", write(tmp_path / "s.jsonl"), "-o", page).exit_code == 2
    assert not page.exists()


def test_ids_that_only_count_are_said_to(tmp_path: Path) -> None:
    bare = [{name: value for name, value in row.items() if name != "id"} for row in ROWS]
    files = [scored(tmp_path, name=name, rows=bare) for name in ("a.jsonl", "b.jsonl")]
    page = tmp_path / "compare.html"
    assert run("report", *files, "-o", page).exit_code == 0
    assert "4 pairs, matched by row number, because the files have no ids." in page.read_text()


def test_checkpoints_are_put_in_order(tmp_path: Path) -> None:
    files = [scored(tmp_path, name=f"step-{step}.jsonl") for step in (1000, 1500, 500)]
    page = tmp_path / "runs.html"
    assert run("report", *files, "-o", page).exit_code == 0
    text = page.read_text()
    assert '"steps":[500,1000,1500]' in text
    # The page begins with the last one.
    assert text.index("step-1500.jsonl</bdi>") < text.index("step-500.jsonl</bdi>")
    # Each beside the first, and beside the one before it.
    assert re.findall(r'"system":(\d),"against":(\d)', text) == [("1", "0"), ("2", "0"), ("2", "1")]
    other = scored(tmp_path, name="other.jsonl")
    assert run("report", *files, other, "-o", page).exit_code == 0
    assert '"series":null' in page.read_text()


def test_a_label_is_on_the_page(tmp_path: Path) -> None:
    rows = [{**row, "label": 1} for row in ROWS]
    _, found = read(scored(tmp_path, rows=rows))
    assert [row["label"] for row in found] == [True, True, None, True]  # the third was not read
    page = tmp_path / "page.html"
    source = write(tmp_path / "rows.jsonl", *rows)
    assert run("score", source, "--report", page).exit_code == 1
    assert page.read_text().count('"label":true') == 3
