"""``q2 select``, ``q2 respond`` and ``q2 score --knowledge-pool``, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import local_models
import pytest
from click.testing import CliRunner, Result

from q2_metric.cli.main import main

KNOWLEDGE = {
    "hotel": {
        "1": {"name": "Yale Hotel", "docs": {
            "1": {"title": "Can I bring my dog?", "body": "Pets are not allowed."},
            "2": {"title": "Is there parking?", "body": "Parking is free for guests."}}},
        "2": {"name": "Artmar Hotel", "docs": {
            "1": {"title": "Are pets welcome?", "body": "Dogs may stay for ten dollars."}}},
    },
    "taxi": {"*": {"name": None, "docs": {"1": {"title": "Is it safe?", "body": "Yes."}}}},
}
LOGS = [
    [{"speaker": "U", "text": "a hotel please"}, {"speaker": "S", "text": "the yale hotel"},
     {"speaker": "U", "text": "can i park there", "nbest": [{"hyp": "can i bark there"}]}],
    [{"speaker": "U", "text": "what is the address of the artmar hotel"}],
    [{"speaker": "U", "text": "is the artmar hotel ok with dogs"}],
]
LABELS: list[dict[str, Any]] = [
    {"target": True, "knowledge": [{"domain": "hotel", "entity_id": 1, "doc_id": 2}],
     "response": "yes parking is free"},
    {"target": False},
    {"target": True, "knowledge": [{"domain": "hotel", "entity_id": "2", "doc_id": "1"}],
     "response": "dogs may stay for ten dollars"},
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    values = {"pool": KNOWLEDGE, "logs": LOGS, "labels": LABELS, "dialogue": LOGS[0]}
    for name, value in values.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    return {name: str(tmp_path / f"{name}.json") for name in values} | {"folder": str(tmp_path)}


def q2(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def ok(*arguments: str) -> Result:
    result = q2(*arguments)
    assert result.exit_code == 0, result.output
    return result


def error(*arguments: str) -> str:
    result = q2(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.output


def labelled(files: dict[str, str]) -> list[str]:
    return ["--pool", files["pool"], "--logs", files["logs"], "--labels", files["labels"]]


# --- select --------------------------------------------------------------------------------


def test_rank_one_dialogue(files: dict[str, str]) -> None:
    line = json.loads(ok("select", "rank", files["dialogue"], "--pool", files["pool"],
                         "-k", "2", "--json").stdout)
    assert line["ranker"].endswith("+egr")
    first = line["snippets"][0]
    assert (first["domain"], first["entity_id"], first["doc_id"]) == ("hotel", "1", "2")
    assert len(line["snippets"]) == 2
    shown = ok("select", "rank", files["dialogue"], "--pool", files["pool"]).output
    assert shown.index("hotel/1/2") < shown.index("hotel/1/1")


def test_rank_what_is_said(files: dict[str, str]) -> None:
    shown = ok("select", "rank", "--say", "yale hotel or artmar hotel", "--say", "artmar hotel",
               "--say", "is a dog welcome", "--pool", files["pool"], "--json").stdout
    assert json.loads(shown)["snippets"][0]["entity_name"] == "Artmar Hotel"


def test_rank_many_with_a_vote(files: dict[str, str]) -> None:
    out = Path(files["folder"]) / "out.jsonl"
    ok("select", "rank", "--logs", files["logs"], "--pool", files["pool"], "--ranker", "bm25",
       "--ranker", "bundled", "--vote", "soft", "--egr", "fuzzy", "--out", str(out))
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["0", "1", "2"]
    assert lines[0]["ranker"].startswith("soft(bm25+egr-fuzzy,bundled")
    assert lines[2]["snippets"][0]["entity_id"] == "2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--turn", "9"], "there is no turn 9; its turns are 0 to 2"),
        (["--turn", "-1"], "there is no turn -1"),
        (["--ranker", "nothing"], "there is no ranker 'nothing'"),
        (["--say", "hello"], "give one of DIALOGUE.json, --say and --logs"),
    ],
)
def test_bad_rank(files: dict[str, str], arguments: list[str], message: str) -> None:
    said = error("select", "rank", files["dialogue"], "--pool", files["pool"], *arguments)
    assert message in said


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ({}, "has no snippets"),
        ([], "has no snippets"),
        ({"hotel": {"1": {"name": "x", "docs": {"4": {"title": "?"}}}}}, "hotel/1/4 has no answer"),
    ],
)
def test_bad_pool(files: dict[str, str], pool: object, message: str) -> None:
    Path(files["pool"]).write_text(json.dumps(pool))
    assert message in error("select", "rank", files["dialogue"], "--pool", files["pool"])


def test_evaluate(files: dict[str, str]) -> None:
    folder = Path(files["folder"])
    shown = ok("select", "evaluate", *labelled(files), "--out", str(folder / "k.md"),
               "--out", str(folder / "k.json")).output
    found = json.loads((folder / "k.json").read_text(encoding="utf-8"))
    tables = {table["name"]: {row[0]: row[1:] for row in table["rows"]}
              for table in found["tables"]}
    rows = tables["selection"]
    bundled = next(name for name in rows if str(name).startswith("bundled"))
    assert rows[bundled][:6] == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert found["facts"]["turns that need knowledge"] == "2"
    assert tables["domains_r1"][bundled] == [1.0]
    assert tables["recall"]["bm25"][0] == 1.0
    assert any("hard vote" in str(name) for name in rows)
    (detection,) = tables["detection"].values()
    assert detection[3:] == [3, 2]
    page = (folder / "k.md").read_text()
    assert f"| {bundled} | 100.0 | 100.0 | 100.0 | 0.0 | 0.0 | 0.0 |" in page
    assert "R@1" in shown
    assert "wrong" in shown


def test_evaluate_with_labels_of_another_pool(files: dict[str, str]) -> None:
    LABELS_OF_SPA = [{**LABELS[0], "knowledge": [{"domain": "spa", "entity_id": 1, "doc_id": 1}]},
                     *LABELS[1:]]
    Path(files["labels"]).write_text(json.dumps(LABELS_OF_SPA))
    assert "label 0: unknown domain 'spa'" in error("select", "evaluate", *labelled(files))
    Path(files["labels"]).write_text(json.dumps(LABELS[:2]))
    assert "has 2 labels for 3 dialogues" in error("select", "evaluate", *labelled(files))


@pytest.mark.slow
def test_train_then_rank_and_detect(files: dict[str, str], tmp_path: Path) -> None:
    base = str(local_models.encoder(tmp_path / "base", "roberta", "AutoModel"))
    dev = ["--dev-logs", files["logs"], "--dev-labels", files["labels"]]
    common = [*labelled(files), *dev, "--base", base, "--epochs", "1", "--device", "cpu"]
    rss, detector = str(tmp_path / "rss"), str(tmp_path / "detector")
    assert "dev R@1" in ok("select", "train", *common, "--out", rss).output
    ok("select", "train-detector", *common, "--out", detector)
    shown = ok("select", "rank", files["dialogue"], "--pool", files["pool"], "--ranker", rss,
               "--narrow", "3", "--device", "cpu", "--json").stdout
    assert len(json.loads(shown)["snippets"]) == 4  # EGR reorders five: narrowed to no less
    shown = ok("select", "evaluate", *labelled(files), "--ranker", rss, "--detector", detector,
               "--device", "cpu").output
    assert "detector:detector  " in shown


@pytest.mark.slow
def test_train_without_a_domain_then_reproduce(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy")
    data = tmp_path / "data" / "dstc10"
    data.mkdir(parents=True)
    for name, file in (("knowledge", "pool"), ("val_logs", "logs"), ("val_labels", "labels")):
        (data / f"{name}.json").write_bytes(Path(files[file]).read_bytes())
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path / "data"))
    base = str(local_models.encoder(tmp_path / "base", "bert", "AutoModel"))
    dev = ["--dev-logs", files["logs"], "--dev-labels", files["labels"]]
    common = ["select", "train", *labelled(files), *dev, "--base", base, "--epochs", "1",
              "--device", "cpu", "--kind", "choice", "--no-domain"]
    choice = str(tmp_path / "choice")
    assert "no labelled turn needs knowledge" in error(
        *common, "--without-domain", "hotel", "--out", choice)
    ok(*common, "--without-domain", "taxi", "--out", choice)
    out = tmp_path / "r.json"
    ok("reproduce", "rss-egr", "--trained", choice, "--quiet", "--out", str(out))
    tables = {one["name"]: one for one in json.loads(out.read_text())["tables"]}
    rows = {(row[0], row[1]): row for row in tables["rss-egr-3"]["rows"]}
    titles = [column["title"] for column in tables["rss-egr-3"]["columns"]]
    assert ("BERT", "no EGR, no domain name") in rows
    ours = rows["bundled", ""]
    assert (ours[2], ours[titles.index("R@5")]) == ("DSTC10 validation", 1.0)
    for variant in ("soft vote", "EGR after the vote", "soft vote, EGR after the vote"):
        assert ("ensemble", variant) in rows
    errors = {(row[0], row[1]): row[4:] for row in tables["rss-egr-6"]["rows"]}
    assert all(sum(cells) <= 2 for (name, _), cells in errors.items() if name == "bundled")
    pipeline = {row[2]: row for row in tables["rss-egr-2"]["rows"] if row[3].startswith("ours")}
    assert set(pipeline) == {f"DSTC10 validation, subtask {n}" for n in (1, 2, 3)}
    assert "BLEU-4" in [column["title"] for column in tables["rss-egr-2"]["columns"]]
    assert "answer of the snippet" in [row[0] for row in tables["rss-egr-4"]["rows"]]
    assert "holds no trained ranker" in error("reproduce", "rss-egr", "--trained", str(data))


@pytest.mark.slow
def test_the_ensemble_by_one_command(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trained on the responses alone, the seven rankers vote in q2 select and in tables 2 and 3,
    and a trained responder writes table 4."""
    pytest.importorskip("scipy")
    data = tmp_path / "data" / "dstc10"
    data.mkdir(parents=True)
    for name, file in (("knowledge", "pool"), ("val_logs", "logs"), ("val_labels", "labels")):
        (data / f"{name}.json").write_bytes(Path(files[file]).read_bytes())
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path / "data"))
    bases = [str(local_models.encoder(tmp_path / kind, kind, "AutoModel"))
             for kind in ("bert", "roberta")]
    seven = str(tmp_path / "seven")
    common = ["select", "train", "--pool", files["pool"], "--labels", files["labels"],
              "--dev-labels", files["labels"], "--base", bases[0], "--second-base", bases[1],
              "--epochs", "1", "--device", "cpu", "--out", seven]
    assert "--second-base is for --kind ensemble" in error(*common)
    assert ok(*common, "--kind", "ensemble").output.count("best") >= 7
    shown = ok("select", "rank", files["dialogue"], "--pool", files["pool"], "--ranker", seven,
               "--vote", "soft", "--device", "cpu", "--json").stdout
    assert json.loads(shown)["ranker"].count("choice:") == 6
    out = tmp_path / "r.json"
    gpt2 = str(local_models.gpt2(tmp_path / "gpt2"))
    ok("reproduce", "rss-egr-2", "rss-egr-3", "rss-egr-4", "--trained", seven, "--trained", gpt2,
       "--narrow", "5", "--quiet", "--out", str(out))
    tables = {one["name"]: one for one in json.loads(out.read_text())["tables"]}
    rows = {(row[0], row[1]) for row in tables["rss-egr-3"]["rows"] if row[3].startswith("ours")}
    for kind in ("BERT", "RoBERTa"):
        assert {(kind, ""), (kind, "model 2"), (kind, "no EGR, model 3")} <= rows
    assert {("RSS", ""), ("ensemble", ""), ("ensemble", "soft vote, EGR after the vote")} <= rows
    four = {(row[0], row[1]): row for row in tables["rss-egr-4"]["rows"]
            if row[3].startswith("ours")}
    assert {("GPT-2", "beam search"), ("GPT-2", "nucleus sampling")} <= set(four)


