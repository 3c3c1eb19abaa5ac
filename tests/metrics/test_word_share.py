from __future__ import annotations

import pytest

from q2_metric.metrics import load_metrics
from q2_metric.types import Example

KNOWLEDGE = "Bob Ross painted a river in 1994."


@pytest.mark.parametrize(
    ("response", "wanted"),
    [
        ("Ross painted a river.", 1.0),
        ("The river was painted by him.", 1.0),  # function words do not count
        ("Ross paints rivers.", 1.0),  # by their stems
        ("Ross painted in 1991.", 2 / 3),
        ("A cat sleeps.", 0.0),
        ("Ox x 7, Bob 1994.", 1 / 2),  # of two letters and all digits, and no single letter
        ("It is not so, you know.", 0.0),
        ("He was in it.", None),
        (":::", None),
    ],
)
def test_share_of_content_words(response: str, wanted: float | None) -> None:
    (metric,) = load_metrics(["word_share"])
    (score,) = metric.score([Example(response, KNOWLEDGE)])
    assert score.value == (wanted if wanted is None else pytest.approx(wanted))
    assert metric.signature.startswith("word_share|version:")
