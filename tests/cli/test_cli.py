from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import (
    FakeBackbone,
    FakeEntailment,
    FakeMetric,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeSpans,
)

from q2_metric import __version__, metrics
from q2_metric.cli.main import main
from q2_metric.engine import job
from q2_metric.errors import ModelError
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.types import Metric


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin, prog_name="q2")


class Loader:
    """Takes the place of ``load_metrics``: fakes by name, and what it was called with."""

    def __init__(self, *fakes: Metric) -> None:
        self.fakes = {fake.name: fake for fake in fakes}
        self.names: list[str] = []
        self.preset = ""
        self.keywords: dict[str, Any] = {}

    def __call__(self, names: Sequence[str], preset: str, **keywords: Any) -> list[Metric]:
        self.names, self.preset, self.keywords = list(names), preset, keywords
        return [self.fakes.get(name) or FakeMetric(name) for name in names]


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Loader:
    """Q² and SCALE over fake models; the other metrics always say 0.5."""
    spans, questions, reader = FakeSpans(), FakeQuestions(), FakeReader()
    fake = Loader(
        Q2(spans, questions, reader, FakeEntailment(), FakePersonal(), preset="fake"),
        Scale(FakeBackbone(), preset="fake"),
    )
    monkeypatch.setattr(metrics, "load_metrics", fake)
    return fake


def use(monkeypatch: pytest.MonkeyPatch, *fakes: FakeMetric) -> Loader:
    loader = Loader(*fakes)
    monkeypatch.setattr(metrics, "load_metrics", loader)
    return loader


def write(path: Path, *rows: object) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


KNOWLEDGE = "Rome is in Italy. It has 7 hills."
ROWS = (
    {"id": "a", "response": "Rome has 7 hills.", "knowledge": KNOWLEDGE},
    {"id": "b", "response": "Rome has 9 hills.", "knowledge": KNOWLEDGE},
    {"id": "c", "response": 7, "knowledge": KNOWLEDGE},
    {"id": "d", "response": "it has hills", "knowledge": KNOWLEDGE},
)


# --- q2 score --------------------------------------------------------------------------


def test_score_end_to_end(tmp_path: Path, loader: Loader) -> None:
    out = tmp_path / "scores.jsonl"
    rows = write(tmp_path / "rows.jsonl", *ROWS)
    result = run("score", rows, "--out", str(out), "--signature")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"q2: {tmp_path}/rows.jsonl, line 3: the response (field 'response') is a number, "
        "not a string",
        "q2: 1 of 4 rows could not be scored",
    ]
    a, b, c, d = read(out)
    assert [row["id"] for row in (a, b, c, d)] == ["a", "b", "c", "d"]
    # a: both answers found. b: 9 has no answer. d: no span, so the words "it", "has" are
    # judged as a whole, and the knowledge has both.
    assert (a["q2"], a["q2_no_nli"], a["fallback"], a["error"]) == (1.0, 1.0, False, None)
    assert (b["q2"], b["fallback"]) == (0.5, False)
    assert [(q["span"], q["start"], q["how"]) for q in b["questions"]] == [
        ("Rome", 0, "equal"),
        ("9", 9, "no_answer"),
    ]
    assert (d["q2"], d["fallback"], d["questions"]) == (1.0, True, [])
    assert "line 3: the response" in c["error"]
    assert {c[field] for field in ("q2", "scale", "fallback")} == {None}
    # SCALE: 4 of 4 and 3 of 4 words are in the one chunk; of the sentences, the second
    # has 3 of the 4 words of a.
    assert (a["scale"], b["scale"]) == (1.0, 0.75)
    assert a["claims"][0]["passage"] == "It has 7 hills."
    assert a["claims"][0]["passage_support"] == 0.75

    assert "Q²" in result.stdout
    assert "0.833" in result.stdout  # mean of 1, 1/2 and 1
    assert "66.7%" in result.stdout  # two of three have a valid question
    assert "25.0%" in result.stdout  # one of four questions has no answer
    assert "q2|preset:fake|" in result.stdout
    assert "scale|preset:fake|" in result.stdout
    assert f"next  q2 report {out}" in result.stdout
    short = run("score", rows).stdout
    assert "q2|preset:fake|" not in short
    assert re.search(
        r"signatures  groundedness#\w{8}  q2#\w{8}  q2_no_nli#\w{8}\s+scale#\w{8}", short)
    assert max(map(len, short.splitlines())) <= 80 + len(str(rows))


