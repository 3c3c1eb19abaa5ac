"""Thresholds and calibrations, fitted on inputs that can be worked by hand; the commands."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from fakes import FakeMetric
from optional import agreement

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.errors import InputError
from q2_metric.evaluation import calibrate as fitting
from q2_metric.evaluation.statistics import Interval, best_threshold
from q2_metric.metrics.calibration import Calibration
from q2_metric.rows.columns import Columns

pytestmark = agreement()

# In falling order: 0.8 (consistent), 0.4 (not), 0.35 (consistent), 0.1 (not).
TRUTH, SCORES = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]


@pytest.mark.parametrize(
    ("keywords", "wanted"),
    [
        # Above 0.6 and above 0.225 the balanced accuracy is 3/4; the lower one is taken.
        ({}, 0.225),
        ({"precision": 1.0}, 0.6),
        ({"precision": 0.9}, 0.6),
        ({"precision": 0.6}, 0.225),  # two of three
        ({"precision": 0.5}, 0.1 - 1e-6),  # all four
    ],
)
def test_best_threshold(keywords: dict[str, Any], wanted: float) -> None:
    assert best_threshold(TRUTH, SCORES, **keywords) == pytest.approx(wanted)


def test_best_threshold_leaves_equal_scores_together() -> None:
    # The two at 0.5 cannot be told apart; above 0.25 recall is 1 and specificity 1/2.
    assert best_threshold([1, 1, 0, 0], [0.9, 0.5, 0.5, 0.0]) == pytest.approx(0.25)


def test_the_threshold_of_the_best_macro_f1() -> None:
    # Above 0.3: 16/17 and 2/3, better than all (18/19 and 0) or above 0.7 (8/13 and 2/7).
    truth, scores = [1] * 9 + [0], [*[0.9] * 4, *[0.5] * 4, 0.1, 0.1]
    assert best_threshold(truth, scores, rule="macro_f1") == pytest.approx(0.3)
    truth, scores = [1, 1, 1, 0], [0.9, 0.8, 0.1, 0.2]
    # All: 6/7 and 0. Above 0.15: 2/3 and 0. Above 0.5: 4/5 and 2/3. Above 0.85: 1/2 and 1/2.
    assert best_threshold(truth, scores, rule="macro_f1") == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("truth", "keywords", "message"),
    [
        ([0, 1], {"precision": 0.9}, "the highest is 0.500"),
        ([1, 1], {}, "all the same"),
    ],
)
def test_no_threshold(truth: list[int], keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        best_threshold(truth, [0.9, 0.5], **keywords)


def fitted(truth: list[int], scores: list[float], **keywords: Any) -> Calibration:
    return fitting.fit(
        truth, scores, name="c", metric="q2", signature="q2|version:test", **keywords
    )


def test_isotonic_pools_what_is_out_of_order() -> None:
    found = fitted([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    assert found.x == (0.1, 0.2, 0.3, 0.4)
    assert found.y == (0.0, 0.5, 0.5, 1.0)
    applied = [found.apply(value) for value in (0.0, 0.15, 0.25, 9.0)]
    assert applied == pytest.approx([0.0, 0.25, 0.5, 1.0])
    assert (found.n, found.rule, found.kind) == (4, "balanced accuracy", "isotonic")


def test_platt_on_two_points() -> None:
    # Targets are smoothed to 3/4 and 1/4, which the curve can reach: log(3) at 1, 0 between.
    found = fitted([1, 1, 0, 0], [1.0, 1.0, -1.0, -1.0], kind="platt")
    assert found.slope == pytest.approx(math.log(3), abs=1e-3)
    assert found.intercept == pytest.approx(0.0, abs=1e-3)
    assert found.apply(1.0) == pytest.approx(0.75, abs=1e-3)


@pytest.mark.parametrize("kind", ["platt", "isotonic"])
def test_scores_that_fall_are_refused(kind: Any) -> None:
    with pytest.raises(InputError, match="higher scores go with inconsistent labels"):
        fitted([0, 0, 1, 1], [4.0, 3.0, 2.0, 1.0], kind=kind)


def test_a_calibration_helps_on_held_out_responses() -> None:
    # Scores that are right in order and far too low: P(consistent) is their square root.
    rng = np.random.default_rng(0)
    chances = rng.random(2000)
    truth, scores = (rng.random(2000) < chances).tolist(), (chances**2).tolist()
    for kind in ("isotonic", "platt"):
        report = fitting.experiment(truth, scores, fitted(truth, scores, kind=kind))
        raw, same, held_out = report.tables[0].rows
        assert 0.1 < raw[1] < 0.2
        assert held_out[1] < raw[1] / 2
        assert same[1] <= held_out[1] + 0.02
        assert held_out[2] < raw[2], "Brier score"
        # The best threshold for chances is 0.5, which is 0.25 here.
        assert held_out[4] > raw[4], "balanced accuracy"
        assert fitted(truth, scores, kind=kind).threshold == pytest.approx(0.25, abs=0.1)
        assert not any(isinstance(cell, Interval) for cell in raw)


def test_too_few_of_a_class() -> None:
    with pytest.raises(InputError, match="only 4 responses have one of the labels"):
        fitting.experiment(
            [True] * 4 + [False] * 9, list(range(13)), fitted([0, 1], [0.0, 1.0])
        )


# --- reading --------------------------------------------------------------------------------


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(1, True), (0, False), (True, True), ("0", False), (" Consistent ", True), ("no", False)],
)
def test_labels(value: object, wanted: bool, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"Label": value, "response": "a", "knowledge": "k"})
    assert [row.consistent for row in fitting.read_labelled(path, Columns())] == [wanted]


@pytest.mark.parametrize(
    ("row", "label", "message"),
    [
        ({"label": 2}, None, r"a\.jsonl, row 1: has no human label .*name the column"),
        ({"label": 2}, "label", "the column 'label' has no human labels: it contains '2'"),
        ({"label": None}, None, "has no human label"),
        ({"label": None}, "label", "has no human label"),
        ({"x": 1}, None, "has no human label .*--label"),
        ({"label": 1}, "mine", "no column 'mine' for the label; the columns are 'response'"),
    ],
)
def test_no_labels(row: dict[str, Any], label: str | None, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"response": "a", "knowledge": "k", **row})
    with pytest.raises(InputError, match=message):
        fitting.read_labelled(path, Columns(label=label))


def test_a_value_that_is_no_label_is_named(tmp_path: Path) -> None:
    """Not the first row, whose label is 0."""
    path = write(tmp_path / "a.jsonl", *(
        {"response": "a", "knowledge": "k", "label": label} for label in (0, 1, 1, 0.7)))
    with pytest.raises(InputError, match=r"'label' is not read as the human label: .* '0\.7'"):
        fitting.read_labelled(path, Columns())


def test_a_labelled_file_must_be_whole(tmp_path: Path) -> None:
    blank = {"response": "", "knowledge": "k", "label": 1}
    path = write(tmp_path / "a.jsonl", blank)
    assert len(fitting.read_labelled(path, Columns())) == 1, "it has no score and is left out"
    path = write(tmp_path / "a.jsonl", blank, {**blank, "response": 3})
    with pytest.raises(InputError, match=r"line 2: the response .* is a number, not a string; "
                                          "every row of a labelled file"):
        fitting.read_labelled(path, Columns())


# --- the commands ---------------------------------------------------------------------------

TABLE = {f"good {i}": 0.3 + i / 100 for i in range(10)} | {f"bad {i}": i / 50 for i in range(10)}
"""Consistent responses score 0.3 to 0.39, the others 0 to 0.18."""


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> FakeMetric:
    fake = FakeMetric("scale", TABLE)
    monkeypatch.setattr(metrics, "load_metrics", lambda *_names, **_options: [fake])
    return fake


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return write(
        tmp_path / "labelled.jsonl",
        *({"response": text, "knowledge": "k", "label": int(text[0] == "g")} for text in TABLE),
    )


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="q2")


def test_fit_then_score(scale: FakeMetric, labelled: Path, tmp_path: Path) -> None:
    cache, saved = tmp_path / "cache.sqlite", tmp_path / "mine.json"
    found = run("calibrate", labelled, "--metric", "scale", "--out", saved, "--cache", cache)
    assert found.exit_code == 0, found.output
    assert "held out" in found.stdout
    assert "scale|calibration:mine|version:test" in found.stdout
    calibration = Calibration.load(saved)
    assert calibration.threshold == pytest.approx((0.18 + 0.3) / 2)
    assert calibration.signature == scale.signature

    out = tmp_path / "scores.jsonl"
    done = run("score", labelled, "--metrics", "scale", "--calibration", saved, "--out", out,
               "--signature")
    assert done.exit_code == 0, done.output
    assert "scale|calibration:mine|version:test" in done.stdout
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["scale"] for row in rows] == [1.0] * 10 + [0.0] * 10
    assert [row["scale_consistent"] for row in rows] == [True] * 10 + [False] * 10
    assert list(rows[0])[:4] == ["id", "scale", "scale_consistent", "reason"]


def test_responses_without_score_are_left_out(
    scale: FakeMetric, labelled: Path, tmp_path: Path
) -> None:
    scale.table = {**TABLE, "good 0": None, "bad 9": None}
    saved = tmp_path / "c.json"
    run("calibrate", labelled, "--metric", "scale", "--out", saved, "--no-cache")
    calibration = Calibration.load(saved)
    assert calibration.n == 18
    assert calibration.threshold == pytest.approx((0.16 + 0.31) / 2)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_decisions_in_other_formats(
    suffix: str, scale: FakeMetric, labelled: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "mine.json"
    run("calibrate", labelled, "--metric", "scale", "--out", saved, "--no-cache")
    out = tmp_path / f"scores.{suffix}"
    assert run("score", labelled, "--metrics", "scale", "--calibration", saved,
               "--out", out).exit_code == 0
    if suffix == "csv":
        assert out.read_text().splitlines()[1].startswith("1,1.0,true,")
    else:
        import pyarrow.parquet as parquet

        assert parquet.read_table(out)["scale_consistent"].to_pylist()[0] is True


def test_a_calibration_of_another_metric(
    scale: FakeMetric, labelled: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "mine.json"
    Calibration("mine", "knowledge_f1", "platt", 0.5, "knowledge_f1|version:1",
                slope=1.0, intercept=0.0).save(saved)
    found = run("score", labelled, "--metrics", "scale", "--calibration", saved)
    assert found.exit_code == 2
    assert found.stderr == (
        "q2: error: calibration 'mine' was fitted on knowledge_f1, which is not scored "
        "here (only scale)\n"
    )


def test_the_reliability_is_drawn(scale: FakeMetric, labelled: Path, tmp_path: Path) -> None:
    saved = tmp_path / "c.json"
    found = run("calibrate", labelled, "--metric", "scale", "--kind", "platt", "--out", saved,
                "--figures", tmp_path / "figures", "--no-cache")
    assert found.exit_code == 0, found.output
    calibration = Calibration.load(saved)
    assert (calibration.metric, calibration.kind) == ("scale", "platt")
    drawn = sorted(file.name for file in (tmp_path / "figures").iterdir())
    assert drawn == ["calibration_c_reliability.png", "calibration_c_reliability.svg"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--metric", "q2,scale"), "--metric takes one metric"),
        (("--out", "nowhere/c.json"), "there is no folder 'nowhere'"),
        (("--label", "nothing"), "no column 'nothing'"),
    ],
)
def test_what_cannot_be_fitted(
    arguments: tuple[str, ...], message: str, labelled: Path, tmp_path: Path
) -> None:
    given = ["calibrate", labelled, "--out", tmp_path / "c.json", "--no-cache", *arguments]
    found = run(*given)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1
    assert not (tmp_path / "c.json").exists()
