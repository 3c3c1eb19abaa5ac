"""Calibrations: applied, saved, named in signatures, refused where they do not belong."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeMetric

from q2_metric.errors import InputError
from q2_metric.metrics import score_with
from q2_metric.metrics.calibration import Calibrated, Calibration, calibrate
from q2_metric.types import Example

SIGNATURE = "q2|preset:bundled|reader:a|version:0.1.0"
ISOTONIC = Calibration(
    "wow", "q2", "isotonic", 0.3, SIGNATURE, x=(0.0, 0.5, 1.0), y=(0.1, 0.3, 0.9), rule="by hand"
)
PLATT = Calibration("wow", "q2", "platt", 0.3, SIGNATURE, slope=2.0, intercept=-1.0, n=7)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(-1.0, 0.1), (0.0, 0.1), (0.25, 0.2), (0.5, 0.3), (0.75, 0.6), (1.0, 0.9), (3.0, 0.9)],
)
def test_isotonic_is_linear_between_knots_and_level_beyond(value: float, wanted: float) -> None:
    assert ISOTONIC.apply(value) == pytest.approx(wanted)


def test_one_knot_is_a_constant() -> None:
    level = Calibration("c", "q2", "isotonic", 0.5, SIGNATURE, x=(0.2,), y=(0.7,))
    assert [level.apply(v) for v in (0.0, 0.2, 0.9)] == [0.7, 0.7, 0.7]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(0.5, 0.5), (1.0, 1 / (1 + math.exp(-1))), (0.0, 1 / (1 + math.e)), (1e6, 1.0), (-1e6, 0.0)],
)
def test_platt(value: float, wanted: float) -> None:
    assert PLATT.apply(value) == pytest.approx(wanted)


def test_the_threshold_itself_is_inconsistent() -> None:
    assert [ISOTONIC.consistent(v) for v in (0.29, 0.3, 0.31)] == [False, False, True]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="is not a score"):
        ISOTONIC.apply(value)


@pytest.mark.parametrize("calibration", [ISOTONIC, PLATT], ids=["isotonic", "platt"])
def test_a_saved_one_is_the_same(calibration: Calibration, tmp_path: Path) -> None:
    calibration.save(tmp_path / "c.json")
    assert Calibration.load(tmp_path / "c.json") == calibration


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": [0.0, 0.0, 1.0]}, "x that do not rise"),
        ({"y": [0.1, 0.3, 0.2]}, "falls as the score rises"),
        ({"y": [0.1, 0.3, 1.2]}, "outside"),
        ({"y": [0.1, 0.3]}, "3 and 2"),
        ({"x": [], "y": []}, "at least one"),
        ({"x": [0, "a", 1]}, "'x' is not what it should be"),
        ({"threshold": None}, "'threshold' is not"),
        ({"threshold": True}, "'threshold' is not"),
        ({"kind": "spline"}, "there are isotonic and platt"),
        ({"kind": "platt"}, "slope and intercept"),
        ({"kind": "platt", "x": [], "y": [], "slope": -1.0, "intercept": 0.0}, "falls"),
        ({"slope": 1.0}, "has no slope"),
        ({"name": ""}, "no name"),
        ({"format": "q2-calibration-9"}, "is not a calibration"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
)
def test_a_spoilt_file_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    ISOTONIC.save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(InputError, match=message) as caught:
        Calibration.load(path)
    assert "\n" not in str(caught.value)


def test_a_file_without_a_field(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    ISOTONIC.save(path)
    fields = json.loads(path.read_text())
    del fields["threshold"]
    path.write_text(json.dumps(fields))
    with pytest.raises(InputError, match="no field 'threshold'"):
        Calibration.load(path)


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"a": NaN}'])
def test_what_is_no_calibration(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError, match="is not"):
        Calibration.load(tmp_path / "c.json")
    with pytest.raises(InputError, match="there is no such file"):
        Calibration.load(tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("scale|preset:bundled|reader:a|version:0.1.0", "on q2, not on scale"),
        ("q2|preset:bundled|reader:b|version:0.1.0", "reader:a, these scores have reader:b"),
        ("q2|preset:bundled|version:0.1.0", "have reader:None"),
        ("q2|preset:bundled|reader:a|calibration:wow|version:0.1.0", "calibrated already"),
    ],
)
def test_scores_that_it_was_not_fitted_on(scores: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ISOTONIC.check(scores)


def test_another_version_of_the_package_is_accepted() -> None:
    ISOTONIC.check(SIGNATURE.replace("0.1.0", "0.2.0"))


def test_the_signature_names_it() -> None:
    wanted = "q2|preset:bundled|reader:a|calibration:wow|version:0.1.0"
    assert ISOTONIC.sign(SIGNATURE) == wanted


def test_a_calibrated_metric() -> None:
    metric = FakeMetric("scale", {"a": 0.5, "b": 0.2, "c": None})
    fitted = Calibration("c", "scale", "isotonic", 0.4, metric.signature, x=(0, 1), y=(0.2, 0.4))
    calibrated = Calibrated(metric, fitted)
    scores = score_with(calibrated, [Example(text, "k") for text in "abc"], evidence=True)
    assert [s.value for s in scores] == [pytest.approx(0.3), pytest.approx(0.24), None]
    assert [s.consistent for s in scores] == [True, False, None]
    assert calibrated.name == "scale"
    assert calibrated.signature == "scale|calibration:c|version:test"
    assert metric.evidence == [True]
    assert scores[0].because, "what the score rests on is kept"


def test_each_calibration_finds_its_metric() -> None:
    q2, f1 = FakeMetric("q2"), FakeMetric("knowledge_f1")
    fitted = Calibration("c", "q2", "platt", 0.4, q2.signature, slope=1.0, intercept=0.0)
    first, second = calibrate([q2, f1], [fitted])
    assert (first.signature, second) == ("q2|calibration:c|version:test", f1)
    with pytest.raises(InputError, match="two calibrations, 'c' and 'd'"):
        calibrate([q2], [fitted, Calibration("d", "q2", "platt", 0.4, q2.signature,
                                             slope=1.0, intercept=0.0)])
    with pytest.raises(InputError, match="not scored here"):
        calibrate([f1], [fitted])


def test_applying_needs_neither_scipy_nor_scikit_learn() -> None:
    code = (
        "import sys; from q2_metric.metrics.calibration import Calibration as C;"
        "C('c','q2','isotonic',0.5,'q2|version:1',x=(0,1),y=(0,1)).apply(0.3);"
        "sys.exit(bool({'scipy','sklearn','numpy','torch'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