def test_score_json(tmp_path: Path, loader: Loader) -> None:
    result = run("score", write(tmp_path / "rows.jsonl", *ROWS), "--json")
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)["files"]
    assert (found["rows"], found["failed"]) == (4, 1)
    assert found["rows_per_second"] > 0
    q2 = found["scores"]["q2"]
    assert q2["value"] == pytest.approx(2.5 / 3)
    assert (q2["n"], q2["n_fallback"], q2["n_questions"]) == (3, 1, 4)
    assert q2["coverage"] == pytest.approx(2 / 3)
    assert q2["no_answer_rate"] == 0.25
    assert q2["interval"][0] <= q2["value"] <= q2["interval"][1]
    assert list(found["scores"]) == ["groundedness", "q2", "q2_no_nli", "scale"]
    columns = {"response": "response", "knowledge": "knowledge", "history": None, "id": "id",
               "label": None, "question": None}
    assert found["columns"] == columns


def test_without_nli_has_its_own_signature(
    tmp_path: Path, loader: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS[0])
    (found,) = json.loads(run("score", path, "--json").stdout)["files"]
    q2, no_nli = (found["scores"][name]["signature"] for name in ("q2", "q2_no_nli"))
    assert "|nli:fake-nli|" in q2
    assert "|compare:nli|" in q2
    wanted = q2.replace("q2|", "q2_no_nli|", 1).replace("|compare:nli|", "|compare:f1|")
    assert no_nli == wanted  # its fallback is end-to-end NLI all the same

    q2_only = loader.fakes["q2"]
    monkeypatch.setattr(q2_only, "signature", "q2|nli:x|compare:nli|fallback:off|version:1")
    (found,) = json.loads(run("score", path, "--json").stdout)["files"]
    no_nli = found["scores"]["q2_no_nli"]["signature"]
    assert no_nli == "q2_no_nli|nli:off|compare:f1|fallback:off|version:1|no_claim:zero"


def test_the_columns_are_shown(tmp_path: Path, loader: Loader) -> None:
    row = {"context": ["h"], "response": "Rome", "evidence": "Rome"}
    path = write(tmp_path / "rows.jsonl", row)
    said = "read response from 'response', knowledge from 'evidence'; kept: 'context'\n"
    both = run("score", path, path.replace("rows", "./rows"))
    assert both.stderr.count(said) == 1
    assert run("score", path, "--quiet").stderr.count(said) == 0
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert "read response" not in run("score", str(empty)).stderr
    assert json.loads(run("score", str(empty), "--json").stdout)["files"][0]["columns"] == {}


def test_everything_went_well(tmp_path: Path, loader: Loader) -> None:
    rows, names = write(tmp_path / "rows.jsonl", ROWS[0]), "knowledge_f1, scale,knowledge_f1"
    result = run("score", rows, "--metrics", names)
    assert (result.exit_code, result.stderr) == (0, "")
    assert loader.names == ["scale", "knowledge_f1"]


def test_standard_input(loader: Loader) -> None:
    result = run("score", "-", "--json", stdin=json.dumps(ROWS[0]) + "\n")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["files"][0]["scores"]["q2"]["value"] == 1.0
    twice = run("score", "-", "-", stdin="")
    assert twice.exit_code == 2
    assert "standard input (-) can be read only once" in twice.stderr


def test_blocks_keep_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "BLOCK", 3)
    values = {f"r{i}": i / 10 for i in range(8)}
    f1 = FakeMetric("knowledge_f1", values)
    use(monkeypatch, f1)
    rows: list[object] = [{"response": r, "knowledge": "k"} for r in values]
    rows[4] = {"response": 7, "knowledge": "k"}
    out = tmp_path / "scores.jsonl"
    path = write(tmp_path / "rows.jsonl", *rows)
    result = run("score", path, "--metrics", "knowledge_f1", "--out", str(out), "--json")
    assert f1.batches == [1, 2, 2, 2]
    assert [row["knowledge_f1"] for row in read(out)] == [0.0, 0.1, 0.2, 0.3, None, 0.5, 0.6, 0.7]
    assert [row["id"] for row in read(out)] == [str(i) for i in range(1, 9)]
    system = json.loads(result.stdout)["files"][0]["scores"]["knowledge_f1"]
    assert system["value"] == pytest.approx(2.4 / 7)