# --- respond -------------------------------------------------------------------------------


@pytest.mark.slow
def test_respond(files: dict[str, str], tmp_path: Path) -> None:
    bart = str(local_models.bart(tmp_path / "bart"))
    dev = ["--dev-logs", files["logs"], "--dev-labels", files["labels"]]
    model = str(tmp_path / "model")
    ok("respond", "train", *labelled(files), *dev, "--base", bart, "--epochs", "1", "--out",
       model, "--device", "cpu")
    out = tmp_path / "said.jsonl"
    shown = ok("respond", "write", *labelled(files), "--model", model, "--device", "cpu",
               "--beam", "2", "--out", str(out), "--json").stdout
    figures = json.loads(shown)
    assert figures["responses"] == 2
    assert {"BLEU-4", "ROUGE-1"} <= set(figures)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["0", "2"]
    assert lines[0]["snippet"]["doc_id"] == "2"
    assert lines[0]["knowledge"] == "Is there parking? Parking is free for guests."
    # What was written is what q2 score reads.
    again = json.loads(ok("score", str(out), "--metrics", "knowledge_f1", "--json").stdout)
    assert (again["files"][0]["rows"], again["files"][0]["failed"]) == (2, 0)


@pytest.mark.slow
def test_respond_to_the_detected_turns(files: dict[str, str], tmp_path: Path) -> None:
    bart = str(local_models.bart(tmp_path / "bart"))
    out = tmp_path / "said.jsonl"
    shown = ok("respond", "write", *labelled(files), "--model", bart, "--detector", "bundled",
               "--device", "cpu", "--out", str(out), "--json").stdout
    figures, lines = json.loads(shown), out.read_text().splitlines()
    assert figures["responses"] == len(lines)
    right = {"0", "2"} & {json.loads(line)["id"] for line in lines}
    assert (figures["precision"], figures["recall"]) == (len(right) / len(lines), len(right) / 2)
    assert figures["R@5"] == pytest.approx(figures["F1"]), "all snippets are among the first five"


