"""What a metric says when it is made of the wrong things."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from q2_metric.errors import InputError
from q2_metric.metrics import load_metrics
from q2_metric.metrics.calibration import Calibration
from q2_metric.metrics.claims import check_examples
from q2_metric.metrics.groundedness import Groundedness
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.scoring import load
from q2_metric.types import Example

STRANGE: list[Any] = [3, [], ["q2"], {"a": 1}, b"bundled"]
KINDS: list[Any] = [Q2, Scale, Groundedness, EndToEndNli]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("preset", [None, *STRANGE])
def test_a_preset_that_is_no_name(kind: Any, preset: Any) -> None:
    with pytest.raises(InputError, match=r"the name of a preset must be a string, not "
                                          ".*bundled-small"):
        kind.from_preset(preset)


@pytest.mark.parametrize(("kind", "keyword"), [
    (Q2, "question_model"), (Q2, "reader_model"), (Q2, "nli_model"), (Scale, "scale_model"),
    (EndToEndNli, "nli_model"),
])
@pytest.mark.parametrize("model", STRANGE)
def test_a_model_that_is_no_name(kind: Any, keyword: str, model: Any) -> None:
    with pytest.raises(InputError, match="a model is a Hub name or a local folder, not "):
        kind.from_preset("bundled", **{keyword: model})


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Q2(*[None] * 5), "spans is null, which has no method 'find'"),
    (lambda: Scale(None), "backbone is null"),
    (lambda: EndToEndNli("a/b"), "entailment is a string"),
    (lambda: Groundedness(None, None), "scale is null"),
    (lambda: load_metrics(None), "metrics are null, not a list of names"),
    (lambda: load_metrics([None]), "metrics are a list with null in it"),
    (lambda: load(3, {}), "metrics are a number"),
    (lambda: Calibration.load(None), "a calibration is a file, not null"),
    (lambda: load("scale", {}, {"a": 1}), "a calibration is a file, not an object"),
    (lambda: check_examples([Example("a", "b", question=5)]),  # type: ignore[arg-type]
     "the question of examples[0] is a number, not a string"),
    (lambda: check_examples([Example("a", ["b"])]),  # type: ignore[arg-type]
     "the knowledge of examples[0] is a list of strings, not a string; join passages"),
])
def test_a_part_of_another_type(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_path_is_a_model(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=str(tmp_path)):
        EndToEndNli.from_preset(nli_model=tmp_path / "missing")