def test_a_block_of_bad_rows_asks_no_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    f1 = FakeMetric("knowledge_f1")
    use(monkeypatch, f1)
    rows = [{"response": 7, "knowledge": "k"}] * 8
    result = run("score", write(tmp_path / "rows.jsonl", *rows), "--metrics", "knowledge_f1")
    assert (result.exit_code, f1.batches) == (1, [])
    lines = result.stderr.splitlines()
    assert len(lines) == 7  # five rows in full, one line for the others, the count
    assert lines[-1] == "q2: 8 of 8 rows could not be scored"


def test_a_metric_without_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakeMetric("q2", {KNOWLEDGE: None}))
    rows = write(tmp_path / "rows.jsonl", {"response": KNOWLEDGE, "knowledge": "k"})
    result = run("score", rows, "--metrics", "q2", "--json")
    assert result.exit_code == 0  # scored: it has no value, and that is the answer
    assert json.loads(result.stdout)["files"][0]["scores"]["q2"]["value"] is None
    assert run("score", rows, "--metrics", "q2").exit_code == 0


def test_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakeMetric("knowledge_f1", {"x": 1.0, "y": 0.0}))
    first = write(tmp_path / "a.jsonl", {"response": "x", "knowledge": "k"})
    second = write(tmp_path / "b.jsonl", {"response": "y", "knowledge": "k"})
    out = tmp_path / "scores.jsonl"
    result = run("score", first, second, "--metrics", "knowledge_f1", "--out", str(out), "--json")
    assert [(row["file"], row["id"], row["knowledge_f1"]) for row in read(out)] == [
        (first, "1", 1.0),
        (second, "1", 0.0),
    ]
    values = [
        file["scores"]["knowledge_f1"]["value"] for file in json.loads(result.stdout)["files"]]
    assert values == [1.0, 0.0]
    assert "b.jsonl" in run("score", first, second, "--metrics", "knowledge_f1").stdout


def test_strict_stops_at_the_first_bad_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "BLOCK", 2)
    f1 = FakeMetric("knowledge_f1")
    use(monkeypatch, f1)
    good = {"response": "r", "knowledge": "k"}
    path = write(tmp_path / "rows.jsonl", good, good, good, {**good, "response": 3}, good)
    out = tmp_path / "scores.jsonl"
    result = run("score", path, "--metrics", "knowledge_f1", "--strict", "--out", str(out))
    assert result.exit_code == 1
    assert result.stderr == (
        f"q2: error: {path}, line 4: the response (field 'response') is a number, not a string\n"
    )
    assert result.stdout == ""
    assert f1.batches == []  # found before anything was scored
    assert list(tmp_path.iterdir()) == [Path(path)]


def test_evidence_is_searched_for_outputs_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = FakeMetric("scale")
    use(monkeypatch, scale)
    path = write(tmp_path / "rows.jsonl", {"response": KNOWLEDGE, "knowledge": "k"})
    out = str(tmp_path / "scores.csv")
    run("score", path, "--metrics", "scale")
    run("score", path, "--metrics", "scale", "--out", out)
    run("score", path, "--metrics", "scale", "--out", out, "--no-evidence", "--overwrite")
    run("score", path, "--metrics", "scale", "--report", str(tmp_path / "report.html"))
    assert scale.evidence == [False, True, False, True]


def test_report(tmp_path: Path, loader: Loader) -> None:
    report, out = tmp_path / "report.html", tmp_path / "scores.jsonl"
    path = write(tmp_path / "rows.jsonl", *ROWS)
    result = run("score", path, "--report", str(report), "--out", str(out))
    assert result.exit_code == 1  # a bad row, as without a report
    page = report.read_text(encoding="utf-8")
    assert page.count('"system":0') == len(read(out)) == len(ROWS)
    assert page.count("What about Rome?") == 2
    assert "It has 7 hills." in page
    assert "line 3: the response (field 'response') is a number, not a string" in page
    assert "0.833" in page
    assert "q2_no_nli|preset:fake|" in page.replace("<wbr>", "")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        *("report.html", "rows.jsonl", "scores.jsonl", "scores.jsonl.manifest.json"),
    ]


