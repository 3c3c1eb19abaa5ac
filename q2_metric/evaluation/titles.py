"""What metrics are called for people."""

from __future__ import annotations

from q2_metric.metrics.registry import columns


def title(column: str) -> str:
    """A column's name for people; that of a metric of others is its own."""
    known = columns()
    return known[column].title if column in known else column
