"""What metrics are called for people."""

from __future__ import annotations

from q2_metric.cli.render import TITLES


def title(metric: str) -> str:
    """A column's name for people; that of a metric of others is its own."""
    return TITLES.get(metric, metric)