def test_report_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "BLOCK", 2)
    use(monkeypatch, FakeMetric("knowledge_f1"))
    good = {"response": "r", "knowledge": "k"}
    first = write(tmp_path / "a.jsonl", *[{**good, "id": f"a{i}"} for i in range(3)])
    second = write(tmp_path / "b.jsonl", {**good, "id": "b0"})
    report = tmp_path / "report.html"
    done = run("score", first, second, "--metrics", "knowledge_f1", "--report", str(report))
    assert done.exit_code == 0
    page = report.read_text(encoding="utf-8")
    assert all(f"<bdi>{file}</bdi>" in page for file in (first, second))
    rows = re.findall(r'"id":"(\w+)".*"system":(\d)', page)
    assert rows == [("a0", "0"), ("a1", "0"), ("a2", "0"), ("b0", "1")]


def test_report_is_left_alone_by_a_run_that_fails(tmp_path: Path, loader: Loader) -> None:
    report = tmp_path / "report.html"
    report.write_text("earlier")
    path = write(tmp_path / "rows.jsonl", *ROWS)
    command = ("score", path, "--strict", "--report", str(report), "--overwrite")
    assert run(*command).exit_code == 1
    assert report.read_text() == "earlier"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["report.html", "rows.jsonl"]


def test_columns(tmp_path: Path, loader: Loader) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n,said,source\nx,Rome,Rome\n")
    out = tmp_path / "scores.jsonl"
    columns = ("--response", "said", "--knowledge", "source", "--id", "n")
    assert run("score", str(path), *columns, "--out", str(out)).exit_code == 0
    assert (read(out)[0]["id"], read(out)[0]["q2"]) == ("x", 1.0)
    result = run("score", str(path))
    assert result.exit_code == 2
    assert "no column looks like the response; the columns are 'n', 'said'" in result.stderr


def test_quiet(tmp_path: Path, loader: Loader) -> None:
    result = run("score", write(tmp_path / "rows.jsonl", ROWS[0]), "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_settings_are_passed_on_only_where_given(tmp_path: Path, loader: Loader) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS[0])
    run("score", path)
    assert loader.preset == "bundled"
    assert loader.keywords == {}

    settings = (
        "--metrics q2,scale,bertscore "
        "--preset paper --device cuda --dtype bfloat16 -s batch_size=8 -s decoding=sample "
        "-s chunking=prompt -s prompt=scale-score "
        "-s questions_per_span=all -s personal=keep -s nli=false -s fallback=false "
        "-s drop_unanswerable=true -s coreference=true -s chunk-size=1000 -s overlap=0 "
        "--set branches=3 -s question_model=a -s reader_model=b -s nli_model=c "
        "-s scale_model=d -s bertscore_model=e -s coreference_model=f"
    )
    assert run("score", path, *settings.split()).exit_code == 0
    assert loader.preset == "paper"
    assert loader.keywords == {
        "device": "cuda",
        "dtype": "bfloat16",
        "batch_size": 8,
        "question_model": "a",
        "reader_model": "b",
        "nli_model": "c",
        "scale_model": "d",
        "bertscore_model": "e",
        "coreference_model": "f",
        "decoding": "sample",
        "questions_per_span": "all",
        "personal": "keep",
        "nli": False,
        "fallback": False,
        "drop_unanswerable": True,
        "coreference": True,
        "chunk_size": 1000,
        "overlap": 0.0,
        "chunking": "prompt",
        "prompt": "scale-score",
        "branches": 3,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score"], "Missing argument 'FILE...'"),
        (["score", "x.jsonl", "--metrics", "q2,rouge"],
         "no metric 'rouge'; did you mean 'knowledge_f1'? The metrics are grounded"),
        (["score", "x.jsonl", "--metrics", ","], "no metric is named"),
        (["score", "x.jsonl", "-s", "branches=1"], "branches must be at least 2, not 1"),
        (["score", "x.jsonl", "-m", "groundedness", "-s", "top_chunks=2"],
         "-s top_chunks would change nothing: it is for SCALE, which this command does not"),
        (["score", "x.jsonl", "-s", "overlap=1"], "overlap must be at least 0 and below 1"),
        (["score", "x.jsonl", "-s", "decoding=best"],
         "decoding must be one of beam, greedy, sample, not 'best'"),
        (["score", "x.jsonl", "-s", "branches"], "'branches' is not of the form NAME=VALUE"),
        (["score", "x.jsonl", "-s", "dtype=int8"], "an option of its own: --dtype VALUE"),
        (["score", "x.jsonl", "-s", "chunk_siz=9"], "did you mean chunk_size? q2 presets --set"),
        (["score", "x.jsonl", "--chunk-size", "9"], "A setting is given as -s chunk_size=VALUE"),
        (["score", "x.jsonl", "--no-nli"], "A setting is given as -s nli=false"),
        (["score", "x.jsonl"], "q2: error: x.jsonl: there is no such file"),
        (["score", "answers"], "q2: error: answers: there is no such file"),
        (["report", "answers"], "q2: error: answers: there is no such file"),
        (["report", "x.jsonl", "--out", "-"], "'--out': cannot be standard output; name a file"),
        (["gate", "x.jsonl", "--junit", "-"], "'--junit': cannot be standard output"),
        (["gate", "x.jsonl"], "q2: error: x.jsonl: there is no such file"),
        (["gate", "-"], "q2: error: -: q2 gate needs a file that can be read twice"),
        (["explain", "--response", " ", "--knowledge", "k"], "q2: error: the response is empty"),
        (["explain", "--response", "\u200b", "--knowledge", "k"], "the response is empty"),
        (["explain", "--response", "r"], "Missing option '--knowledge'"),
        (["data", "download", "foo"], "q2: error: there is no data set 'foo'"),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_usage(arguments: list[str], message: str, loader: Loader) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert loader.names == []  # no model was loaded to find this out


def test_output_is_checked_before_models_are_loaded(tmp_path: Path, loader: Loader) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS[0])
    for out in (path, str(tmp_path / "scores.txt"), str(tmp_path / "none" / "scores.csv")):
        assert run("score", path, "--out", out).exit_code == 2
    for report in (path, str(tmp_path), str(tmp_path / "none" / "report.html")):
        assert run("score", path, "--report", report).exit_code == 2
    both = str(tmp_path / "scores.jsonl")
    assert run("score", path, "--out", both, "--report", both).exit_code == 2
    assert loader.names == []
    assert read(tmp_path / "rows.jsonl") == [ROWS[0]]


def test_our_errors_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_keywords: object) -> list[Metric]:
        raise ModelError("no\nmodel \x1b[31m'x'")

    monkeypatch.setattr(metrics, "load_metrics", fail)
    out = tmp_path / "scores.jsonl"
    out.write_text("earlier results\n")
    path = write(tmp_path / "rows.jsonl", ROWS[0])
    result = run("score", path, "--out", str(out), "--overwrite")
    assert result.exit_code == 3
    assert result.stderr == "q2: error: no model �[31m'x'\n"
    assert out.read_text() == "earlier results\n"  # not lost to a run that never began