# --- score ---------------------------------------------------------------------------------


def rows(folder: str, *values: dict[str, Any]) -> str:
    path = Path(folder) / "rows.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return str(path)


def test_score_with_a_pool(files: dict[str, str]) -> None:
    file = rows(
        files["folder"],
        {"response": "parking is free", "history": ["the yale hotel", "sure", "can i park there"]},
        {"response": "no history here"},
        {"response": "dogs may stay", "history": ["is the artmar hotel ok with dogs"]},
    )
    out = Path(files["folder"]) / "scores.jsonl"
    result = q2("score", file, "--metrics", "knowledge_f1", "--knowledge-pool", files["pool"],
                "--out", str(out), "--json")
    assert result.exit_code == 1  # one row has no history
    scores = [json.loads(line) for line in out.read_text().splitlines()]
    assert [s["selected"] and s["selected"]["entity_id"] for s in scores] == ["1", None, "2"]
    assert scores[0]["selected"]["text"] == "Is there parking? Parking is free for guests."
    assert scores[0]["selected"]["score"] == pytest.approx(scores[0]["selected"]["score"])
    assert scores[0]["knowledge_f1"] > 0.5
    assert "row 2: has no history" in scores[1]["error"]
    (summary,) = json.loads(result.stdout)["files"]
    assert summary["columns"]["knowledge"].startswith(f"chosen from {files['pool']} by bundled")
    assert "|knowledge:bundled-selection" in summary["scores"]["knowledge_f1"]["signature"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_score_with_a_pool_as_a_table(files: dict[str, str], suffix: str) -> None:
    file = rows(files["folder"], {"response": "yes", "history": ["can i park at yale hotel"]})
    out = Path(files["folder"]) / f"scores{suffix}"
    pool = ("--knowledge-pool", files["pool"])
    ok("score", file, "--metrics", "knowledge_f1", *pool, "--out", str(out))
    if suffix == ".csv":
        assert '""doc_id"": ""2""' in out.read_text()
    else:
        import pyarrow.parquet as pq

        assert pq.read_table(out).to_pylist()[0]["selected"]["doc_id"] == "2"


def test_score_with_the_passages_of_each_row(files: dict[str, str]) -> None:
    file = rows(
        files["folder"],
        {"response": "in 1935 .", "history": ["when was elvis born ?"],
         "knowledge": ["Guitars have six strings.", "Elvis was born in 1935."]},
        {"response": "six .", "history": ["how many strings has a guitar ?"],
         "knowledge": ["Guitars have six strings.", "Elvis was born in 1935."]},
    )
    out = Path(files["folder"]) / "scores.jsonl"
    ok("score", file, "--metrics", "knowledge_f1", "--knowledge-pool", "row", "--out", str(out))
    scores = [json.loads(line) for line in out.read_text().splitlines()]
    assert [s["selected"]["doc_id"] for s in scores] == ["1", "0"]


def test_score_without_a_pool_is_as_before(files: dict[str, str]) -> None:
    file = rows(files["folder"], {"response": "a", "knowledge": "a"})
    out = Path(files["folder"]) / "scores.jsonl"
    ok("score", file, "--metrics", "knowledge_f1", "--out", str(out))
    assert "selected" not in json.loads(out.read_text())
    assert "no column looks like the knowledge" in error(
        "score", rows(files["folder"], {"response": "a"}), "--metrics", "knowledge_f1"
    )
    assert "there is no such file" in error("score", file, "--knowledge-pool", "nowhere.json")
    assert "--ranker needs --knowledge-pool" in error("score", file, "--ranker", "bm25")
