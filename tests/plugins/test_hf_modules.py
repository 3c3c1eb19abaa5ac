"""``evaluate.load("q2")`` through evaluate's real loader, with the bundled models."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from optional import without

import q2_metric
from q2_metric import Q2, Example, InputError, Scale, scoring
from q2_metric.cli.installation import registered
from q2_metric.metrics import load_metrics
from q2_metric.metrics.calibration import Calibration
from q2_metric.registration import NAMES, OPT_OUT, cache_folder, register, register_quietly

evaluate = pytest.importorskip("evaluate")

KNOWLEDGE = "The show aired from 1983 to 1994 on PBS."
RIGHT, WRONG = "it aired on pbs .", "it aired on pbs from 1983 to 1991 ."


@pytest.fixture(scope="module")
def q2() -> Any:
    register()
    return evaluate.load("q2")


def _python(code: str, tmp_path: Path, **env: str) -> subprocess.Popen[str]:
    """A fresh process. Evaluate would import transformers and torch, which no module needs."""
    (folder := tmp_path / "path").mkdir(exist_ok=True)
    settings = {**os.environ, "PYTHONPATH": without("transformers", folder),
                "HF_HOME": str(tmp_path), "HF_EVALUATE_OFFLINE": "1", **env}
    for name in ("HF_MODULES_CACHE", "HF_METRICS_CACHE"):
        settings.pop(name, None)
    return subprocess.Popen(
        [sys.executable, "-c", code], env=settings, cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )


def _last_json(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return json.loads(out.strip().splitlines()[-1])


ROWS = {"predictions": [RIGHT, WRONG], "references": [KNOWLEDGE] * 2}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a process that only imports the package prints: Q² alone and beside SCALE, and
    groundedness with a history."""
    return _last_json(_python(
        "import json, q2_metric, evaluate\n"
        f"row = dict(predictions=[{WRONG!r}], references=[{KNOWLEDGE!r}])\n"
        "both = evaluate.combine(['q2', 'scale']).compute(**row)\n"
        "alone = evaluate.load('q2').compute(**row)\n"
        "metric = evaluate.load('groundedness', 'dialog')\n"
        f"found = metric.compute(**{ROWS!r}, histories=[['what is it on ?']] * 2,\n"
        "                       return_scores=True, return_claims=True)\n"
        "print(json.dumps([alone, both, found]))",
        tmp_path_factory.mktemp("fresh"),
    ))


def test_the_literal_call_after_import_q2_metric(fresh: Any) -> None:
    [score] = Q2.from_preset().score([Example(WRONG, KNOWLEDGE)])
    [scale] = Scale.from_preset().score([Example(WRONG, KNOWLEDGE)])
    alone, both, _ = fresh
    assert alone["q2"] == pytest.approx(score.value) == both["q2"]
    assert both["scale"] == pytest.approx(scale.value)
    assert both["q2_signature"].startswith("q2|preset:bundled|")
    assert both["scale_signature"].startswith("scale|preset:bundled|")


def test_two_processes_score_as_one(tmp_path: Path, q2: Any) -> None:
    code = (
        "import json, q2_metric, evaluate\n"
        "m = evaluate.load('q2', num_process=2, process_id={rank}, experiment_id='two',\n"
        "                  cache_dir={cache!r})\n"
        "m.add_batch(predictions={predictions!r}, references={references!r})\n"
        "print(json.dumps(m.compute(metrics=['q2', 'word_share'], return_scores=True)))"
    )
    shares = [[WRONG, RIGHT], [RIGHT, "it was made in france ."]]
    ranks = [
        _python(code.format(rank=i, cache=str(tmp_path / "shared"), predictions=share,
                            references=[KNOWLEDGE] * 2), tmp_path)
        for i, share in enumerate(shares)
    ]
    first, second = (_last_json(process) for process in ranks)
    assert second is None
    together = q2.compute(predictions=[*shares[0], *shares[1]], references=[KNOWLEDGE] * 4,
                          metrics=["q2", "word_share"], return_scores=True)
    assert first == together
    assert first["n"] == 4