# --- q2 explain ------------------------------------------------------------------------


def test_explain(loader: Loader) -> None:
    result = run(
        *("explain", "--response", "Rome has 9 hills.", "--knowledge", KNOWLEDGE),
        *("--history", "Where?", "--history", "There."),
    )
    assert result.exit_code == 0
    for text in ("Where?", "There.", "What about 9?", "no answer", "Q²  0.500", "SCALE  0.750"):
        assert text in result.stdout
    assert "It has 7 hills." in result.stdout


def test_explain_fits_the_terminal(loader: Loader) -> None:
    long = "Rome has 7 hills and Roma has 9 of them, which is what everyone says about it. " * 3
    shown = run("explain", "--response", long, "--knowledge", f"{KNOWLEDGE} {long[:90]}").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "not asked about: " in shown
    whole = run("explain", "--response", "Rome", "--knowledge", KNOWLEDGE, "--signature").stdout
    assert "q2|preset:fake|" in whole


def test_evidence_that_is_none(loader: Loader) -> None:
    shown = run("explain", "--response", "Bonn has 9 rivers in May.", "--knowledge", KNOWLEDGE)
    assert "no support found; nearest (0.167): Rome is in Italy." in " ".join(shown.stdout.split())


def test_explain_json(loader: Loader) -> None:
    result = run("explain", "--response", "it has hills", "--knowledge", KNOWLEDGE, "--json")
    found = json.loads(result.stdout)
    assert (found["q2"], found["fallback"], found["scale"]) == (1.0, True, 1.0)
    assert found["signatures"]["q2"].startswith("q2|preset:fake|")
    assert found["plain"] == ["Nothing to ask about; as a whole it seems to follow from the "
                              "knowledge."]


