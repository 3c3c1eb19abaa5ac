"""The ParlAI plug-in over fake models: the command ``parlai`` runs in this process."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes import (
    FakeEntailment,
    FakeMetric,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeSpans,
)
from parlai_wow import NO_KNOWLEDGE, ROOT, command, dialogue, environment, write

from q2_metric import metrics
from q2_metric.errors import InputError
from q2_metric.metrics import claims, registry
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.scoring.aggregate import system_score
from q2_metric.types import Example, Metric, Score

pytest.importorskip("parlai", reason='ParlAI is not installed: pip install "q2-metric[parlai]"')

from parlai.core.agents import Agent
from parlai.core.loader import register_agent, register_teacher
from parlai.core.params import ParlaiParser
from parlai.core.teachers import DialogTeacher
from parlai.scripts.eval_model import EvalModel
from parlai.utils.logging import logger

import parlai_plugin
from parlai_plugin import hook, notices, options, scores
from parlai_plugin.options import presets
from parlai_plugin.scores import LazyMean, Scorer

WOW = "wizard_of_wikipedia:generator"
SEEN, UNSEEN = f"{WOW}:random_split", f"{WOW}:topic_split"

FACT = "Rome has 3 hills and the Tiber."
RESPONSES = ["Rome has 3 hills.", "Rome has 7 hills.", "it rains there .", "The Tiber is in Paris."]
"""Over the fakes: all answers in the knowledge, one of two, no question, two of three."""


def turns(responses: Sequence[str], knowledge: str = FACT) -> list[tuple[str, str, str]]:
    return [("tell me more", knowledge, response) for response in responses]


class Fakes:
    """Takes the place of ``load_metrics``, and says what was asked of it."""

    def __init__(self) -> None:
        self.spans = FakeSpans()
        self.q2 = Q2(
            self.spans,
            FakeQuestions(),
            FakeReader(),
            FakeEntailment(),
            FakePersonal(),
            preset="fake",
        )
        self.scale = FakeMetric("scale", {RESPONSES[0]: 0.9, RESPONSES[1]: 0.2})
        self.calls: list[tuple[list[str], str, dict[str, Any]]] = []

    def __call__(self, names: Sequence[str], preset: str, **keywords: Any) -> list[Metric]:
        self.calls.append((list(names), preset, keywords))
        return [self.q2 if name == "q2" else self.scale for name in names]

    def expected(self, responses: Sequence[str], knowledge: str = FACT) -> dict[str, float | None]:
        """What `q2 score` makes of the responses."""
        examples = [Example(response, knowledge) for response in responses]
        found = self.q2.score(examples)
        q2 = system_score("q2", found, "")
        return {
            "q2": q2.value,
            "q2_no_nli": system_score("q2_no_nli", found, "").value,
            "coverage": q2.coverage,
            "fallback": q2.n_fallback / q2.n,
            "scale": system_score("scale", self.scale.score(examples), "").value,
        }


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    fake = Fakes()
    monkeypatch.setattr(metrics, "load_metrics", fake)
    monkeypatch.setattr(scores, "_scorers", {})
    monkeypatch.delenv("PARLAI_DATAPATH", raising=False)
    return fake


@pytest.fixture
def wow(tmp_path: Path) -> str:
    """A data folder: five turns in two dialogues, one turn without knowledge."""
    first = dialogue("Rome", turns(RESPONSES[:2]))
    second = dialogue("Rome", [*turns(RESPONSES[2:]), ("hi", NO_KNOWLEDGE, "hello")])
    return str(write(tmp_path / "data", [first, second], [first, second]))


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What ParlAI's logger says (it does not pass records on to the root logger)."""
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def warnings(said: pytest.LogCaptureFixture) -> list[str]:
    found = [r.getMessage() for r in said.records if r.levelno == logging.WARNING]
    return [line for line in found if line.startswith("q2-metric: ")]


