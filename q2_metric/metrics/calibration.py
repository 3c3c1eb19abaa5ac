"""A calibration turns a metric's score into a probability and a decision. ``q2 calibrate``
(:mod:`q2_metric.evaluation.calibrate`) fits it; this module applies it without scipy or
scikit-learn."""

from __future__ import annotations

import dataclasses
import json
import math
import reprlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.files import read_json, write_text
from q2_metric.metrics.signature import of_metric, parse, signature
from q2_metric.text import given
from q2_metric.types import Example, Metric, Score

FORMAT = "q2-calibration-1"
"""Files with another ``format`` are refused."""
SETTING = "calibration"
"""The key of the calibration's name in the signature of calibrated scores."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A monotone map from scores to P(consistent), and a threshold on the scores.

    Attributes:
        kind: "isotonic" interpolates between the points ``x``, ``y`` (Zadrozny and Elkan, KDD
            2002); "platt" is a logistic curve (Platt, 1999).
        threshold: on the score itself, not on the probability. A response is consistent if its
            score is above the threshold (Q², section 4.2).
        signature: signature of the scores that the calibration was fitted on.
        x: scores, strictly rising. The map is linear between them and constant beyond them.
        y: the probability in [0, 1] at each score in ``x``, never falling.
        slope, intercept: P = 1 / (1 + exp(-(slope * score + intercept))), slope >= 0.
        rule: how the threshold was chosen, such as "balanced accuracy".
        n: number of labelled responses that the calibration was fitted on.

    Raises:
        InputError: a field is wrong, or the map is not monotone.
    """

    name: str
    metric: str
    kind: Literal["isotonic", "platt"]
    threshold: float
    signature: str
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    slope: float | None = None
    intercept: float | None = None
    rule: str = ""
    n: int = 0

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem:
            raise InputError(f"calibration {self.name!r}: {problem}")

    def apply(self, value: float) -> float:
        """P(consistent) of an uncalibrated score; ``InputError`` if the score is not finite."""
        if not math.isfinite(value):
            raise InputError(f"calibration {self.name!r}: the score {value} is not a finite number")
        if self.slope is not None and self.intercept is not None:
            return logistic(self.slope * value + self.intercept)
        import numpy as np

        return float(np.interp(value, self.x, self.y))

    def consistent(self, value: float) -> bool:
        return value > self.threshold

    def check(self, scores: str) -> None:
        """Raises ``InputError`` if the calibration must not be applied to scores with this
        signature: they are calibrated already, or differ in more than the package's version."""
        metric, settings = parse(of_metric(scores))
        _, fitted = parse(of_metric(self.signature))
        if metric != self.metric:
            raise InputError(
                f"calibration {self.name!r} was fitted on {self.metric}, not on {metric}")
        if SETTING in settings:
            raise InputError(
                f"the scores of {metric} are calibrated already ({settings[SETTING]!r})")
        for key in dict.fromkeys([*fitted, *settings]):
            if key != "version" and fitted.get(key) != settings.get(key):
                raise InputError(
                    f"calibration {self.name!r} was fitted on {metric} with "
                    f"{key}:{fitted.get(key)}, but these scores have {key}:{settings.get(key)}; "
                    "fit another calibration with q2 calibrate")

    def sign(self, scores: str) -> str:
        """Adds the calibration's name to the signature of uncalibrated scores."""
        name, settings = parse(scores)
        last = {"version": settings.pop("version")} if "version" in settings else {}
        return signature(name, {**settings, SETTING: self.name, **last})

    def save(self, path: str | Path) -> None:
        """Writes the file that :meth:`load` reads; ``InputError`` if that is impossible."""
        fields = {"format": FORMAT, **dataclasses.asdict(self)}
        write_text(path, json.dumps(fields, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Reads a file of :meth:`save`; ``InputError`` if it is missing or no calibration."""
        if not isinstance(path, (str, Path)):
            raise InputError(f"a calibration is a file, not {given.kind(path)}")
        fields = read_json(path)
        if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
            raise InputError(f"{path}: is not a calibration; make one with q2 calibrate")
        return cls(**_typed(fields, str(path)))


class Calibrated:
    """A metric whose values are P(consistent). ``Score.consistent`` says whether the uncalibrated
    score is above the threshold; evidence and ``no_nli`` are unchanged. InputError: the calibration
    was fitted on another metric, model or setting."""

    def __init__(self, metric: Metric, calibration: Calibration) -> None:
        calibration.check(metric.signature)
        self.metric, self.calibration = metric, calibration
        self.name = metric.name
        self.signature = calibration.sign(metric.signature)
        # A calibrated metric scores the same examples as the metric itself.
        self.scores_all = bool(getattr(metric, "scores_all", False))
        self.reads_question = bool(getattr(metric, "reads_question", False))
        self.any_language = bool(getattr(metric, "any_language", False))

    def score(self, examples: Sequence[Example], **keywords: Any) -> list[Score]:
        return [self._calibrated(score) for score in self.metric.score(examples, **keywords)]

    def _calibrated(self, score: Score) -> Score:
        if score.value is None or not math.isfinite(score.value):
            return score
        return replace(score, value=self.calibration.apply(score.value),
                       consistent=self.calibration.consistent(score.value))


def calibrate(metrics: Sequence[Metric], calibrations: Sequence[Calibration]) -> list[Metric]:
    """Applies each calibration to its metric; other metrics are unchanged. InputError: a
    calibration's metric is missing or has two calibrations, or a calibration was fitted on other
    models or settings."""
    by_metric: dict[str, Calibration] = {}
    for calibration in calibrations:
        other = by_metric.setdefault(calibration.metric, calibration)
        if other is not calibration:
            raise InputError(f"{calibration.metric} has two calibrations, {other.name!r} and "
                             f"{calibration.name!r}; give only one")
    names = [metric.name for metric in metrics]
    for name, calibration in by_metric.items():
        if name not in names:
            raise InputError(f"calibration {calibration.name!r} was fitted on {name}, "
                             f"which is not scored here (only {', '.join(names)})")
    return [Calibrated(metric, by_metric[metric.name]) if metric.name in by_metric else metric
            for metric in metrics]


def logistic(value: float) -> float:
    # Of the two equal formulas, this one has an exponential that cannot overflow.
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    grown = math.exp(value)
    return grown / (1 + grown)


_FALLS = "its probability falls as the score rises"


def _problem(fitted: Calibration) -> str | None:
    if not fitted.name or not fitted.metric:
        return "has no name or no metric"
    if fitted.kind not in ("isotonic", "platt"):
        return f"its kind is {fitted.kind!r}, not isotonic or platt"
    line = [number for number in (fitted.slope, fitted.intercept) if number is not None]
    numbers = [fitted.threshold, *fitted.x, *fitted.y, *line]
    if not all(abs(number) <= sys.float_info.max for number in numbers):  # refuses infinity and NaN
        return "has a number that is not finite"
    if fitted.kind == "platt":
        if len(line) < 2 or fitted.x or fitted.y:
            return "the kind platt needs slope and intercept, and neither x nor y"
        return _FALLS if line[0] < 0 else None
    if line:
        return "the kind isotonic needs neither slope nor intercept"
    if not fitted.x or len(fitted.x) != len(fitted.y):
        return (f"x and y must have the same length, at least 1, not {len(fitted.x)} and "
                f"{len(fitted.y)}")
    if any(b <= a for a, b in zip(fitted.x, fitted.x[1:], strict=False)):
        return "the scores in x do not rise"
    if any(b < a for a, b in zip(fitted.y, fitted.y[1:], strict=False)):
        return _FALLS
    return None if fitted.y[0] >= 0 and fitted.y[-1] <= 1 else "has a probability outside [0, 1]"


def _typed(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of the JSON file ``where``, checked and with the types of :class:`Calibration`."""
    known = {field.name: field.default for field in dataclasses.fields(Calibration)}
    for name, default in known.items():
        if name not in fields and default is dataclasses.MISSING:
            raise InputError(f"{where}: has no field {name!r}; make it again with q2 calibrate")
    for name, value in fields.items():
        if name not in known:
            raise InputError(f"{where}: has an unknown field {name!r}")
        if not _fits(name, value):
            raise InputError(f"{where}: the field {name!r} has a wrong value: "
                             f"{reprlib.repr(value)}")
    return {name: tuple(value) if name in ("x", "y") else value for name, value in fields.items()}


def _fits(name: str, value: object) -> bool:
    if name in ("name", "metric", "kind", "signature", "rule"):
        return isinstance(value, str) and value.isprintable()
    if name in ("x", "y"):
        return isinstance(value, list) and all(map(_is_number, value))
    return _is_number(value) or (value is None and name in ("slope", "intercept"))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