def test_explain_says_why_there_is_no_question(loader: Loader) -> None:
    result = run("explain", "--response", "it has hills", "--knowledge", KNOWLEDGE)
    shown = " ".join(result.stdout.split())
    assert "nothing to ask about: judged as a whole" in shown
    assert "✓ Nothing to ask about; as a whole it seems to follow" in shown
    assert "entailment 1.000" in shown


def test_what_claims_nothing_has_no_score(tmp_path: Path, loader: Loader) -> None:
    shown = " ".join(run("explain", "--response", "::::", "--knowledge", KNOWLEDGE).stdout.split())
    assert "Q² – the response claims nothing that could be checked" in shown
    assert "SCALE – the response claims nothing that could be checked" in shown

    out = tmp_path / "scores.jsonl"
    chat = {"id": "e", "response": "thanks !", "knowledge": KNOWLEDGE}
    result = run("score", write(tmp_path / "rows.jsonl", ROWS[0], chat), "--out", str(out))
    assert result.exit_code == 0
    said, talk = read(out)
    assert (said["q2"], said["reason"]) == (1.0, None)
    assert (talk["q2"], talk["scale"], talk["reason"], talk["error"]) == (
        None, None, "no_claim", None)
    assert re.search(r"Q².* 50\.0%  2$", result.stdout, re.M)  # the share that claims nothing
    assert "50.0%" in result.stdout
    page = tmp_path / "page.html"
    asked = run("score", str(tmp_path / "rows.jsonl"), "--json", "--report", str(page))
    assert 'data-label="no claim">50.0' in page.read_text(encoding="utf-8")
    system = json.loads(asked.stdout)["files"][0]["scores"]["q2"]
    assert (system["value"], system["n"], system["no_claim"]) == (0.5, 2, 0.5)
    left_out = run("score", str(tmp_path / "rows.jsonl"), "--json", "--no-claim", "exclude")
    system = json.loads(left_out.stdout)["files"][0]["scores"]["q2"]
    assert (system["value"], system["n"], system["no_claim"]) == (1.0, 1, 0.5)


def test_evidence(loader: Loader) -> None:
    result = run("explain", "-m", "scale", "--response", "Rome has 7 hills.",
                 "--knowledge", KNOWLEDGE)
    assert loader.names == ["scale"]
    assert "It has 7 hills." in result.stdout
    assert "0.750" in result.stdout


def test_texts_of_users_are_no_markup(loader: Loader) -> None:
    hostile = "[bold]Rome[/bold] [/] \x1b[2J\u202e :smile: [link=http://x.test]X[/link]"
    result = run("explain", "--response", hostile, "--knowledge", hostile)
    assert result.exit_code == 0
    shown = "[bold]Rome[/bold] [/] �[2J� :smile: [link=http://x.test]X[/link]"
    assert shown in " ".join(result.stdout.split())
    assert "\x1b" not in result.stdout


# --- the rest --------------------------------------------------------------------------


def test_presets() -> None:
    result = run("presets")
    assert "…" not in result.output  # a name that is cut names nothing
    assert result.exit_code == 0
    for text in ("bundled", "entailment + wide", "google/flan-t5-xl", "needs q2-metric[torch]"):
        assert text in result.stdout


def test_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "true").mkdir()
    (tmp_path / "true" / "q2.csv").write_text("mine")
    assert run("data", "download", "true/q2").stdout == f"{tmp_path}/true/q2.csv\n"
    listed = run("data", "list")
    assert listed.exit_code == 0
    states = {line.split()[0]: line for line in listed.stdout.splitlines() if line[:1] not in " n"}
    assert "differs" in states["true/q2"]
    assert "not published" in states["true/dialfact_a"]


def test_version() -> None:
    assert run("--version").stdout == f"q2 {__version__}\n"


def test_help_is_light() -> None:
    """No model, no array library, not even rich: those take longer than the help."""
    code = (
        "import sys\n"
        "from q2_metric.cli.main import main\n"
        "main(['score', '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'spacy', 'jinja2', 'onnxruntime', 'torch', 'sacrebleu', 'rich'}\n"
        "heavy |= {'pooch'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "--knowledge-pool" in done.stdout


def test_python_m() -> None:
    command = [sys.executable, "-m", "q2_metric", "score"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Usage: q2 score" in done.stderr
    assert "Traceback" not in done.stderr
