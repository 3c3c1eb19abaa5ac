"""Real runs of lm-evaluation-harness on the annotated data, with the bundled models."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lm_eval")

from click.testing import CliRunner
from harness_models import Judge, LastSentence, OtherKnowledge
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
from local_models import llama

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.data.catalogue import ENVIRONMENT
from q2_metric.integrations.lm_eval import tasks_folder
from q2_metric.types import Metric

pytestmark = pytest.mark.skipif(
    not os.environ.get("Q2_DATA_DIR"),
    reason="Q2_DATA_DIR is not set: the annotated responses are not here",
)

METRICS = ("q2", "q2_no_nli", "scale", "f1", "knowledge_f1", "bleu")
TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


@pytest.fixture(autouse=True, scope="module")
def _load_once() -> Iterator[None]:
    """The bundled models stay loaded between tests; the command's own process loads its own."""
    load, loaded = metrics.load_metrics, {}

    def load_once(names: Sequence[str], preset: str = "bundled", **_: Any) -> list[Metric]:
        assert preset == "bundled"
        for name in names:
            if name not in loaded:
                (loaded[name],) = load([name])
        return [loaded[name] for name in names]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "load_metrics", load_once)
        yield


def run(model: Any, task: str, *, metadata: Any = None, **settings: Any) -> Any:
    manager = TaskManager(
        include_path=str(tasks_folder()), include_defaults=False, metadata=metadata or {}
    )
    return simple_evaluate(model, tasks=[task], task_manager=manager, **settings)


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with the arguments, in a process of its own."""
    paths = os.pathsep.join([str(ROOT), str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def q2_score(samples: Sequence[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """What ``q2 score --out`` says of the logged samples."""
    rows, scored = folder / "logged.jsonl", folder / "scored.jsonl"
    with open(rows, "w", encoding="utf-8") as file:
        for sample in samples:
            doc, (response,) = sample["doc"], sample["filtered_resps"]
            row = {**doc, "response": response}
            file.write(json.dumps(row) + "\n")
    names = "q2,scale,knowledge_f1"
    arguments = ["score", str(rows), "--metrics", names, "--out", str(scored), "--quiet"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    return [json.loads(line) for line in scored.read_text(encoding="utf-8").splitlines()]


def assert_same_as_q2_score(samples: Sequence[dict[str, Any]], folder: Path) -> None:
    for sample, row in zip(samples, q2_score(samples, folder), strict=True):
        assert sample["doc"]["id"] == row["id"]
        for name in ("q2", "q2_no_nli", "scale", "knowledge_f1"):
            # What claims nothing, or is not English, has no score there and counts as 0 here.
            silent = row[name] is None and row["reason"] in ("no_claim", "language")
            expected = 0.0 if silent else row[name]
            assert sample[name] == pytest.approx(expected, abs=1e-5), (row["id"], name)
        assert sample["fallback"] == row["fallback"]
        assert [q["question"] for q in sample["questions"]] == [
            q["question"] for q in row["questions"]
        ]
        assert [e["passage"] for e in sample["claims"]] == [
            e["passage"] for e in row["claims"]
        ]


# --- the command, as the README has it -------------------------------------------------


def test_dummy_from_the_command_line(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["lm-eval-path"])
    done = command(
        *("-m", "lm_eval", "run", "--model", "dummy"),
        *("--include_path", shown.output.strip(), "--tasks", "q2_wow", "--limit", "5"),
        *("--log_samples", "--output_path", str(tmp_path / "out")),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for name in METRICS:
        assert re.search(rf"\|{name} *\|", done.stdout)
    (results_file,) = (tmp_path / "out").rglob("results_*.json")
    results = json.loads(results_file.read_text(encoding="utf-8"))
    table = results["results"]["q2_wow"]
    for name in METRICS:
        assert isinstance(table[f"{name},none"], float)
        assert isinstance(table[f"{name}_stderr,none"], (int, float))
    assert table["f1,none"] == table["bleu,none"] == table["knowledge_f1,none"] == 0.0
    assert table["no_claim,none"] == 1.0  # "lol" claims nothing
    assert table["q2,none"] == table["scale,none"] == table["fallback,none"] == 0.0
    assert results["versions"] == {"q2_wow": 1.0}
    assert results["n-samples"]["q2_wow"] == {"original": 544, "effective": 5}
    signatures = results["configs"]["q2_wow"]["metadata"]["signatures"]
    assert signatures["q2"].startswith("q2|preset:bundled|")
    assert signatures["scale"].startswith("scale|preset:bundled|")
    (samples_file,) = (tmp_path / "out").rglob("samples_q2_wow_*.jsonl")
    samples = [json.loads(line) for line in samples_file.read_text("utf-8").splitlines()]
    assert [sample["filtered_resps"] for sample in samples] == [["lol"]] * 5
    assert table["scale,none"] == pytest.approx(sum(s["scale"] for s in samples) / 5)
    assert_same_as_q2_score(samples, tmp_path)


def test_no_data_and_no_network_is_one_line(tmp_path: Path) -> None:
    done = command(
        *(str(TESTS / "quick_harness.py"), "run", "--model", "dummy"),
        *("--include_path", str(tasks_folder()), "--tasks", "q2_wow"),
        HTTPS_PROXY="http://127.0.0.1:9",
        XDG_CACHE_HOME=str(tmp_path),
        HOME=str(tmp_path),
        Q2_DATA_DIR=str(tmp_path / "none"),
    )
    assert done.returncode == 1
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith("q2: error: cannot download https://")
    assert "Traceback" not in done.stderr


# --- models ----------------------------------------------------------------------------


def test_the_table_orders_a_grounded_and_an_ungrounded_model(tmp_path: Path) -> None:
    gold = run("q2-oracle", "q2_wow", limit=14)
    other = run("q2-other", "q2_wow", limit=14)
    for name in METRICS:
        right, wrong = (found["results"]["q2_wow"][f"{name},none"] for found in (gold, other))
        assert right > wrong, name
    table = gold["results"]["q2_wow"]
    assert table["f1,none"] == pytest.approx(1.0)
    assert table["bleu,none"] == pytest.approx(100.0)
    # Beyond chance, not only in order:
    for name in ("q2", "scale"):
        gap = table[f"{name},none"] - other["results"]["q2_wow"][f"{name},none"]
        assert gap > 2 * table[f"{name}_stderr,none"], name
    assert_same_as_q2_score(gold["samples"]["q2_wow"], tmp_path)
    assert any(sample["questions"] for sample in gold["samples"]["q2_wow"])


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return llama(tmp_path_factory.mktemp("models") / "llama")


def test_a_language_model(tiny_llama: Path, tmp_path: Path) -> None:
    found = run(
        "hf",
        "q2_wow",
        model_args={"pretrained": str(tiny_llama)},
        device="cpu",
        batch_size=4,
        limit=4,
        gen_kwargs="max_gen_toks=16",
        num_fewshot=1,
        apply_chat_template=True,
        fewshot_as_multiturn=True,
    )
    samples = found["samples"]["q2_wow"]
    assert len(samples) == 4
    prompt = samples[0]["arguments"][0][0]
    assert prompt.startswith("<|system|>Write the assistant's next turn")
    assert prompt.count("<|user|>Knowledge: ") == prompt.count("<|assistant|>") == 2
    said = [sample for sample in samples if not sample["empty"]]
    assert said, "a random model says something"
    assert_same_as_q2_score(said, tmp_path)


def test_a_language_model_as_a_judge(tiny_llama: Path) -> None:
    found = run(
        "hf", "q2_detect", model_args={"pretrained": str(tiny_llama)}, device="cpu", limit=12
    )
    table = found["results"]["q2_detect"]
    for name in ("acc", "auc", "balanced_acc", "q2_auc", "scale_auc", "scale_balanced_acc"):
        assert 0.0 <= table[f"{name},none"] <= 1.0, name
    assert isinstance(table["acc_stderr,none"], float)


def test_a_judge_that_knows_beats_the_metrics(tmp_path: Path) -> None:
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    found = run(Judge(), "q2_detect", limit=20)
    table = found["results"]["q2_detect"]
    assert table["auc,none"] == table["balanced_acc,none"] == 1.0
    docs = [sample["doc"] for sample in found["samples"]["q2_detect"]]
    truth = [doc["consistent"] for doc in docs]
    rows = q2_score([{"doc": doc, "filtered_resps": [doc["response"]]} for doc in docs], tmp_path)
    for name in ("q2", "scale"):
        scores = [row[name] for row in rows]
        assert table[f"{name}_auc,none"] == pytest.approx(roc_auc_score(truth, scores))
        judged = [score > 0.5 for score in scores]
        expected = balanced_accuracy_score(truth, judged)
        assert table[f"{name}_balanced_acc,none"] == pytest.approx(expected)


# --- long documents, the group ---------------------------------------------------------


def test_long_documents_take_several_chunks() -> None:
    from q2_metric.models.stages import load_backbone

    grounded = run(LastSentence(), "q2_long_document", limit=3)
    table = grounded["results"]["q2_long_document"]
    samples = grounded["samples"]["q2_long_document"]
    backbone = load_backbone("bundled")
    found_at = []
    for sample in samples:
        article = sample["doc"]["knowledge"]
        assert len(backbone.offsets(article)) > 200
        start = sample["claims"][0]["passage_start"]
        found_at.append(len(backbone.offsets(article[:start])))
    assert max(found_at) > 200  # behind the first chunk
    other = run(OtherKnowledge(), "q2_long_document", limit=3)["results"]["q2_long_document"]
    assert table["scale,none"] > other["scale,none"] + 0.3
    assert "f1,none" not in table


@pytest.fixture
def with_dialfact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data folder with a DialFact of a few of its rows, where it only has a part."""
    own = Path(os.environ[ENVIRONMENT])
    part = own / "true" / "dialfact_a.csv"
    if not part.is_file():
        pytest.skip("true/dialfact_a is not in Q2_DATA_DIR")
    (tmp_path / "true").mkdir()
    for file in (own / "true").iterdir():
        (tmp_path / "true" / file.name).symlink_to(file)
    (tmp_path / "wow_q2").symlink_to(own / "wow_q2")
    target = tmp_path / "true" / "dialfact.csv"
    target.unlink(missing_ok=True)
    with open(part, encoding="utf-8", newline="") as source:
        reader = csv.DictReader(source)
        rows = [row for row, _ in zip(reader, range(50), strict=False)]
    with open(target, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, reader.fieldnames or ())
        writer.writeheader()
        writer.writerows(rows)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))


@pytest.mark.usefixtures("with_dialfact")
def test_the_group_is_the_mean_of_its_tasks() -> None:
    found = run(OtherKnowledge(), "q2_grounded", limit=2)
    tasks = ("q2_wow", "q2_dialfact", "q2_summeval", "q2_long_document")
    for name in ("q2", "q2_no_nli", "scale", "knowledge_f1", "fallback", "no_claim", "empty",
                 "coverage"):
        values = [found["results"][task][f"{name},none"] for task in tasks]
        assert found["groups"]["q2_grounded"][f"{name},none"] == pytest.approx(sum(values) / 4)
        assert isinstance(found["groups"]["q2_grounded"][f"{name}_stderr,none"], float)