def evaluate(wow: str, *arguments: str, metrics: str = "q2,scale,f1,bleu") -> dict[str, float]:
    options = ["-dp", wow, "-t", WOW, "-m", "repeat_label", "--metrics", metrics, "-ltim", "0"]
    report = command("eval_model", *options, *arguments)
    return {name: float(value) for name, value in report.items()}


def evaluate_nothing(wow: str, *arguments: str, metrics: str) -> dict[str, float]:
    """The same where a metric scores nothing: the command exits, from Python there is a report."""
    with pytest.raises(SystemExit) as end:
        evaluate(wow, *arguments, metrics=metrics)
    assert end.value.code == 1
    options = ["-dp", wow, "-t", WOW, "-m", "repeat_label", "--metrics", metrics, "-ltim", "0"]
    report = EvalModel._run_args([*options, *arguments])
    return {name: float(value) for name, value in report.items()}


def subset(report: dict[str, float], expected: dict[str, float | None]) -> dict[str, float]:
    return {name: report[name] for name in expected}


@register_agent("q2_test_silent")
class Silent(Agent):
    """Answers with an empty text."""

    def act(self) -> dict[str, str]:
        return {"id": "silent", "text": " "}


@register_agent("q2_test_dumb")
class Dumb(Agent):
    """Answers without a text, as a generator does with --skip-generation true."""

    def act(self) -> dict[str, str]:
        return {"id": "dumb"}


@register_teacher("q2_test_facts")
class Facts(DialogTeacher):
    """A user's own task; half of its examples have the field ``facts``."""

    def __init__(self, opt: Any, shared: Any = None) -> None:
        opt["datafile"] = "facts"
        self.id = "facts"
        super().__init__(opt, shared)

    def setup_data(self, datafile: str) -> Iterator[tuple[dict[str, Any], bool]]:
        for index, response in enumerate(RESPONSES):
            message = {"text": "what is it ?", "labels": [response]}
            if index % 2 == 0:
                message["facts"] = [FACT, "More."]
            yield message, True


# --- reports -----------------------------------------------------------------------------


@pytest.mark.parametrize("batching", [(), ("-bs", "2"), ("-bs", "16")])
def test_one_batch_per_report_gives_the_numbers_of_q2_score(
    fakes: Fakes, wow: str, batching: tuple[str, ...]
) -> None:
    report = evaluate(wow, *batching)
    assert fakes.spans.calls == 1
    assert fakes.scale.batches == [4]
    assert subset(report, fakes.expected(RESPONSES)) == pytest.approx(fakes.expected(RESPONSES))
    assert report["coverage"] == 0.75
    assert report["f1"] == 1.0  # ParlAI's own, against the label
    assert "bleu-4" in report
    assert report["q2_no_knowledge"] == 1


def test_only_what_is_asked_for_is_loaded(fakes: Fakes, wow: str) -> None:
    assert "q2" not in evaluate(wow, metrics="f1")
    assert fakes.calls == []
    report = evaluate(wow, "--q2-device", "cuda:1", "--q2-batch-size", "7", metrics="scale")
    assert "q2" not in report
    expected = {"device": "cuda:1", "batch_size": 7}
    assert fakes.calls == [(["scale"], "bundled", expected)]


def test_parlais_own_knowledge_f1_stays(
    fakes: Fakes, wow: str, said: pytest.LogCaptureFixture
) -> None:
    own = evaluate(wow, metrics="f1")["knowledge_f1"]
    assert evaluate(wow, metrics="q2,knowledge_f1")["knowledge_f1"] == own > 0
    assert not [line for line in warnings(said) if "knowledge_f1" in line]


def test_every_setting_is_an_option(fakes: Fakes, wow: str) -> None:
    evaluate(wow, "--q2-decoding", "greedy", "--q2-fallback", "false", "--q2-chunk-size", "64",
             "--q2-reader-model", "./mine", metrics="scale")
    expected = {"reader_model": "./mine", "decoding": "greedy", "fallback": False,
                "chunk_size": 64}
    assert fakes.calls == [(["scale"], "bundled", expected)]
    parser = ParlaiParser()
    options.add_options(parser)
    flags = {f"--q2-{name.replace('_', '-')}" for name in registry.keywords()}
    assert flags <= parser._option_string_actions.keys()


