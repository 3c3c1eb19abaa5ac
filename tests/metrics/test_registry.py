from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from new_metric import add_chrf

from q2_metric import scoring
from q2_metric.cli.main import main
from q2_metric.errors import InputError
from q2_metric.metrics import load_metrics
from q2_metric.metrics.registry import (
    DEFAULT,
    METRICS,
    Entry,
    check_names,
    columns,
    entry,
    keywords,
    models,
    of_column,
    signatures,
)
from q2_metric.metrics.settings import Q2Settings, ScaleSettings
from q2_metric.runtime_config import RUNTIME_FIELDS, RuntimeConfig
from q2_metric.scoring.aggregate import system_score
from q2_metric.types import Example, Score


@pytest.fixture
def chrf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    return add_chrf(tmp_path, monkeypatch)


def test_entries_are_under_their_names() -> None:
    assert all(name == one.name for name, one in METRICS.items())
    assert list(columns(["scale", "q2"])) == ["scale", "q2", "q2_no_nli"]
    ours = [name for name in columns() if name in columns(["scale", "q2"])]
    assert ours == ["q2", "q2_no_nli", "scale"]  # wherever another metric stands
    assert set(DEFAULT) <= set(METRICS)


def test_keywords_are_running_models_and_settings() -> None:
    found = keywords()
    assert set(found) >= {*RUNTIME_FIELDS, *models(), "decoding", "chunk_size", "prompt"}
    assert len(set(found)) == len(found)
    assert METRICS["knowledge_f1"].keywords() == ()
    assert METRICS["bertscore"].keywords() == (
        "device", "batch_size", "any_language", "bertscore_model")


def test_a_request_leaves_out_where_it_runs() -> None:
    given = {"device": "cuda", "batch_size": 4, "dtype": "float16", "chunk_size": 9, "seed": 1,
             "nli_model": "m", "scale_model": None}
    assert METRICS["scale"].request("paper", given) == {
        "preset": "paper", "dtype": "float16", "chunk_size": 9}
    assert METRICS["nli"].request("paper", given) == {
        "preset": "paper", "dtype": "float16", "nli_model": "m"}


def test_signatures_by_column() -> None:
    signed = {"scale": "scale|version:1", "q2": "q2|compare:nli|fallback:nli|version:1"}
    assert signatures(signed) == {
        "scale": "scale|version:1",
        "q2": "q2|compare:nli|fallback:nli|version:1",
        "q2_no_nli": "q2_no_nli|compare:f1|fallback:nli|version:1",
    }


def test_a_metric_that_is_not_registered_has_one_column() -> None:
    metric, column = of_column("mine")
    assert (metric, column.name, column.title) == (entry("mine"), "mine", "mine")
    scores = [Score(Example("r", "k"), 0.25)]
    assert system_score("mine", scores, "mine").value == 0.25


def test_names_and_keywords_are_checked() -> None:
    assert check_names("scale, q2,scale") == ["scale", "q2"]
    with pytest.raises(InputError, match="no metric 'rouge'; did you mean 'knowledge_f1'"):
        check_names(["knowledge_f1", "rouge"])
    with pytest.raises(InputError, match=r"'bleu' compares .* knowledge is 'knowledge_bleu'"):
        check_names("scale,bleu")
    with pytest.raises(InputError, match="unknown keyword 'chunksize'; did you mean 'chunk_size'"):
        load_metrics(["knowledge_f1"], chunksize=3)


def test_a_setting_of_another_metric_is_told(caplog: pytest.LogCaptureFixture) -> None:
    load_metrics(["knowledge_f1"], branches=3, chunk_size=None, device="cpu")
    assert caplog.messages == [
        "branches has no effect here: only scale uses it, and this run computes knowledge_f1"]


def test_settings_and_runtime_of_presets_do_not_overlap() -> None:
    taken = {*Q2Settings.__dataclass_fields__, *ScaleSettings.__dataclass_fields__, *models()}
    assert taken.isdisjoint(RUNTIME_FIELDS)
    assert RuntimeConfig.of({"device": "cpu", "dtype": None}) == RuntimeConfig(
        device="cpu", dtype="auto", batch_size=None, any_language=False)


def test_a_new_metric_is_loaded_with_its_settings(chrf: Entry) -> None:
    assert "order" in keywords()
    (metric,) = load_metrics(["chrf"], order=2, device="cpu", chunk_size=7)
    assert metric.signature.startswith("chrf|order:2|version:")
    (score,) = metric.score([Example("abc", "abc")])
    assert score.value == 1.0


def test_a_new_metric_is_in_the_command_and_the_report(chrf: Entry, tmp_path: Path) -> None:
    rows, out, page = tmp_path / "rows.jsonl", tmp_path / "scores.jsonl", tmp_path / "page.html"
    rows.write_text('{"response": "abc", "knowledge": "abc"}\n')
    done = CliRunner().invoke(main, [
        "score", str(rows), "--metrics", "chrf,knowledge_f1",
        "--out", str(out), "--report", str(page)])
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text())["chrf"] == 1.0
    assert "chrF" in done.stdout
    assert '"chrF"' in page.read_text()
    again = tmp_path / "again.html"
    done = CliRunner().invoke(main, ["report", str(out), "--out", str(again)])
    assert done.exit_code == 0, done.output
    assert '"chrF"' in again.read_text()


def test_a_new_metric_is_in_the_scorer_of_the_plug_ins(chrf: Entry) -> None:
    run = scoring.ScoredRows.over(
        scoring.load("chrf,knowledge_f1", {"order": 3}),
        [Example("abc", "abc"), Example("", "abc")],
        no_claim="zero")
    assert run.columns() == ["chrf", "knowledge_f1"]
    assert run.column("chrf") == [1.0, None]
    assert run.system() == {"chrf": 0.5, "knowledge_f1": 0.5}
