"""Calibrations: applied, saved, named in signatures, refused where they do not belong."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeMetric

from q2_metric._version import __version__
from q2_metric.errors import InputError
from q2_metric.metrics.calibration import Calibrated, Calibration, calibrate
from q2_metric.scoring.scores import score, score_with
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
    with pytest.raises(InputError) as caught:
        ISOTONIC.apply(value)
    assert str(caught.value) == f"calibration 'wow': the score {value} is not a finite number"


@pytest.mark.parametrize("calibration", [ISOTONIC, PLATT], ids=["isotonic", "platt"])
def test_a_saved_one_is_the_same(calibration: Calibration, tmp_path: Path) -> None:
    calibration.save(tmp_path / "c.json")
    assert Calibration.load(tmp_path / "c.json") == calibration


OF_KIND = "x and y must have the same length, at least 1, not "


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": [0.0, 0.0, 1.0]}, "the scores in x do not rise"),
        ({"x": [0.0, 2.0, 1.0]}, "the scores in x do not rise"),
        ({"x": [2.0, 3.0, 1.0]}, "the scores in x do not rise"),
        ({"y": [0.1, 0.3, 0.2]}, "its probability falls as the score rises"),
        ({"y": [0.4, 0.3, 0.5]}, "its probability falls as the score rises"),
        ({"y": [0.1, 0.3, 1.01]}, "has a probability outside [0, 1]"),
        ({"y": [-0.01, 0.3, 0.9]}, "has a probability outside [0, 1]"),
        ({"y": [0.1, 0.3]}, f"{OF_KIND}3 and 2"),
        ({"x": [], "y": []}, f"{OF_KIND}0 and 0"),
        ({"x": [0.0, 0.5, 1e999]}, "has a number that is not finite"),
        ({"y": [0.1, 0.3, 1e999]}, "has a number that is not finite"),
        ({"threshold": -1e999}, "has a number that is not finite"),
        ({"kind": "platt", "x": [], "y": [], "slope": 1e999, "intercept": 0.0},
         "has a number that is not finite"),
        ({"kind": "platt", "x": [], "y": [], "slope": 1.0, "intercept": 1e999},
         "has a number that is not finite"),
        ({"kind": "spline"}, "its kind is 'spline', not isotonic or platt"),
        *(({"kind": "platt", "x": [], "y": [], "slope": 1.0, "intercept": 0.0, **changes},
           "the kind platt needs slope and intercept, and neither x nor y")
          for changes in ({"slope": None}, {"intercept": None}, {"x": [1.0]}, {"y": [1.0]})),
        ({"kind": "platt", "x": [], "y": [], "slope": -1.0, "intercept": 0.0},
         "its probability falls as the score rises"),
        ({"slope": 1.0}, "the kind isotonic needs neither slope nor intercept"),
        ({"intercept": 0.0}, "the kind isotonic needs neither slope nor intercept"),
        ({"name": ""}, "has no name or no metric"),
        ({"metric": ""}, "has no name or no metric"),
    ],
)
def test_what_makes_no_monotone_map_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    ISOTONIC.save(path)
    fields = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps(fields))
    with pytest.raises(InputError) as caught:
        Calibration.load(path)
    assert str(caught.value) == f"calibration {fields['name']!r}: {message}"


@pytest.mark.parametrize("fields", [
    {"x": (0.0,), "y": (0.0,)}, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, {"x": (0.0, 1.0), "y": (1, 1)},
    {"x": (-2.0, 0.0, 0.5), "y": (0.25, 0.25, 0.5)},
    {"kind": "platt", "slope": 0.0, "intercept": -3.0},
    {"kind": "platt", "slope": 1.7e308, "intercept": 0.0},
])
def test_edges_that_are_monotone_maps(fields: dict[str, Any], tmp_path: Path) -> None:
    made = Calibration(**{"name": "c", "metric": "q2", "kind": "isotonic", "threshold": 0.0,
                          "signature": SIGNATURE, **fields})
    made.save(tmp_path / "c.json")
    assert Calibration.load(tmp_path / "c.json") == made


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({name: value}, f"the field {name!r} has a wrong value: {value!r}")
          for name, value in [
              ("x", [0, "a", 1]), ("x", "text"), ("y", 3), ("y", [None]), ("threshold", None),
              ("threshold", True), ("threshold", "1"), ("n", None), ("slope", "1"),
              ("intercept", False), ("name", 3), ("rule", None), ("metric", ["q2"]),
              ("signature", "two\nlines"), ("kind", 1),
          ]),
        ({"colour": "red"}, "has an unknown field 'colour'"),
        ({"format": "q2-calibration-9"}, "is not a calibration; make one with q2 calibrate"),
    ],
)
def test_a_spoilt_file_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    ISOTONIC.save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(InputError) as caught:
        Calibration.load(path)
    assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize("name", ["name", "metric", "kind", "threshold", "signature"])
def test_a_file_without_a_field(name: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    ISOTONIC.save(path)
    fields = json.loads(path.read_text())
    del fields[name]
    path.write_text(json.dumps(fields))
    with pytest.raises(InputError) as caught:
        Calibration.load(path)
    assert str(caught.value) == f"{path}: has no field {name!r}; make it again with q2 calibrate"


def test_a_file_may_leave_out_what_has_a_default(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    ISOTONIC.save(path)
    fields = json.loads(path.read_text())
    for name in ("slope", "intercept", "rule", "n"):
        del fields[name]
    path.write_text(json.dumps(fields))
    assert Calibration.load(path) == replace(ISOTONIC, rule="")


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"a": NaN}'])
def test_what_is_no_calibration(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError, match="is not"):
        Calibration.load(tmp_path / "c.json")
    with pytest.raises(InputError, match="there is no such file"):
        Calibration.load(tmp_path / "missing.json")


FITTED = "calibration 'wow' was fitted on q2"
AGAIN = "; fit another calibration with q2 calibrate"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("scale|preset:bundled|reader:a|version:0.1.0", f"{FITTED}, not on scale"),
        ("q2|preset:bundled|reader:b|version:0.1.0",
         f"{FITTED} with reader:a, but these scores have reader:b{AGAIN}"),
        ("q2|preset:bundled|version:0.1.0",
         f"{FITTED} with reader:a, but these scores have reader:None{AGAIN}"),
        ("q2|preset:bundled|reader:a|nli:m|version:0.1.0",
         f"{FITTED} with nli:None, but these scores have nli:m{AGAIN}"),
        ("q2|preset:bundled|reader:a|calibration:wow|version:0.1.0",
         "the scores of q2 are calibrated already ('wow')"),
    ],
)
def test_scores_that_it_was_not_fitted_on(scores: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        ISOTONIC.check(scores)
    assert str(caught.value) == message


def test_another_version_of_the_package_is_accepted() -> None:
    ISOTONIC.check(SIGNATURE.replace("0.1.0", "0.2.0"))


def test_the_signature_names_it() -> None:
    wanted = "q2|preset:bundled|reader:a|calibration:wow|version:0.1.0"
    assert ISOTONIC.sign(SIGNATURE) == wanted
    assert ISOTONIC.sign("q2|a:1") == f"q2|a:1|calibration:wow|version:{__version__}"


def test_a_calibrated_metric() -> None:
    metric = FakeMetric("scale", {"a": 0.5, "b": 0.2, "c": None, "d": math.inf})
    fitted = Calibration("c", "scale", "isotonic", 0.4, metric.signature, x=(0, 1), y=(0.2, 0.4))
    calibrated = Calibrated(metric, fitted)
    scores = score_with(calibrated, [Example(text, "k") for text in "abcd"], evidence=True)
    assert [s.value for s in scores] == [pytest.approx(0.3), pytest.approx(0.24), None, math.inf]
    assert [s.consistent for s in scores] == [True, False, None, None]
    assert calibrated.name == "scale"
    assert calibrated.signature == "scale|calibration:c|version:test"
    assert metric.evidence == [True]
    assert scores[0].evidence, "what the score rests on is kept"


def test_a_calibrated_metric_is_asked_about_the_same_examples() -> None:
    """A metric that reads questions knows what "Yes." claims."""
    silent, short = Example("hm .", "k"), Example("Yes.", "k", question="Does it sail?")
    values = {"hm .": 0.5, "Yes.": 0.5}
    for attributes, values_of in (
        ({}, [None, None]), ({"reads_question": True}, [None, 0.3]),
        ({"scores_all": True}, [0.3, 0.3]),
    ):
        metric = FakeMetric("scale", values)
        for name, value in attributes.items():
            setattr(metric, name, value)
        fitted = Calibration("c", "scale", "isotonic", 0.4, metric.signature, x=(0, 1),
                             y=(0.2, 0.4))
        calibrated = Calibrated(metric, fitted)
        scored = score([calibrated], [silent, short])
        assert [one["scale"].value for one in scored] == [
            value and pytest.approx(value) for value in values_of], attributes


def test_each_calibration_finds_its_metric() -> None:
    q2, f1 = FakeMetric("q2"), FakeMetric("knowledge_f1")
    fitted = Calibration("c", "q2", "platt", 0.4, q2.signature, slope=1.0, intercept=0.0)
    first, second = calibrate([q2, f1], [fitted])
    assert (first.signature, second) == ("q2|calibration:c|version:test", f1)
    assert calibrate([q2], [fitted, fitted])[0].signature == first.signature
    with pytest.raises(InputError) as caught:
        calibrate([q2], [fitted, Calibration("d", "q2", "platt", 0.4, q2.signature,
                                             slope=1.0, intercept=0.0)])
    assert str(caught.value) == "q2 has two calibrations, 'c' and 'd'; give only one"
    with pytest.raises(InputError) as caught:
        calibrate([f1, FakeMetric("knowledge_bleu")], [fitted])
    assert str(caught.value) == (
        "calibration 'c' was fitted on q2, which is not scored here "
        "(only knowledge_f1, knowledge_bleu)")


def test_applying_needs_neither_scipy_nor_scikit_learn() -> None:
    code = (
        "import sys; from q2_metric.metrics.calibration import Calibration as C;"
        "C('c','q2','isotonic',0.5,'q2|version:1',x=(0,1),y=(0,1)).apply(0.3);"
        "sys.exit(bool({'scipy','sklearn','torch'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
