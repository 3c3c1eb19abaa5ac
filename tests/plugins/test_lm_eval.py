"""The lm-evaluation-harness tasks over fake metrics: prompts, options, errors, bookkeeping."""

from __future__ import annotations

import gc
import json
import math
import os
import pickle
import re
import subprocess
import sys
import weakref
from collections.abc import Sequence
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClaims, FakeMetric

pytest.importorskip("lm_eval")

from click.testing import CliRunner
from harness_models import Judge, Oracle, OtherKnowledge, Silent
from lm_eval import simple_evaluate
from lm_eval.api.metrics import stderr_for_metric
from lm_eval.tasks import TaskManager
from packaging.requirements import Requirement

import q2_metric.integrations.lm_eval.scoring
from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.data.catalogue import ENVIRONMENT
from q2_metric.errors import DataError, InputError, MissingExtra, ModelError
from q2_metric.integrations.lm_eval import documents, tables, tasks_folder
from q2_metric.integrations.lm_eval.scoring import Options, score_judged, score_responses
from q2_metric.integrations.lm_eval.tables import auc, balanced_accuracy
from q2_metric.metrics.overlap import TokenF1
from q2_metric.scoring import NoClaim
from q2_metric.types import Example, Metric, Score

ROWS = [
    {"knowledge": "Rome has 7 hills.", "history": ["Hi!", "Hello.", "How many?"], "gold": "Seven."},
    {"knowledge": "Tea is hot.", "history": "Is it cold?", "gold": "no it is hot"},
    {"knowledge": "Milk is white.", "history": [], "gold": "milk is white , you know"},
    {"knowledge": ["Cats sleep.", "Dogs bark."], "history": [], "gold": "cats do sleep"},
]


class Loader:
    """Takes the place of ``load_metrics``: Q² and SCALE answer by table, token F1 is real."""

    def __init__(self) -> None:
        self.table: dict[str, float | None] = {}
        self.calls: list[tuple[tuple[str, ...], str, dict[str, Any]]] = []
        self.made: list[weakref.ref[Metric]] = []
        self.batches: dict[str, list[list[int]]] = {"q2": [], "scale": []}
        self.evidence: list[bool] = []

    def __call__(self, names: Sequence[str], preset: str, **settings: Any) -> list[Metric]:
        self.calls.append((tuple(names), preset, settings))
        loaded: list[Metric] = []
        for name in names:
            if name == "knowledge_f1":
                loaded.append(TokenF1())
                continue
            fake = FakeMetric(name, self.table)
            self.batches[name].append(fake.batches)
            self.made.append(weakref.ref(fake))
            if name == "scale":
                self.evidence = fake.evidence
            loaded.append(fake)
        return loaded


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Loader:
    fake = Loader()
    monkeypatch.setattr(metrics, "load_metrics", fake)
    return fake


@pytest.fixture(autouse=True)
def _nothing_was_loaded_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(q2_metric.integrations.lm_eval.scoring, "_loadable", set())


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return write(tmp_path / "rows.jsonl", *ROWS)


def write(path: Path, *items: object) -> str:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return str(path)


def run(model: Any, task: str = "q2_custom", *, metadata: Any = None, **settings: Any) -> Any:
    # Without the harness's own thousands of tasks, which take ten seconds to list.
    manager = TaskManager(
        include_path=str(tasks_folder()), include_defaults=False, metadata=metadata or {}
    )
    return simple_evaluate(model, tasks=[task], task_manager=manager, **settings)


# --- finding the tasks -----------------------------------------------------------------


def test_the_command_prints_the_folder_that_has_the_tasks() -> None:
    shown = CliRunner().invoke(main, ["lm-eval-path"])
    assert shown.exit_code == 0
    folder = shown.output.strip()
    manager = TaskManager(include_path=folder, include_defaults=False)
    assert manager.all_subtasks == [
        "q2_custom",
        "q2_detect",
        "q2_dialfact",
        "q2_long_document",
        "q2_summeval",
        "q2_wow",
    ]
    assert manager.all_groups == ["q2_grounded"]


