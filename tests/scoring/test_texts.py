"""A missing text is a blank text, whatever it is written as; anything else is an error."""

from __future__ import annotations

from typing import Any

import pytest

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.types import Example


def missing() -> list[Any]:
    pandas = pytest.importorskip("pandas")
    return [None, float("nan"), pandas.NA]


def test_what_is_missing_is_blank() -> None:
    for value in missing():
        assert scoring.given(value, "k", None, "row 1") == Example("", "k")
        assert scoring.given("r", value, value, "row 1") == Example("r", "")
        assert scoring.given("r", [value, "a", value, "b"], ["hi", value], "row 1") == Example(
            "r", "a\nb", ("hi",))
        assert scoring.given("r", [value], [value], "row 1") == Example("r", "")
    assert scoring.given("r", [], [], "row 1") == Example("r", "")


@pytest.mark.parametrize("value", [0, 1.5, True, {"a": "b"}])
def test_what_is_no_text_is_an_error(value: Any) -> None:
    for row in ((value, "k", None), ("r", value, None), ("r", [value], None), ("r", "k", [value])):
        with pytest.raises(InputError, match="row 1"):
            scoring.given(*row, "row 1")
