"""An output row counted in a system's score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from q2_metric.metrics.registry import of_column
from q2_metric.metrics.system import Tally
from q2_metric.rows.fields import ERROR, FALLBACK, QUESTIONS, REASON


def tally_row(tally: Tally, row: Mapping[str, Any]) -> None:
    """Counts a row in the score of a column, unless the column's metric failed on it."""
    value = row.get(tally.name)
    if value is None and row.get(ERROR.name) is not None:
        return
    metric, _ = of_column(tally.name)
    asks = metric.details == "questions"
    questions = (row.get(QUESTIONS.name) or ()) if asks else ()
    tally.count(
        value,
        fallback=asks and bool(row.get(FALLBACK.name)),
        how=[one["how"] for one in questions],
        reason=row.get(REASON.name) if value is None else None,
    )
