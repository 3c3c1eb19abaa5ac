"""The command ``q2``, which contains all other commands.

To keep ``q2 --help`` fast, a command's file is imported only when the command runs or is listed,
and heavy libraries only when it runs.
"""

from __future__ import annotations

import click

from q2_metric._version import __version__
from q2_metric.cli.commands import Group
from q2_metric.metrics.entry import named

COMMANDS = {
    "score": "q2_metric.cli.score:score",
    "compare": "q2_metric.cli.compare:compare",
    "gate": "q2_metric.cli.gate:gate",
    "explain": "q2_metric.cli.explain:explain",
    "serve": "q2_metric.cli.serve:serve",
    "register": "q2_metric.cli.register:register",
    "presets": "q2_metric.cli.presets:presets",
    "data": "q2_metric.cli.data:data",
    "lm-eval-path": "q2_metric.integrations.lm_eval:lm_eval_path",
    "meta-eval": "q2_metric.cli.evaluation:meta_eval",
    "reproduce": "q2_metric.cli.reproduce:reproduce",
    "calibrate": "q2_metric.cli.calibrate:calibrate",
    "report": "q2_metric.cli.report:report",
    "select": "q2_metric.cli.select:select",
    "respond": "q2_metric.cli.respond:respond",
    "doctor": "q2_metric.cli.doctor:doctor",
}


class Commands(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        where = COMMANDS.get(cmd_name)
        command: click.Command | None = named(where) if where else None
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"],
                                             "show_default": True})
@click.version_option(__version__, "-V", "--version", message="q2 %(version)s")
def main() -> None:
    """Measure whether responses are supported by the texts that they should be based on."""