def test_by_path_without_registration(tmp_path: Path) -> None:
    found = _last_json(_python(
        "import json, q2_metric.registration, evaluate\n"
        "names = [evaluate.load(q2_metric.path(n)).name for n in q2_metric.registration.NAMES]\n"
        "print(json.dumps(names))",
        tmp_path, **{OPT_OUT: "1"},
    ))
    assert found == list(NAMES)
    registered = tmp_path / "modules" / "evaluate_modules" / "metrics" / "evaluate-metric--q2"
    assert not registered.exists()


def test_groundedness_is_loaded_as_the_other_metrics_are(fresh: Any) -> None:
    """By its name, with a history."""
    _, _, found = fresh
    loaded = load_metrics(["groundedness"])
    rows = [Example(said, KNOWLEDGE, ("what is it on ?",)) for said in (RIGHT, WRONG)]
    wanted = [one["groundedness"].value for one in scoring.score(loaded, rows, evidence=True)]
    assert found["groundedness_scores"] == pytest.approx(wanted)
    assert wanted[0] > 0.5 > wanted[1]
    assert [one["verdict"] for one in found["claims"][1]] == ["contradicted"]
    assert set(found) == {"groundedness", "no_claim", "n", "signature", "groundedness_scores",
                          "claims"}


def test_the_doctor_sees_a_script_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``evaluate`` takes it before anything else."""
    register()
    monkeypatch.chdir(tmp_path)
    assert "finds it in" in registered()
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale" / "scale.py").write_text("class Scale: pass")
    with pytest.raises(InputError, match=r'evaluate.load\("scale"\) loads .*scale.py: call it in '):
        registered()


def test_register_is_repeatable_and_stays_the_newest() -> None:
    script = register()[0]
    assert script.is_relative_to(cache_folder())
    other = script.parent.parent / ("0" * 64) / "q2.py"
    other.parent.mkdir(exist_ok=True)
    other.write_text("from q2_metric.integrations.evaluate import An_older_one as Q2")
    ahead = script.stat().st_mtime - 5
    os.utime(other, (ahead, ahead))
    before = script.stat().st_mtime
    assert register()[0] == script
    assert script.stat().st_mtime == before
    os.utime(script, (ahead - 5, ahead - 5))
    register()
    assert script.stat().st_mtime > other.stat().st_mtime
    shutil.rmtree(other.parent)


def _elsewhere(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(folder))


def test_what_is_anothers_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another's cached ``scale`` was replaced for programs that never import us."""
    _elsewhere(monkeypatch, tmp_path)
    theirs = cache_folder() / "metrics" / "evaluate-metric--scale" / ("0" * 64) / "scale.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("class Scale: pass")
    before = theirs.stat().st_mtime_ns
    with pytest.raises(InputError, match="loads another metric"):
        register()
    assert (theirs.stat().st_mtime_ns, theirs.read_text()) == (before, "class Scale: pass")
    assert [path.name for path in theirs.parent.parent.iterdir()] == ["0" * 64]
    assert list((cache_folder() / "metrics").glob("evaluate-metric--q2/*/q2.py"))
    with pytest.warns(UserWarning, match=r'load\(q2_metric.path\("scale"\)\)'):
        register_quietly()
    monkeypatch.setenv(OPT_OUT, "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_quietly()


OF_OTHER_RELEASES = [
    "from hf_plugin.modules import Q2",
    "# A script of q2-metric: of another release\nfrom q2_metric.integrations.evaluate import Q2",
]


@pytest.mark.parametrize("theirs", OF_OTHER_RELEASES)
def test_environments_with_other_releases_share_a_cache(theirs: str, tmp_path: Path) -> None:
    """No command warns, each release puts its own script there, and both load."""
    folder = tmp_path / "modules" / "evaluate_modules" / "metrics" / "evaluate-metric--q2"
    older = folder / ("0" * 64) / "q2.py"
    older.parent.mkdir(parents=True)
    older.write_text(theirs)
    os.utime(older, (2e9, 2e9))
    q2 = str(Path(sys.executable).with_name("q2"))
    settings = {**os.environ, "HF_HOME": str(tmp_path)}
    settings.pop("HF_MODULES_CACHE", None)
    for words in ([q2, "--version"], [sys.executable, "-m", "q2_metric", "presets"],
                  [q2, "register"]):
        done = subprocess.run(words, env=settings, capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), words
    os.utime(older, (1e9, 1e9))
    found = _last_json(_python(
        "import json, q2_metric, evaluate\n"
        "print(json.dumps(evaluate.load('q2').__class__.__mro__[1].__module__))", tmp_path))
    assert found == "q2_metric.integrations.evaluate"
    assert older.read_text() == theirs


def test_the_command_is_silent_about_anothers_metric(tmp_path: Path) -> None:
    folder = tmp_path / "modules" / "evaluate_modules" / "metrics" / "evaluate-metric--q2"
    (folder / ("0" * 64)).mkdir(parents=True)
    (folder / ("0" * 64) / "q2.py").write_text("class Q2: pass")
    settings = {**os.environ, "HF_HOME": str(tmp_path)}
    settings.pop("HF_MODULES_CACHE", None)
    q2 = str(Path(sys.executable).with_name("q2"))
    for words in ([q2, "presets"], [sys.executable, "-m", "q2_metric", "presets"]):
        done = subprocess.run(words, env=settings, capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), words
    _, err = _python("import q2_metric", tmp_path).communicate(timeout=240)
    assert "loads another metric" in err
    done = subprocess.run([q2, "register"], env=settings, capture_output=True, text=True)
    assert done.returncode == 2
    assert "loads another metric" in done.stderr


@pytest.mark.parametrize("damage", [b"", b"\0" * 50, b"from hf_pl"])
def test_a_damaged_script_is_mended(
    damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _elsewhere(monkeypatch, tmp_path)
    script = register()[0]
    whole = script.read_bytes()
    script.write_bytes(damage)
    assert register()[0] == script
    assert script.read_bytes() == whole
    older = script.parent.parent / ("0" * 64) / "q2.py"  # nobody's: a disk that was full
    older.parent.mkdir()
    older.write_bytes(b"")
    assert register()[0] == script
    assert script.stat().st_mtime >= older.stat().st_mtime
    assert sorted(path.name for path in script.parent.iterdir()) == ["__init__.py", "q2.py"]


def test_import_survives_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    process = _python("import q2_metric; print('1')", tmp_path, HF_HOME=str(tmp_path / "file"))
    out, err = process.communicate(timeout=240)
    assert (out, err, process.returncode) == ("1\n", "", 0)


def test_unknown_module_name() -> None:
    with pytest.raises(InputError, match="q2, scale"):
        q2_metric.path("bleu")
    assert all(Path(q2_metric.path(n), f"{n}.py").is_file() for n in NAMES)


def test_values_are_those_of_the_package(q2: Any) -> None:
    found = q2.compute(
        predictions=[WRONG, RIGHT], references=[KNOWLEDGE, [KNOWLEDGE, "PBS is a network."]],
        metrics="q2,scale,knowledge_f1,knowledge_bleu", return_scores=True,
        return_explanations=True,
    )
    examples = [Example(WRONG, KNOWLEDGE), Example(RIGHT, KNOWLEDGE + "\nPBS is a network.")]
    wanted = [score.value for score in Q2.from_preset().score(examples)]
    assert found["q2_scores"] == wanted
    assert found["q2"] == pytest.approx(sum(w or 0 for w in wanted) / 2)
    assert found["scale_scores"] == [s.value for s in Scale.from_preset().score(examples)]
    assert found["coverage"] == 1.0
    assert found["no_answer_rate"] == 0.0
    assert found["n"] == 2
    assert [line.split("|")[0] for line in found["signature"].splitlines()] == [
        "q2", "scale", "knowledge_f1", "knowledge_bleu"]
    first = found["explanations"][0]
    assert {q["span"] for q in first["questions"]} == {"pbs", "1983 to 1991"}
    assert first["claims"][0]["passage"] == KNOWLEDGE


def test_scalars_only_unless_asked(q2: Any) -> None:
    found = q2.compute(predictions=[RIGHT], references=[KNOWLEDGE])
    assert set(found) == {"q2", "q2_no_nli", "coverage", "fallback", "no_answer_rate", "no_claim",
                          "n", "signature"}
    assert all(isinstance(value, (int, float, str)) for value in found.values())


def test_add_and_add_batch_and_again_without_reloading(
    q2: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    q2.add(prediction=WRONG, reference=KNOWLEDGE)
    q2.add_batch(predictions=[], references=[])
    q2.add_batch(predictions=[RIGHT, RIGHT], references=[[KNOWLEDGE], KNOWLEDGE])
    first = q2.compute(return_scores=True)
    assert first["n"] == 3
    assert first["q2_scores"][1] == first["q2_scores"][2]

    import onnxruntime

    monkeypatch.setattr(onnxruntime, "InferenceSession", _no_loading)
    assert q2.compute(predictions=[WRONG], references=[KNOWLEDGE])["q2"] == first["q2_scores"][0]


def _no_loading(*_: Any, **__: Any) -> None:
    raise AssertionError("the models are loaded a second time")


def test_keep_in_memory_and_settings(q2: Any) -> None:
    memory = evaluate.load("q2", keep_in_memory=True)
    rows = {"predictions": ["what do you think ?"], "references": [KNOWLEDGE]}
    found = memory.compute(**rows, fallback=False, return_scores=True)
    assert found["q2"] == 0.0
    assert found["q2_scores"] == [None]
    assert found["coverage"] == 0.0
    assert "fallback:off" in found["signature"]


def test_dialog_config_has_histories() -> None:
    dialog = evaluate.load("q2", "dialog")
    rows = {"predictions": [RIGHT], "references": [KNOWLEDGE]}
    found = dialog.compute(**rows, histories=[["i love tv .", "which show ?"]])
    assert found["q2"] == evaluate.load("q2").compute(**rows)["q2"]
    dialog.add(prediction=RIGHT, reference=KNOWLEDGE, history="which show ?")
    assert dialog.compute()["n"] == 1
    with pytest.raises(InputError, match="needs histories"):
        dialog.compute(**rows)
    with pytest.raises(InputError, match=r"histories\[0\]\[1\] is a number"):
        dialog.compute(**rows, histories=[["hi", 7]])
    with pytest.raises(InputError, match="no config 'dialogue'"):
        evaluate.load("q2", "dialogue")


def test_an_empty_response_keeps_its_place(q2: Any) -> None:
    found = q2.compute(predictions=["", RIGHT], references=[KNOWLEDGE] * 2,
                       return_scores=True, return_explanations=True)
    assert found["q2_scores"][0] is None
    assert found["n"] == 2
    assert found["q2"] == found["q2_scores"][1] / 2
    assert found["explanations"][0]["reason"] == "empty"
    left_out = q2.compute(predictions=["", RIGHT], references=[KNOWLEDGE] * 2, no_claim="exclude")
    assert (left_out["n"], left_out["q2"]) == (1, found["q2_scores"][1])
    assert left_out["signature"] != found["signature"]


def test_a_missing_text_is_a_blank_one(q2: Any) -> None:
    found = q2.compute(
        predictions=[RIGHT, None, RIGHT, RIGHT, RIGHT],
        references=[KNOWLEDGE, KNOWLEDGE, None, [], [None, KNOWLEDGE]],
        return_scores=True, return_explanations=True)
    assert [row["reason"] for row in found["explanations"]] == [
        None, "empty", "no_knowledge", "no_knowledge", None]
    assert found["q2_scores"][0] == found["q2_scores"][4]
    assert found["n"] == 3
    with pytest.raises(InputError, match=r"references\[0\] is missing: f1 and bleu need"):
        evaluate.load("q2", "knowledge").compute(
            predictions=[RIGHT], references=[None], knowledge=[KNOWLEDGE])


@pytest.mark.parametrize(("given", "message"), [
    ({"predictions": [RIGHT]}, "1 predictions, 2 references"),
    ({"predictions": [RIGHT, 3]}, r"predictions\[1\] is a number, not a string"),
    ({"references": [KNOWLEDGE, [KNOWLEDGE, 3]]}, r"references\[1\]\[1\] is a number"),
    ({"references": [KNOWLEDGE, 3]}, r"references\[1\] is a number"),
    ({"references": None}, "references is null, not a list with an item for each response"),
    ({"references": KNOWLEDGE}, "references is a string, not a list"),
    ({"predictions": ["\ud800", RIGHT]}, r"predictions\[0\] is not valid Unicode"),
    ({"predictions": [], "references": []}, "nothing to score"),
    ({"histories": [[], []]}, 'evaluate.load\\(\'q2\', "dialog"\\)'),
    ({"knowledge": [KNOWLEDGE] * 2}, "here the knowledge is called references"),
    ({"metrics": []}, "no metric is named"),
    ({"responses": [RIGHT]}, r"unknown keyword 'responses' \(known: predictions, references, "),
    ({"metric": "scale"}, "did you mean 'metrics'"),
    ({"presett": "bundled"}, "did you mean 'preset'"),
    ({"preset": "bundeld"}, "did you mean 'bundled'"),
    ({"metrics": ["q3"]}, "no metric 'q3'"),
    ({"decoding": "bem"}, "beam, greedy, sample"),
    ({"return_scores": 2}, "True or False"),
    ({"calibration": "/nowhere.json"}, "nowhere.json"),
])
def test_bad_input_is_one_clear_line(q2: Any, given: dict[str, Any], message: str) -> None:
    rows = {"predictions": [WRONG, RIGHT], "references": [KNOWLEDGE] * 2, **given}
    with pytest.raises(InputError, match=message) as raised:
        q2.compute(**rows)
    assert "\n" not in str(raised.value)
    assert len(q2) == 0


def test_bad_input_loses_nothing_that_was_added(q2: Any) -> None:
    q2.add_batch(predictions=[WRONG, RIGHT], references=[KNOWLEDGE] * 2)
    with pytest.raises(InputError, match=r"predictions\[0\] \(row 2 of all"):
        q2.add_batch(predictions=[7], references=[KNOWLEDGE])
    with pytest.raises(InputError, match="unknown keyword"):
        q2.compute(batchsize=3)
    assert q2.compute()["n"] == 2


def test_calibration(q2: Any, tmp_path: Path) -> None:
    rows = {"predictions": [WRONG], "references": [KNOWLEDGE]}
    plain = q2.compute(**rows)
    halved = Calibration("halved", "q2", "isotonic", 0.5, plain["signature"], x=(0, 1), y=(0, 0.5))
    halved.save(tmp_path / "halved.json")
    found = q2.compute(**rows, calibration=str(tmp_path / "halved.json"))
    assert found["q2"] == pytest.approx(plain["q2"] / 2)
    assert "|calibration:halved|" in found["signature"]


@pytest.mark.skipif(not os.environ.get("Q2_DATA_DIR"), reason="Q2_DATA_DIR is not set")
def test_real_responses_score_as_in_the_package(q2: Any) -> None:
    from q2_metric.data.readers import read_annotated

    examples = [row.example for row in read_annotated()[::90]]
    found = q2.compute(predictions=[e.response for e in examples],
                       references=[e.knowledge for e in examples],
                       metrics=["q2", "scale"], return_scores=True)
    plain = [Example(e.response, e.knowledge) for e in examples]
    assert found["q2_scores"] == [s.value for s in Q2.from_preset().score(plain)]
    assert found["scale_scores"] == [s.value for s in Scale.from_preset().score(plain)]
