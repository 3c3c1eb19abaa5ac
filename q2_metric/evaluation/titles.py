"""Titles of metrics that people read in tables and figures."""

from __future__ import annotations

from q2_metric.metrics.registry import columns


def title(column: str) -> str:
    """A column's title for people. A metric from another package keeps its own name."""
    known = columns()
    return known[column].title if column in known else column