def test_any_reported_name_asks_for_its_metric(fakes: Fakes, wow: str) -> None:
    assert evaluate(wow, metrics="q2_no_nli")["q2"] == fakes.expected(RESPONSES)["q2"]


def test_periodic_reports_score_each_response_once(fakes: Fakes, wow: str) -> None:
    report = evaluate(wow, "-ltim", "0.0000001")
    assert report["scale"] == pytest.approx(fakes.expected(RESPONSES)["scale"])
    assert fakes.scale.batches[:-1] == [1, 1, 1, 1]  # the last one is this test's own


def test_number_of_examples(fakes: Fakes, wow: str) -> None:
    report = evaluate(wow, "-ne", "2")
    assert report["exs"] == 2
    assert report["q2"] == pytest.approx(fakes.expected(RESPONSES[:2])["q2"])


def two_splits(tmp_path: Path) -> str:
    unseen = dialogue("Rome", turns([RESPONSES[0]]))
    path = write(tmp_path / "data", [unseen], [dialogue("Rome", turns(RESPONSES[1:]))])
    (path / "wizard_of_wikipedia/valid_topic_split.json").write_text(json.dumps([unseen]))
    return str(path)


def test_several_tasks_macro(fakes: Fakes, tmp_path: Path) -> None:
    report = evaluate(two_splits(tmp_path), "-t", f"{SEEN},{UNSEEN}")
    seen, unseen = fakes.expected(RESPONSES[1:]), fakes.expected(RESPONSES[:1])
    for name in seen:
        assert report[f"{SEEN}/{name}"] == pytest.approx(seen[name])
        assert report[f"{UNSEEN}/{name}"] == pytest.approx(unseen[name])
        assert report[name] == pytest.approx(((seen[name] or 0) + (unseen[name] or 0)) / 2)


def test_several_tasks_micro(fakes: Fakes, tmp_path: Path) -> None:
    report = evaluate(two_splits(tmp_path), "-t", f"{SEEN},{UNSEEN}", "--aggregate-micro", "true")
    expected = fakes.expected([*RESPONSES[1:], RESPONSES[0]])
    assert subset(report, expected) == pytest.approx(expected)


def test_report_file(fakes: Fakes, wow: str, tmp_path: Path) -> None:
    evaluate(wow, "-rf", str(tmp_path / "report.json"))
    saved = json.loads((tmp_path / "report.json").read_text())["report"]
    expected = fakes.expected(RESPONSES)
    assert subset(saved, expected) == pytest.approx(expected)
    signed = saved["q2_signatures"]
    assert set(signed) == {"q2", "scale"}
    assert all(line.startswith(f"{name}|") for name, line in signed.items())


@pytest.mark.parametrize("batching", [(), ("-bs", "2")])
def test_world_logs_hold_scores_and_explanations(
    fakes: Fakes, wow: str, tmp_path: Path, batching: tuple[str, ...]
) -> None:
    evaluate(wow, "--world-logs", str(tmp_path / "log.jsonl"), *batching)
    assert fakes.spans.calls == 1
    assert fakes.scale.evidence == [True]  # the supporting sentences are part of it
    episodes = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    answers = {turn[1]["text"]: turn[1] for episode in episodes for turn in episode["dialog"]}
    assert set(answers) == {*RESPONSES, "hello"}
    wrong = answers[RESPONSES[1]]
    assert wrong["metrics"]["q2"] == 0.5
    assert wrong["metrics"]["scale"] == 0.2
    why = wrong["q2_explanation"]
    assert [(item["span"], item["how"]) for item in why["questions"]] == [
        ("Rome", "equal"),
        ("7", "no_answer"),
    ]
    assert why["claims"][0]["passage"] == FACT
    assert answers[RESPONSES[2]]["q2_explanation"]["fallback"] is True
    assert answers["hello"]["q2_explanation"] == {"left_out": "q2_no_knowledge"}
    assert "q2" not in answers["hello"]["metrics"]