def test_the_command_without_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("q2_metric.integrations.lm_eval.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r'pip install "q2-metric\[lm-eval\]"'):
        tasks_folder()
    shown = CliRunner().invoke(main, ["lm-eval-path"])
    assert shown.exit_code == 3
    assert shown.stdout == ""


# --- a run -----------------------------------------------------------------------------


def test_numbers_reach_the_table_and_the_log(loader: Loader, rows: str) -> None:
    loader.table = {"Seven.": 1.0, "no it is hot": 0.0}
    found = run(Oracle(), metadata={"data_files": rows})
    table = found["results"]["q2_custom"]
    assert table["q2,none"] == pytest.approx((1 + 0 + 0.5 + 0.5) / 4)
    assert table["q2_stderr,none"] == pytest.approx(
        math.sqrt((0.25 + 0.25 + 0 + 0) / 3) / 2
    )  # the standard error of 1, 0, 0.5, 0.5
    assert table["f1,none"] == 1.0
    assert table["bleu,none"] == pytest.approx(100)
    assert 0 < table["knowledge_f1,none"] < 1
    assert table["empty,none"] == 0.0
    for name in ("q2", "scale", "f1", "knowledge_f1", "bleu"):
        assert isinstance(table[f"{name}_stderr,none"], float), name
    first = found["samples"]["q2_custom"][0]
    assert first["filtered_resps"] == ["Seven."]
    assert first["q2"] == 1.0
    assert first["claims"][0]["passage"] == "Rome has 7 hills."
    assert found["configs"]["q2_custom"]["metadata"]["signatures"] == {
        "q2": "q2|version:test|no_claim:zero",
        "scale": "scale|version:test|no_claim:zero",
    }


def test_one_batch_and_nothing_stays_loaded(loader: Loader, rows: str) -> None:
    run(Oracle(), metadata={"data_files": rows})
    # Loaded before generation to see that they can be, and again to score.
    assert loader.batches == {"q2": [[], [4]], "scale": [[], [4]]}
    gc.collect()
    assert [made() for made in loader.made] == [None] * 4


def test_models_that_do_not_load_are_found_before_anything_is_generated(
    rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: Any, **__: Any) -> list[Metric]:
        raise ModelError("there is no model 'mine'")

    monkeypatch.setattr(metrics, "load_metrics", load)
    model = Oracle()
    with pytest.raises(ModelError, match="there is no model 'mine'"):
        run(model, metadata={"data_files": rows, "nli_model": "mine"})
    assert model.asked == 0


def test_a_metric_that_fails_afterwards_loses_no_answer(
    loader: Loader, rows: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def score(*_: Any, **__: Any) -> list[Score]:
        raise MissingExtra("the preset", "torch", "torch")

    monkeypatch.setattr(FakeMetric, "score", score)
    found = run(Oracle(), metadata={"data_files": rows})
    table = found["results"]["q2_custom"]
    assert "q2,none" not in table
    assert table["f1,none"] == 1.0
    assert found["samples"]["q2_custom"][0]["filtered_resps"] == ["Seven."]
    [kept] = re.findall(r"saved in (\S+); score them", caplog.text)
    assert "the preset needs the package 'torch'" in caplog.text
    assert [row["response"] for row in documents.custom(kept)["test"]] == [
        row["gold"] for row in ROWS]
    Path(kept).unlink()


def test_an_answer_that_cannot_be_scored(
    loader: Loader, rows: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = FakeMetric.score

    def score(
        self: FakeMetric, examples: Sequence[Example], *, evidence: bool = False
    ) -> list[Score]:
        if self.name == "scale" and any(e.response == "Seven." for e in examples):
            raise RuntimeError("broken text")
        return whole(self, examples, evidence=evidence)

    monkeypatch.setattr(FakeMetric, "score", score)
    table = run(Oracle(), metadata={"data_files": rows})["results"]["q2_custom"]
    assert table["q2,none"] == 0.5
    assert table["scale,none"] == 0.5  # of the other three
    assert "scale cannot score it: RuntimeError: broken text" in caplog.text


def test_options_reach_the_metric(loader: Loader, rows: str) -> None:
    metadata = {
        "data_files": rows,
        "preset": "paper-small",
        "metric_device": "cuda:1",
        "metric_batch_size": 3,
        "metric_dtype": "bfloat16",
        "metric_evidence": False,
        "reader_model": "./mine",
        # the evaluated model's own, which the harness puts there too:
        "pretrained": "gpt2",
        "dtype": "float16",
        "device": "cuda:0",
        "batch_size": "auto",
    }
    run(Oracle(), metadata=metadata)
    names, preset, settings = loader.calls[0]
    assert names == ("q2", "scale")
    assert preset == "paper-small"
    assert settings == {
        "device": "cuda:1",
        "dtype": "bfloat16",
        "batch_size": 3,
        "reader_model": "./mine",
    }
    assert loader.evidence == [False]


def test_the_metric_stays_off_the_gpu_unless_told() -> None:
    assert Options.from_metadata({"device": "cuda"}).keywords == {"device": "cpu"}


def test_blank_answers_score_nothing(loader: Loader, rows: str) -> None:
    found = run(Silent(), metadata={"data_files": rows})
    table = found["results"]["q2_custom"]
    assert table["empty,none"] == 1.0
    for name in ("q2", "q2_no_nli", "scale", "f1", "knowledge_f1", "bleu"):
        assert table[f"{name},none"] == 0.0, name
    assert loader.batches == {"q2": [[], []], "scale": [[], []]}


def test_small_talk_scores_nothing(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(names: Sequence[str], *_: Any, **__: Any) -> list[Metric]:
        return [FakeClaims(name) for name in names]

    monkeypatch.setattr(metrics, "load_metrics", load)
    items = [{**json.loads(line), "gold": "lol"} for line in Path(rows).read_text().splitlines()]
    said = write(Path(rows).with_name("lol.jsonl"), *items)
    table = run(Oracle(), metadata={"data_files": said})["results"]["q2_custom"]
    assert (table["q2,none"], table["scale,none"], table["no_claim,none"]) == (0.0, 0.0, 1.0)
    assert (table["coverage,none"], table["fallback,none"], table["empty,none"]) == (0.0, 0.0, 0.0)
    left_out = run(Oracle(), metadata={"data_files": said, "metric_no_claim": "exclude"})
    table = left_out["results"]["q2_custom"]
    assert "q2,none" not in table
    assert table["no_claim,none"] == 1.0


def test_the_group_has_every_metric_and_share() -> None:
    named = [line["metric"] for line in tables.GROUP]
    assert named[:4] == ["groundedness", "q2", "q2_no_nli", "scale"]
    assert {"knowledge_f1", "empty", "no_claim", "coverage", "fallback"} <= set(named)
    assert all(line["weight_by_size"] is False for line in tables.GROUP)


def test_f1_and_bleu_of_the_table_are_against_gold(rows: str) -> None:
    metadata = {"data_files": rows, "metrics": "knowledge_f1,knowledge_bleu"}
    table = run(Oracle(), metadata=metadata)["results"]["q2_custom"]
    assert (table["f1,none"], table["bleu,none"]) == (1.0, pytest.approx(100))
    assert 0 < table["knowledge_f1,none"] < 1
    assert 0 < table["knowledge_bleu,none"] < 1
    named = [line["metric"] for line in tables.GROUP]
    assert len(named) == len(set(named))
    assert {"f1", "bleu"}.isdisjoint(named)


def test_without_gold_there_is_no_f1_and_no_bleu(loader: Loader, tmp_path: Path) -> None:
    file = write(
        tmp_path / "rows.jsonl",
        {"context": "Tea is hot.", "question": "Is it?", "prediction": "of another model"},
        {"context": "Milk is white.", "question": "Is it?", "prediction": "of another model"},
    )
    found = run(OtherKnowledge(), metadata={"data_files": file})
    table = found["results"]["q2_custom"]
    assert "f1,none" not in table
    assert "bleu,none" not in table
    assert table["q2,none"] == 0.5
    doc = found["samples"]["q2_custom"][0]["doc"]
    assert doc["response"] == ""
    assert doc["prediction"] == "of another model"


def test_gold_in_some_rows_counts_there(
    loader: Loader, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = write(tmp_path / "rows.jsonl", *ROWS[:2],
                 {"knowledge": "Tea is hot.", "history": "Hot?", "gold": ""})
    table = run(Oracle(), metadata={"data_files": file})["results"]["q2_custom"]
    assert table["f1,none"] == 1.0
    assert ("only 2 of 3 rows have a gold response: f1 and bleu are computed on these"
            in caplog.messages)


def test_a_slip_in_an_options_name_is_told(
    rows: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The metadata also has the evaluated model's arguments, so nothing unknown can be refused."""
    Options.from_metadata({"data_files": rows, "pretrained": "gpt2", "dtype": "auto",
                           "trust_remote_code": False, "max_length": 100, "version": 1.0})
    assert not caplog.messages
    for _ in ("q2_wow", "q2_custom"):  # told once for a group of tasks
        Options.from_metadata({"evidence": False, "suport": "attributable", "metrcs": "q2",
                               "data_file": rows})
    assert [line.partition(";")[2] for line in caplog.messages] == [
        " did you mean 'metric_evidence'?", " did you mean 'metric_support'?",
        " did you mean 'metrics'?",
        " did you mean 'data_files'?"]


def test_predict_only_loads_no_metric(loader: Loader, rows: str) -> None:
    found = run(Oracle(), metadata={"data_files": rows}, predict_only=True)
    assert loader.calls == []
    first = found["samples"]["q2_custom"][0]
    assert first["filtered_resps"] == ["Seven."]
    assert "q2" not in first


def test_limit(loader: Loader, rows: str) -> None:
    found = run(Oracle(), metadata={"data_files": rows}, limit=3)
    assert found["n-samples"]["q2_custom"] == {"original": 4, "effective": 3}
    assert loader.batches["q2"] == [[], [3]]


def test_cached_answers_are_scored_alike(loader: Loader, rows: str, tmp_path: Path) -> None:
    first, second = Oracle(), Oracle()
    cache = str(tmp_path / "cache")
    settings: Any = {"metadata": {"data_files": rows}, "use_cache": cache}
    once, again = run(first, **settings), run(second, **settings)
    assert (first.asked, second.asked) == (4, 0)
    assert once["results"] == again["results"]


def test_cached_requests_of_other_data_are_noticed(
    loader: Loader, rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path / "requests"))
    run(Oracle(), metadata={"data_files": rows}, cache_requests=True)
    other = write(tmp_path / "other.jsonl", *reversed(ROWS))
    with pytest.raises(InputError, match=r"row '0' was made from other data: .*--cache_requests"):
        run(Oracle(), metadata={"data_files": other}, cache_requests=True)
    refreshed: Any = {"cache_requests": True, "rewrite_requests_cache": True}
    run(Oracle(), metadata={"data_files": other}, **refreshed)


# --- prompts ---------------------------------------------------------------------------

INSTRUCTION = (
    "Write the assistant's next turn of the conversation. "
    "State only facts that the knowledge supports.\n\n"
)


def test_zero_shot_prompt(loader: Loader, rows: str) -> None:
    model = Oracle()
    found = run(model, metadata={"data_files": rows})
    assert model.prompts[0] == (
        INSTRUCTION
        + "Knowledge: Rome has 7 hills.\nUser: Hi!\nAssistant: Hello.\nUser: How many?\nAssistant:"
    )
    assert model.prompts[3] == INSTRUCTION + "Knowledge: Cats sleep.\nDogs bark.\nAssistant:"
    decoding = found["configs"]["q2_custom"]["generation_kwargs"]
    assert decoding["do_sample"] is False
    assert decoding["until"] == ["\n\n", "\nUser:", "\nKnowledge:"]


def test_few_shot_prompt_shows_other_rows(loader: Loader, rows: str) -> None:
    model = Oracle()
    run(model, metadata={"data_files": rows}, num_fewshot=3)
    for row, prompt in zip(ROWS, model.prompts, strict=True):
        assert prompt.startswith(INSTRUCTION)
        assert prompt.count("Knowledge: ") == 4
        for other in ROWS:
            answer = f"Assistant: {other['gold']}\n\n"
            assert prompt.count(answer) == (other is not row)
        assert prompt.endswith("Assistant:")


def test_few_shot_does_not_depend_on_other_rows(loader: Loader, rows: str) -> None:
    everything, one = Oracle(), Oracle()
    run(everything, metadata={"data_files": rows}, num_fewshot=2)
    run(one, metadata={"data_files": rows}, num_fewshot=2, samples={"q2_custom": [2]})
    assert one.prompts == [everything.prompts[2]]
    reseeded = Oracle()
    run(reseeded, metadata={"data_files": rows}, num_fewshot=2, fewshot_random_seed=5)
    assert reseeded.prompts != everything.prompts


def test_too_few_rows_for_few_shot(loader: Loader, rows: str) -> None:
    with pytest.raises(InputError, match="4 few-shot examples are asked for, but only 3"):
        run(Oracle(), metadata={"data_files": rows}, num_fewshot=4)


def test_chat_template(loader: Loader, rows: str) -> None:
    model = Oracle()
    settings: Any = {"num_fewshot": 1, "apply_chat_template": True, "fewshot_as_multiturn": True}
    run(model, metadata={"data_files": rows}, **settings)
    prompt = model.prompts[1]
    assert prompt.startswith(f"<system>{INSTRUCTION}</><user>Knowledge: ")
    assert prompt.endswith(
        "<user>Knowledge: Tea is hot.\nUser: Is it cold?\nAssistant:</><assistant>"
    )
    assert prompt.count("<assistant>") == 2


# --- the model as a judge --------------------------------------------------------------

ANNOTATED = (
    ",episode_idx,round,topic,message,dodeca_response,memnet_response,knowledge,gold,"
    "dodeca_label,memnet_label\n"
    "0,7,3,Tea,Hot?,it is hot,it is old,Tea is hot.,gold one,0,1\n"
    "1,8,0,Milk,,milk is white,milk is red,Milk is white.,gold two,0,1\n"
)


@pytest.fixture
def small_wow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "wow_q2"
    folder.mkdir()
    (folder / "cross_annotation.csv").write_text(ANNOTATED)
    for system in ("dodeca", "memnet"):
        for kind in ("consistent", "inconsistent"):
            (folder / f"{system}_{kind}.csv").write_text("")
    (folder / "LICENSE.txt").write_text("")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))


@pytest.mark.usefixtures("small_wow")
def test_detect_compares_the_model_with_the_metrics(loader: Loader) -> None:
    loader.table = {"it is hot": 0.9, "it is old": 0.6, "milk is white": 0.4, "milk is red": 0.2}
    model = Judge()
    found = run(model, "q2_detect")
    table = found["results"]["q2_detect"]
    assert (table["acc,none"], table["auc,none"], table["balanced_acc,none"]) == (1.0, 1.0, 1.0)
    # 0.9 and 0.4 are consistent, 0.6 and 0.2 are not: three of four pairs are in order.
    assert table["q2_auc,none"] == table["scale_auc,none"] == 0.75
    assert table["q2_balanced_acc,none"] == 0.5
    assert loader.batches == {"q2": [[], [4]], "scale": [[], [4]]}
    assert model.prompts[0] == (
        "Decide whether the knowledge supports every fact that the response states. "
        "Answer Yes or No.\n\n"
        "Knowledge: Tea is hot.\nResponse: it is hot\nSupported (Yes or No):"
    )
    wrong = run(Judge(honest=False), "q2_detect")["results"]["q2_detect"]
    assert (wrong["acc,none"], wrong["auc,none"], wrong["balanced_acc,none"]) == (0.0, 0.0, 0.0)


@pytest.mark.usefixtures("small_wow")
def test_detect_few_shot(loader: Loader) -> None:
    model = Judge()
    run(model, "q2_detect", num_fewshot=1)
    assert model.prompts[0].count("Supported (Yes or No):") == 2
    assert model.prompts[0].count("Tea is hot.") == 1  # never the row's own knowledge


def test_dialfact_is_the_part_that_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "true").mkdir()
    (tmp_path / "true" / "dialfact_a.csv").write_text(
        "grounding,generated_text,label\nTea is hot.,tea is hot,1\nTea is hot.,it is cold,0\n")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr("q2_metric.data.catalogue.cache_folder", lambda: tmp_path / "cache")
    [row] = documents.dialfact()["test"].to_list()
    assert (row["knowledge"], row["response"]) == ("Tea is hot.", "tea is hot")
    assert "q2 data download true/dialfact fetches the whole set" in caplog.text


@pytest.mark.usefixtures("small_wow")
def test_wow_rows() -> None:
    assert documents.wow()["test"].to_list() == [
        {"id": "7-3", "knowledge": "Tea is hot.", "history": ["Hot?"], "response": "gold one"},
        {"id": "8-0", "knowledge": "Milk is white.", "history": [], "response": "gold two"},
    ]


def test_auc_and_balanced_accuracy() -> None:
    assert auc([(True, 0.3), (False, 0.1), (False, 0.3)]) == 0.75  # a tie counts half
    assert math.isnan(auc([(True, 0.3)]))
    assert balanced_accuracy([(True, True), (True, False), (False, False)]) == 0.75
    assert math.isnan(balanced_accuracy([(True, True)]))


@pytest.mark.parametrize(("no_claim", "silent"), [("zero", (True, 0.0)), ("exclude", None)])
def test_what_was_not_tried_is_not_judged(
    loader: Loader, no_claim: NoClaim, silent: tuple[bool, float] | None
) -> None:
    """Missing knowledge says nothing of a response; one without a claim counts as in means."""
    said = {"a": ("Tea is hot.", " ", None), "b": ("thanks !", "Tea is hot.", silent),
            "c": (" ", "Tea is hot.", silent)}
    documents: Any = [
        {"id": row, "response": response, "knowledge": knowledge, "history": [], "consistent": True}
        for row, (response, knowledge, _) in said.items()
    ]
    options = Options(metrics=("scale",), no_claim=no_claim)
    judged, signatures = score_judged([0.0] * 3, documents, options)
    assert [one["scale_auc"] for one in judged] == [pair for *_, pair in said.values()]
    assert signatures["scale"].endswith(f"|no_claim:{no_claim}")
    assert math.isnan(auc([None, None]))


def test_what_is_left_out_is_left_out_of_token_f1_too(rows: str, loader: Loader) -> None:
    """As by every other shell: with no_claim "exclude" blank answers are no zeros."""
    documents: Any = [
        {"id": "1", "knowledge": "Tea is hot.", "response": "", "history": []},
        {"id": "2", "knowledge": "Tea is hot.", "response": "", "history": []}]
    for no_claim, expected in (("zero", [1.0, 0.0]), ("exclude", [1.0, None])):
        options = Options(metrics=("scale",), no_claim=no_claim)  # type: ignore[arg-type]
        found, _ = score_responses(
            ["Tea is hot.", " "], documents, options, ["knowledge_f1", "scale", "empty"])
        assert [one.get("knowledge_f1") for one in found] == expected
        assert [one["empty"] for one in found] == [0.0, 1.0]


def test_answers_that_all_claim_nothing_are_not_left_out_silently(
    loader: Loader, caplog: pytest.LogCaptureFixture
) -> None:
    document: Any = {"id": "1", "knowledge": "Tea is hot.", "response": "", "history": []}
    options = Options(metrics=("scale",), no_claim="exclude")
    score_responses([" ", "thanks !"], [document] * 2, options, ["scale"])
    assert "scale: no answer makes a claim" in caplog.text
    assert "all 2 are left out" in caplog.text
    caplog.clear()
    score_responses([" ", "Tea is hot."], [document] * 2, options, ["scale"])
    score_responses([" ", "thanks !"], [document] * 2, Options(metrics=("scale",)), ["scale"])
    assert "no answer" not in caplog.text


# --- what ranks send each other --------------------------------------------------------


def test_answers_travel_without_their_numbers(
    loader: Loader, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [" hot \n", "hot\ud83d"]
    monkeypatch.setattr(Oracle, "_answer", lambda self, requests, place: said[place])
    found = run(Oracle(), metadata={"data_files": rows}, limit=2)
    first, strange = found["samples"]["q2_custom"]
    assert strange["filtered_resps"] == ["hot?"]
    assert first["q2"] == 0.5
    [answer] = pickle.loads(pickle.dumps(first["filtered_resps"]))
    assert (answer, type(answer)) == ("hot", str)


def test_a_rank_has_an_entry_for_what_only_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_on_any_rank", lambda own: own | {"q2", "bleu", "questions"})
    results: list[dict[str, Any]] = [{"f1": 0.5}, {"f1": 0.25}]
    tables.on_every_rank(results)
    filled = {"f1": 0.5, "q2": None, "bleu": ("", ""), "questions": None}
    assert results == [filled, {"f1": 0.25}]
    entries = [None, 1.0, 0.5]
    assert tables.PresentMean()(entries) == 0.75
    assert stderr_for_metric(tables.PresentMean(), 10)(entries) == pytest.approx(0.25)
    assert tables.mean_length([None, ["a", "b"]]) == 2.0
    assert auc([None, (True, 0.3), (False, 0.1)]) == 1.0
    assert balanced_accuracy([None, (True, True), (False, False)]) == 1.0


# --- bad input -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"preset": "papr"}, "unknown preset 'papr': the presets are .*did you mean 'paper'"),
        ({"metric_devise": "cpu"},
         "unknown option 'metric_devise'; did you mean 'metric_device'. .known: metrics, "),
        ({"metric_no_claim": "one"}, "no_claim must be zero or exclude, not 'one'"),
        ({"metrics": "q2,rouge"}, "there is no metric 'rouge'"),
        ({"metric_batch_size": "auto"}, "batch_size must be a whole number, not 'auto'"),
        ({"metric_batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"metric_evidence": "maybe"}, "metric_evidence must be true or false, not 'maybe'"),
    ],
)
def test_bad_options_are_found_before_anything_is_generated(
    metadata: dict[str, Any], message: str, rows: str
) -> None:
    model = Oracle()
    with pytest.raises(InputError, match=message):
        run(model, metadata={"data_files": rows, **metadata})
    assert model.asked == 0


def test_custom_needs_a_file() -> None:
    with pytest.raises(InputError, match="q2_custom needs a file: --metadata"):
        run(Oracle())


def test_a_row_without_knowledge_is_left_out(tmp_path: Path) -> None:
    def found(*rows: Any) -> Any:
        file = write(tmp_path / "rows.jsonl", *rows)
        return run(Oracle(), metadata={"data_files": file})["results"]["q2_custom"]

    whole, more = found(*ROWS), found(*ROWS, {"knowledge": " ", "gold": "x"})
    assert more["q2,none"] == pytest.approx(whole["q2,none"])
    with pytest.raises(InputError, match=r"rows.jsonl, line 5: the knowledge .* is a number"):
        found(*ROWS, {"knowledge": 3, "gold": "x"})


def test_a_file_without_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no rows"):
        documents.custom(write(tmp_path / "rows.jsonl"))


def test_no_data_and_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr("q2_metric.data.catalogue.cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"cannot download https://\S+cross_annotation.csv"):
        run(Oracle(), "q2_wow")


# --- the printed table -----------------------------------------------------------------


def header(*, path: str = "") -> list[str]:
    """The headers of the table that the harness prints, in a process of its own."""
    code = (
        "from lm_eval.utils import make_table\n"
        "print(make_table({'results': {'q2_wow': {'alias': 'q2_wow', 'q2,none': 0.5}},"
        " 'n-shot': {}, 'versions': {}, 'higher_is_better': {}}))")
    paths = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": paths})
    return [cell.strip() for cell in done.stdout.splitlines()[0].split("|") if cell.strip()]


def test_the_table_names_its_columns() -> None:
    assert header() == ["Tasks", "Version", "Filter", "n-shot", "Metric", "Value", "Stderr"]


@pytest.mark.slow
def test_the_oldest_table_writer_of_the_extra_names_the_columns(tmp_path: Path) -> None:
    """Installers take an old one beside python-dateutil 4. The headers of 0.38 are A, B, C, …."""
    settings = ConfigParser()
    settings.read(Path(__file__).parents[2] / "setup.cfg", encoding="utf-8")
    needed = map(Requirement, settings["options.extras_require"]["lm-eval"].split())
    limits = {one.name: one.specifier for one in needed}["pytablewriter"]
    [oldest] = [one.version for one in limits if one.operator == ">="]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--retries", "0", "--target",
         str(tmp_path), f"pytablewriter=={oldest}"], capture_output=True, text=True)
    if "(from versions: none)" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    assert header(path=str(tmp_path)) == header()


# --- tasks of the user's ---------------------------------------------------------------


def test_a_task_of_the_users_includes_ours(loader: Loader, rows: str, tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(
        f"include: {tasks_folder() / 'q2_custom.yaml'}\n"
        "task: mine\n"
        'description: "Answer in Latin.\\n"\n'
        "filter_list: [{name: short, filter: [{function: lowercase}, {function: take_first}]}]\n"
    )
    model = Oracle()
    found = run(model, str(own), metadata={"data_files": rows})
    prompt = "Answer in Latin.\nKnowledge: Tea is hot.\nUser: Is it cold?\nAssistant:"
    assert model.prompts[1] == prompt
    assert found["results"]["mine"]["q2,short"] == 0.5
    assert found["samples"]["mine"][0]["filtered_resps"] == ["seven."]


def test_answers_must_be_one_a_row(loader: Loader, rows: str, tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(
        f"include: {tasks_folder() / 'q2_custom.yaml'}\n"
        "task: mine\n"
        "filter_list: [{name: all, filter: [{function: take_first_k, k: 1}]}]\n"
    )
    with pytest.raises(InputError, match="put take_first last in filter_list"):
        run(Oracle(), str(own), metadata={"data_files": rows})


# --- files of the user's ---------------------------------------------------------------


def test_columns_can_be_named(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", {"page": "Tea is hot.", "ask": "Is it?", "best": "yes"})
    names = {"knowledge_column": "page", "history_column": "ask", "response_column": "best"}
    assert documents.custom(file, **names)["test"].to_list() == [
        {"id": "0", "knowledge": "Tea is hot.", "history": ["Is it?"], "response": "yes",
         "page": "Tea is hot.", "ask": "Is it?", "best": "yes"}
    ]


@pytest.mark.parametrize(("name", "message"), [
    ("rows.jsonl", r"looks like the knowledge; .*; name it with knowledge_column in --metadata$"),
    ("rows.txt", r"suffix '.txt'; use one of .jsonl, .* \(for the command q2, name it with"),
])
def test_errors_name_the_options_of_the_harness(name: str, message: str, tmp_path: Path) -> None:
    file = write(tmp_path / name, {"the_page": "Tea is hot.", "gold": "yes"})
    with pytest.raises(InputError, match=message):
        run(Oracle(), metadata={"data_files": file})


def test_a_prompt_can_use_the_files_other_columns(tmp_path: Path) -> None:
    file = write(
        tmp_path / "rows.jsonl",
        {"knowledge": "Tea is hot.", "topic": "tea", "year": 1889, "tags": ["a", 1], "mixed": 1},
        {"knowledge": "Milk is white.", "topic": "mi\ud800lk", "year": None, "mixed": "x",
         "huge": 2**70},
    )
    first, second = documents.custom(file)["test"].to_list()
    assert (first["topic"], first["year"], first["tags"]) == ("tea", 1889, '["a", 1]')
    assert (first["mixed"], first["huge"]) == ("1", None)
    assert (second["topic"], second["year"], second["tags"]) == ("mi?lk", None, None)
    assert (second["mixed"], second["huge"]) == ('"x"', str(2**70))
    own = tmp_path / "own.yaml"
    own.write_text(
        f"include: {tasks_folder() / 'q2_custom.yaml'}\ntask: own\n"
        'doc_to_text: "Of {{topic}} in {{year}}: {{knowledge}}"\n'
    )
    found = run(Oracle(), str(own), metadata={"data_files": file}, limit=1)
    assert found["samples"]["own"][0]["arguments"][0][0].endswith("Of tea in 1889: Tea is hot.")


def test_several_files_of_several_formats(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    table = pa.Table.from_pylist([{"id": "p", "knowledge": "Milk is white.", "answer": "yes"}])
    parquet.write_table(table, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("knowledge,target,turns\nnan,null,a\n")
    files = [str(tmp_path / "rows.parquet"), str(tmp_path / "rows.csv")]
    assert documents.custom(files)["test"].to_list() == [
        {"id": "p", "knowledge": "Milk is white.", "history": [], "response": "yes",
         "answer": "yes", "target": None, "turns": None},
        {"id": "1", "knowledge": "nan", "history": ["a"], "response": "null",
         "answer": None, "target": "null", "turns": "a"},
    ]
