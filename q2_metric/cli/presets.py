"""``q2 presets`` lists the presets, their models, and all settings."""

import click

from q2_metric.cli.commands import command


@command("presets")
@click.option("--settings", is_flag=True, help="List what -s NAME=VALUE can set instead.")
def presets(settings: bool) -> None:
    """List the presets and the models behind them."""
    from q2_metric.cli.assign import assignables
    from q2_metric.cli.render import print_presets, print_settings
    from q2_metric.models.presets import PRESETS

    if settings:
        print_settings(assignables().values())
    else:
        print_presets(list(PRESETS.values()))