def test_explanations_can_be_kept_by_name(fakes: Fakes, wow: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    evaluate(wow, "--world-logs", str(log), "--log-keep-fields", "text,q2_explanation")
    answer = json.loads(log.read_text().splitlines()[0])["dialog"][0][1]
    assert answer["q2_explanation"]["q2"] == 1.0
    assert "metrics" not in answer


# --- knowledge ---------------------------------------------------------------------------


def test_all_shown_knowledge(fakes: Fakes, wow: str) -> None:
    report = evaluate(wow, "--q2-knowledge", "all")
    assert "q2_no_knowledge" not in report
    knowledge = {example.knowledge for example in fakes.spans.asked}
    assert knowledge == {f"{FACT}\n{FACT}"}


def test_a_field_of_ones_own(fakes: Fakes, wow: str, said: pytest.LogCaptureFixture) -> None:
    report = evaluate(wow, "-t", "q2_test_facts", "--q2-knowledge-field", "facts")
    expected = fakes.expected(RESPONSES[::2], f"{FACT}\nMore.")
    assert subset(report, expected) == pytest.approx(expected)
    assert "2 of 4 examples of q2_test_facts had no knowledge" in warnings(said)[-1]


def test_a_mistyped_field(fakes: Fakes, wow: str, said: pytest.LogCaptureFixture) -> None:
    evaluate_nothing(
        wow, "-t", "q2_test_facts", "--q2-knowledge-field", "fact", metrics="q2,scale")
    first, *rest = warnings(said)[:3]
    assert "no field 'fact'; did you mean 'facts'?" in first
    assert ["scored nothing" in line for line in rest] == [True, True]


def test_a_teacher_without_knowledge(
    fakes: Fakes, wow: str, said: pytest.LogCaptureFixture
) -> None:
    report = evaluate_nothing(wow, "-t", "q2_test_facts", metrics="q2")
    assert "q2" not in report
    assert warnings(said) == 2 * [
        "q2-metric: q2 was requested, but scored nothing on q2_test_facts: none of 4 examples had "
        "knowledge; name the field that contains it with --q2-knowledge-field "
        "(the fields are episode_done, facts, id, labels, text)"
    ]


def test_a_task_without_any_field_for_knowledge_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notices, "fields_without", {"t": ["episode_done", "labels", "text"]})
    [line] = notices.closing_lines(
        {"task": "t", "metrics": "q2"}, {"exs": 2, notices.NO_KNOWLEDGE: 2})
    assert line.endswith("none of 2 examples had knowledge; name the field that contains it with "
                         "--q2-knowledge-field (the fields are episode_done, labels, text)")


def test_left_out_examples_are_counted(
    fakes: Fakes, wow: str, said: pytest.LogCaptureFixture
) -> None:
    evaluate(wow, "-bs", "2")
    line = f"q2-metric: 1 of 5 examples of {WOW} had no knowledge and were left out of q2 and scale"
    assert warnings(said) == [line]


def test_empty_responses(fakes: Fakes, wow: str, said: pytest.LogCaptureFixture) -> None:
    report = evaluate(wow, "-m", "q2_test_silent", metrics="q2")
    assert report["q2_no_response"] == 4
    assert (report["q2"], report["no_claim"], report["coverage"]) == (0.0, 1.0, 0.0)
    assert fakes.spans.calls == 0
    assert warnings(said)[-1] == f"q2-metric: 4 of 5 responses to {WOW} were empty and count as 0"


def test_empty_responses_left_out(
    fakes: Fakes, wow: str, said: pytest.LogCaptureFixture
) -> None:
    report = evaluate_nothing(
        wow, "-m", "q2_test_silent", "--q2-no-claim", "exclude", metrics="q2")
    assert math.isnan(report["q2"])
    assert report["no_claim"] == 1.0
    assert "scored nothing" in warnings(said)[-1]


