"""``q2 presets`` lists the presets and their models."""

from __future__ import annotations

from q2_metric.cli.commands import command


@command("presets")
def presets() -> None:
    """List the presets and the models behind them."""
    from q2_metric.cli.render import print_presets
    from q2_metric.models.presets import PRESETS

    print_presets(list(PRESETS.values()))
