"""The modules among evaluate's own tools: combine, pickles, its test of modules, loops."""

from __future__ import annotations

import copy
import doctest
import importlib
import inspect
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from optional import without

import q2_metric
from q2_metric import InputError
from q2_metric.metrics.overlap import corpus_bleu
from q2_metric.registration import NAMES, register
from q2_metric.text.normalise import token_f1

evaluate = pytest.importorskip("evaluate")

KNOWLEDGE = "The show aired from 1983 to 1994 on PBS."
SAID = ["it aired on pbs .", "thanks !", "the show aired in 1990 ."]
GOLD = ["it was on pbs .", ["you are welcome .", "no problem !"], "the show ended in 1994 ."]


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    register()


@pytest.mark.parametrize("name", NAMES)
def test_as_evaluates_own_test_of_modules_wants_it(name: str) -> None:
    """What its tests/test_metric_common.py asks of a module."""
    factory = evaluate.loading.evaluation_module_factory(q2_metric.path(name))
    module = importlib.import_module(factory.module_path)
    kind = evaluate.loading.import_main_class(module.__name__)
    kinds = {one.kind for one in inspect.signature(kind._compute).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    found = doctest.testmod(module)
    assert found.attempted > 1
    assert found.failed == 0
    assert ">>> " in kind().inputs_description


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("Q2_EVALUATE_SOURCE"),
                    reason="Q2_EVALUATE_SOURCE names no checkout of evaluate")
def test_in_evaluates_own_test_file(tmp_path: Path) -> None:
    """The file itself, with our modules in its folder ``metrics``."""
    shutil.copytree(Path(os.environ["Q2_EVALUATE_SOURCE"]) / "tests", tmp_path / "tests")
    for name in NAMES:
        shutil.copytree(q2_metric.path(name), tmp_path / "metrics" / name)
    test = "tests/test_metric_common.py::LocalModuleTest"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test, "-k", "test_load_m"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert f"{len(NAMES)} passed" in done.stdout, done.stdout + done.stderr


def test_combined_modules_take_rows_one_by_one() -> None:
    whole = evaluate.combine(["q2", "scale"])
    rows = {"predictions": SAID, "references": [KNOWLEDGE] * 3}
    wanted = whole.compute(**rows, metrics="knowledge_f1")
    for said in SAID:
        whole.add(prediction=said, reference=KNOWLEDGE)
    assert whole.compute(metrics="knowledge_f1") == wanted
    whole.add_batch(**rows)
    assert whole.compute(metrics="knowledge_f1") == wanted
    assert wanted["q2_n"] == 3
    assert "q2_knowledge_f1" in wanted
    with pytest.raises(InputError, match="with the knowledge is 'knowledge_f1'"):
        whole.compute(**rows, metrics="f1")  # the references are the knowledge


def test_gold_and_knowledge_in_one_call() -> None:
    q2 = evaluate.load("q2", "knowledge")
    rows = {"predictions": SAID, "references": GOLD, "knowledge": [KNOWLEDGE, [KNOWLEDGE], "k"]}
    found = q2.compute(**rows, metrics=["word_share", "f1", "bleu"])
    golds = [[one] if isinstance(one, str) else one for one in GOLD]
    best = [max(token_f1(said, g) for g in of_it) for said, of_it in zip(SAID, golds, strict=True)]
    assert found["f1"] == pytest.approx(sum(best) / 3)
    assert found["bleu"] == pytest.approx(corpus_bleu(SAID, golds))
    plain = evaluate.load("q2").compute(
        predictions=SAID, references=rows["knowledge"], metrics=["word_share"])
    assert found["word_share"] == plain["word_share"]
    assert set(found) - set(plain) == {"f1", "bleu"}

    q2.add(prediction=SAID[0], reference=GOLD[0], knowledge=KNOWLEDGE)
    assert q2.compute(metrics=["word_share"])["f1"] == pytest.approx(best[0])
    both = evaluate.load("q2", "dialog_knowledge")
    assert both.compute(**rows, histories=[["hi ."]] * 3, metrics=["word_share"]) == found
    with pytest.raises(InputError, match="'knowledge' needs knowledge"):
        q2.compute(predictions=SAID, references=GOLD)
    with pytest.raises(InputError, match=r'evaluate.load\(.q2., "knowledge"\)'):
        evaluate.load("q2").compute(**rows)


def test_bleu_with_several_references_is_sacrebleus() -> None:
    from sacrebleu.metrics.bleu import BLEU

    streams = [[GOLD[0], GOLD[1][0], GOLD[2]], [None, GOLD[1][1], None]]
    wanted = BLEU().corpus_score(SAID, streams).score / 100
    assert corpus_bleu(SAID, GOLD) == pytest.approx(wanted)


def test_numbers_only_for_loops_that_average() -> None:
    q2 = evaluate.load("q2")
    rows = {"predictions": ["thanks !"], "references": [KNOWLEDGE], "no_claim": "exclude"}
    everything = q2.compute(**rows)
    assert everything["q2"] is None
    found = q2.compute(**rows, numeric_only=True)
    assert found == {name: value for name, value in everything.items()
                     if isinstance(value, (int, float))}
    assert found["no_claim"] == 1.0
    with pytest.raises(InputError, match="numeric_only returns no lists"):
        q2.compute(**rows, numeric_only=True, return_scores=True)


ROW = {"predictions": [SAID[0]], "references": [KNOWLEDGE]}


def _score(metric: Any) -> Any:
    return metric.compute(**ROW, metrics="knowledge_f1")


def test_a_loaded_metric_travels(tmp_path: Path) -> None:
    dill, cloudpickle = pytest.importorskip("dill"), pytest.importorskip("cloudpickle")
    metric = evaluate.load("q2", "dialog", cache_dir=str(tmp_path))
    row = {**ROW, "histories": [["hi ."]]}
    wanted = metric.compute(**row, metrics="knowledge_f1")  # also after it has loaded what it needs
    copies = [copy.deepcopy(metric), *(
        library.loads(library.dumps(metric)) for library in (pickle, dill, cloudpickle))]
    for other in copies:
        assert other.compute(**row, metrics="knowledge_f1") == wanted
        assert other.data_dir == metric.data_dir
    metric.add(prediction=SAID[0], reference=KNOWLEDGE, history="hi .")
    with pytest.raises(InputError, match="1 rows were added and not yet computed"):
        pickle.dumps(metric)


def test_a_spawned_process_gets_it() -> None:
    metric = evaluate.load("q2")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_score, (metric,)) == _score(metric)


def test_datasets_map_knows_it_again() -> None:
    import datasets
    from datasets.fingerprint import Hasher

    metric, again = evaluate.load("q2"), evaluate.load("q2")
    assert Hasher.hash(metric) == Hasher.hash(again)
    assert Hasher.hash(metric) != Hasher.hash(evaluate.load("scale"))
    rows = datasets.Dataset.from_dict({"said": SAID})
    found = rows.map(lambda row: {"n": metric.compute(
        predictions=[row["said"]], references=[KNOWLEDGE], metrics="word_share")["n"]})
    assert list(found["n"]) == [1, 1, 1]


def test_a_fresh_process_finds_what_was_registered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(tmp_path))
    register()
    env = {**os.environ, "HF_MODULES_CACHE": str(tmp_path), "HF_EVALUATE_OFFLINE": "1",
           "PYTHONPATH": without("transformers", tmp_path)}  # not needed, and slow to import
    code = ("import json, evaluate\nq2 = evaluate.load('q2')\n"
            f"print(json.dumps(q2.compute(**{ROW!r}, metrics='word_share')))")
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["n"] == 1