def test_a_response_that_cannot_be_scored(
    fakes: Fakes, wow: str, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fakes.scale.score

    def score(examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        if any(example.response == RESPONSES[0] for example in examples):
            raise RuntimeError("broken text")
        return whole(examples, evidence=evidence)

    expected = fakes.expected(RESPONSES)
    monkeypatch.setattr(fakes.scale, "score", score)
    report = evaluate(wow)
    others = fakes.expected(RESPONSES[1:])["scale"]
    assert report["scale"] == pytest.approx(others)
    assert report["q2"] == pytest.approx(expected["q2"])
    line = f"q2-metric: scale left out {RESPONSES[0]!r}: RuntimeError: broken text"
    assert line in warnings(said)


def test_small_talk_scores_nothing(fakes: Fakes, tmp_path: Path) -> None:
    said = [dialogue("Rome", turns([RESPONSES[0], "lol", "thanks !", "::::"]))]
    data = str(write(tmp_path / "data", said, said))
    zero = evaluate(data, "-bs", "2", metrics="q2")
    assert (zero["q2"], zero["no_claim"], zero["coverage"]) == (0.25, 0.75, 0.25)
    left_out = evaluate(data, "--q2-no-claim", "exclude", metrics="q2")
    assert (left_out["q2"], left_out["no_claim"]) == (1.0, 0.75)


def test_no_text_at_all(fakes: Fakes, wow: str, said: pytest.LogCaptureFixture) -> None:
    evaluate_nothing(wow, "-m", "q2_test_dumb", metrics="q2")
    assert warnings(said)[-1].endswith("no response with a text was seen")


# --- names and errors --------------------------------------------------------------------


def test_mistyped_metrics(fakes: Fakes, wow: str, said: pytest.LogCaptureFixture) -> None:
    evaluate(wow, metrics="Q2,scal,q3,f1")
    assert warnings(said) == [
        "q2-metric: there is no metric 'Q2'; did you mean 'q2'?",
        "q2-metric: there is no metric 'scal'; did you mean 'scale'?",
        "q2-metric: --metrics asks for 'q3', but no metric of this name was reported",
    ]


def test_mistyped_validation_metric() -> None:
    (warning,) = notices.mistyped({"metrics": "q2,f1,ppl", "validation_metric": "q2_nonli"})
    assert warning.endswith("did you mean 'q2_no_nli'?")
    assert notices.mistyped({"metrics": "all", "validation_metric": "accuracy"}) == []


def one_line(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 1) -> str:
    with pytest.raises(SystemExit) as exit_:
        command(*arguments)
    assert exit_.value.code == code
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("q2-metric")]
    assert len(lines) == 1
    return lines[0]


def test_unknown_preset_stops_at_the_first_example(
    wow: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "_scorers", {})
    arguments = ["-dp", wow, "-t", WOW, "-m", "repeat_label", "--metrics", "q2"]
    line = one_line(capsys, "eval_model", *arguments, "--q2-preset", "papr")
    assert "unknown preset 'papr'" in line
    line = one_line(capsys, "eval_model", *arguments, "--q2-batch-size", "0")
    assert line == "q2-metric: batch_size must be at least 1, not 0"
    with pytest.raises(InputError):  # from Python it is an exception
        EvalModel.main(datapath=wow, task=WOW, model="repeat_label", metrics="q2", q2_preset="x")


def test_missing_zoo_model(
    wow: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("Connection broken too many times. Stopped retrying.")

    monkeypatch.setattr("parlai.core.build_data.download", broken)
    line = one_line(capsys, "eval_model", "-dp", wow, "-o", "q2/memnet", code=2)
    assert "zoo:wizard_of_wikipedia/end2end_generator/model is not under" in line
    assert "Connection broken" in line
    line = one_line(capsys, "eval_model", "-dp", wow, "-mf", "zoo:no_such/model", code=2)
    assert "zoo:no_such/model" in line


def test_missing_opt_preset(wow: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = one_line(capsys, "eval_model", "-dp", wow, "-o", "q2/memnt", code=2)
    assert line == ("q2-metric: -o: there is no preset q2/memnt; the presets are q2/dodeca and "
                    "q2/memnet")
    with pytest.raises(FileNotFoundError):  # ParlAI's own error for everything else
        command("eval_model", "-dp", wow, "-o", "gen/nothing")


def test_validation_metric_that_scores_nothing(
    fakes: Fakes, wow: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ["-m", "transformer/generator", "-mf", str(tmp_path / "m"), "--n-layers", "1"]
    model += ["--embedding-size", "8", "--ffn-size", "8", "--n-heads", "1", "--skip-generation"]
    line = one_line(
        capsys,
        *["train_model", "-dp", wow, "-t", WOW, *model, "true", "-eps", "1", "-veps", "1"],
        *["--metrics", "q2", "-vmt", "q2", "-vmm", "max"],
    )
    assert "scored nothing" in line
    assert "--skip-generation false" in line


def train(wow: str, folder: Path, *arguments: str) -> dict[str, Any]:
    """Trains a tiny generator that writes noise; what was kept with the model."""
    model = ["-m", "transformer/generator", "-mf", str(folder / "m"), "--n-layers", "1"]
    model += ["--embedding-size", "8", "--ffn-size", "8", "--n-heads", "1", "--truncate", "32"]
    model += ["--skip-generation", "false", "--inference", "greedy", "-bs", "2"]
    import torch

    torch.manual_seed(0)  # another noise may be blank, which nothing scores
    with contextlib.suppress(SystemExit):  # a metric that scored nothing is an error at the end
        command("train_model", "-dp", wow, "-t", WOW, *model, "-eps", "3", "-veps", "1",
                "--metrics", "q2,scale", "-vmm", "max", *arguments)
    found: dict[str, Any] = json.loads((folder / "m.trainstats").read_text())
    return found


def test_training_goes_on_without_a_metric_that_breaks(
    fakes: Fakes, wow: str, tmp_path: Path, said: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def score(examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        raise RuntimeError("CUDA error: the device is lost")

    monkeypatch.setattr(fakes.scale, "score", score)
    monkeypatch.setattr(claims, "has_claim", lambda *_: True)
    stats = train(wow, tmp_path, "-vmt", "scale")
    assert len(stats["valid_reports"]) >= 2
    assert all(math.isnan(report["scale"]) for report in stats["valid_reports"])
    assert all(0 <= report["q2"] <= 1 for report in stats["valid_reports"])
    assert stats["best_valid"] in (None, -math.inf)  # none of them is the best
    errors = [r.getMessage() for r in said.records if r.levelno == logging.ERROR]
    assert any(line.startswith("q2-metric: scale failed and has no numbers here: ")
               and "the device is lost" in line for line in errors)
    assert any("cannot choose the best model: scale has no value" in line
               for line in warnings(said))
    assert any("scale was requested, but scored nothing" in line and "it failed" in line
               for line in warnings(said))
    monkeypatch.setattr(scores, "_scorers", {})
    with pytest.raises(RuntimeError, match="the device is lost"):
        train(wow, tmp_path / "strict", "-vmt", "scale", "--q2-strict", "true")


def test_a_validation_of_noise_is_never_the_best(
    fakes: Fakes, wow: str, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    stats = train(wow, tmp_path, "-vmt", "q2")
    assert len(stats["valid_reports"]) >= 2
    assert stats["best_valid"] in (None, -math.inf)
    assert any("cannot choose the best model: 100% of the responses" in line
               for line in warnings(said))


def test_help_shows_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    for script in ("eval_model", "train_model"):
        with pytest.raises(SystemExit):
            command(script, "--help")
        shown = capsys.readouterr().out
        for option in ("preset", "batch-size", "device", "knowledge", "knowledge-field"):
            assert f"--q2-{option} " in shown
        assert all(f"--q2-{name.replace('_', '-')} " in shown for name in registry.keywords())
    with pytest.raises(SystemExit):
        command("display_data", "--help")
    assert "--q2-" not in capsys.readouterr().out


@pytest.mark.parametrize("preset", ["q2/memnet", "q2/dodeca"])
def test_a_preset_with_a_model_that_is_not_there(
    wow: str, preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "WRONG"
    options = ["-dp", wow, "-o", preset, "-mf", str(model)]
    for script in ("eval_model", "q2_export"):
        line = one_line(capsys, script, *options, code=2)
        assert line == f"q2-metric: -mf: there is no model file {model}"
    model.touch()
    line = one_line(capsys, "eval_model", *options, code=2)
    assert line == (
        f"q2-metric: -mf: the model {model} has no option 'skip_generation', which -o {preset} "
        "sets; leave out -o, or name a model that writes text")


# --- export ------------------------------------------------------------------------------


def test_export(fakes: Fakes, wow: str, tmp_path: Path, said: pytest.LogCaptureFixture) -> None:
    out = tmp_path / "responses.jsonl"
    options = ["-dp", wow, "-t", WOW, "-m", "repeat_label", "--out", str(out), "-bs", "2"]
    counts = command("q2_export", *options)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert counts == {"written": 4, "q2_no_knowledge": 1}
    assert {row["response"] for row in rows} == set(RESPONSES)
    assert {row["knowledge"] for row in rows} == {FACT}
    assert {row["system"] for row in rows} == {"repeat_label"}
    assert len({row["id"] for row in rows}) == 4
    second = next(row for row in rows if row["response"] == RESPONSES[1])
    assert second["history"] == ["Rome", "tell me more", RESPONSES[0], "tell me more"]
    assert second["gold"] == RESPONSES[1]
    assert warnings(said) == ["q2-metric: 1 examples had no knowledge and were left out"]
    assert fakes.calls == []  # nothing is scored


def test_history_leaves_prepended_knowledge_out(fakes: Fakes, wow: str, tmp_path: Path) -> None:
    out = tmp_path / "responses.jsonl"
    options = ["-dp", wow, "-t", WOW, "-m", "repeat_label", "--out", str(out)]
    command("q2_export", *options, "--prepend-gold-knowledge", "true", "--system", "mine")
    row = json.loads(out.read_text().splitlines()[0])
    assert row["history"] == ["Rome", "tell me more"]
    assert row["system"] == "mine"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "--out: name a .jsonl file"),
        (["--out", "nowhere/out.jsonl"], "there is no folder 'nowhere'"),
        (["--out", "{tmp}/out.jsonl", "-m", "q2_test_silent"], "had an empty response"),
        (["--out", "{tmp}/out.jsonl", "-m", "q2_test_dumb"], "the model gave no text"),
        (["--out", "{tmp}/out.jsonl", "-t", "q2_test_facts"], "had no knowledge"),
    ],
)
def test_export_errors(
    arguments: list[str],
    problem: str,
    wow: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [argument.format(tmp=tmp_path) for argument in arguments]
    options = ["-dp", wow, "-t", WOW, "-m", "repeat_label", *given]
    assert problem in one_line(capsys, "q2_export", *options)
    assert not (tmp_path / "out.jsonl").exists()


def test_an_export_replaces_no_file_of_others(
    wow: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    options = ["-dp", wow, "-t", WOW, "-m", "repeat_label", "--out", str(out)]
    assert f"{out}: already exists" in one_line(capsys, "q2_export", *options)
    assert out.read_text() == "mine"
    command("q2_export", *options, "--overwrite", "true")
    assert len(out.read_text().splitlines()) == 4


# --- the lazy metric ---------------------------------------------------------------------


def means(scorer: Scorer, texts: Sequence[str]) -> list[LazyMean]:
    return [LazyMean("word_share", [scorer.add(Example(text, "k"))]) for text in texts]


def test_sums_can_branch() -> None:
    metric = FakeMetric("word_share", {"a": 0.0, "b": 1.0, "c": 0.25})
    a, b, c = means(Scorer([metric]), "abc")
    ab = a + b
    ac = a + c
    abc = ab + c
    assert [m.value() for m in (a, ab, ac, abc)] == [0.0, 0.5, 0.125, pytest.approx(1.25 / 3)]
    assert metric.batches == [3]
    assert (abc + abc).value() == abc.value()
    assert None + a is a  # ParlAI starts a sum so


def test_twenty_thousand_additions_take_no_time() -> None:
    metric = FakeMetric("word_share")
    scorer = Scorer([metric])
    responses = [scorer.add(Example(str(i), "k")) for i in range(20_000)]
    start = time.process_time()
    total = LazyMean("word_share", responses[:1])
    reports = []
    for response in responses[1:]:
        total = total + LazyMean("word_share", [response])
        reports.append(total)
    assert time.process_time() - start < 2
    assert (total.value(), reports[99].value()) == (0.5, 0.5)
    assert metric.batches == [20_000]


def test_pickling_sends_the_share_of_a_worker() -> None:
    metric = FakeMetric("word_share", {"a": 0.0, "b": 1.0, "none": None})
    a, b, none = means(Scorer([metric]), ["a", "b", "none"])
    sent = pickle.dumps(a + b + none)
    assert metric.batches == [3]
    assert len(sent) < 200
    received = pickle.loads(sent)
    assert received.value() == 0.5
    (c,) = means(Scorer([metric]), ["c"])
    assert (received + c).value() == pytest.approx(1.5 / 3)


def test_thrown_away_reports_are_never_scored() -> None:
    metric = FakeMetric("word_share")
    scorer = Scorer([metric])
    means(scorer, "abc")
    (kept,) = means(scorer, "d")
    assert kept.value() == 0.5
    assert metric.batches == [1]


def test_no_value() -> None:
    (none,) = means(Scorer([FakeMetric("word_share", {"a": None})]), "a")
    assert none.value() != none.value()


def test_what_one_metric_found_another_does_not_seek_again(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groundedness is computed from SCALE's scores where both are asked for."""
    calls: list[int] = []
    real = Scale.score

    def counted(self: Scale, examples: Sequence[Example], **more: Any) -> list[Score]:
        calls.append(len(examples))
        return real(self, examples, **more)

    monkeypatch.setattr(Scale, "score", counted)
    scorer = Scorer(metrics.load_metrics(["scale", "groundedness"], "bundled-small"))
    response = scorer.add(Example("Rome is in Italy.", "Rome is the capital of Italy."))
    scale, grounded = (LazyMean(name, [response]).value() for name in ("scale", "groundedness"))
    assert calls == [1]
    assert scale > 0.5
    assert grounded > 0.5


# --- installation ------------------------------------------------------------------------


def test_install_is_idempotent() -> None:
    parlai_plugin.install()
    observe = hook.FixedDialogTeacher.observe
    parlai_plugin.install()
    assert hook.FixedDialogTeacher.observe is observe


def test_wheel_has_the_plug_in() -> None:
    from configparser import ConfigParser

    from setuptools import find_namespace_packages

    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    include = config["options.packages.find"]["include"].split()
    found = find_namespace_packages(str(ROOT), include=include)
    assert {"parlai_plugin", "parlai_internal.mutators", "parlai_internal.scripts"} <= set(found)
    assert not list((ROOT / "parlai_internal").rglob("__init__.py"))
    assert len(presets()) == 2


def check(folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "parlai_plugin"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.strip()


def test_ones_own_parlai_internal(tmp_path: Path) -> None:
    assert check(tmp_path)[0] == 0
    own = tmp_path / "parlai_internal"
    (own / "mutators").mkdir(parents=True)
    (own / "__init__.py").write_text("")
    (own / "mutators" / "__init__.py").write_text("")
    code, line = check(tmp_path)
    assert code == 1
    assert "hides the plug-in" in line
    advice = line.rpartition("__init__.py: ")[2]
    for file in own.rglob("__init__.py"):
        assert str(file) in line
        file.write_text(advice + "\n")
    assert check(tmp_path)[0] == 0
