"""The command ``q2``, which contains all other commands.

To keep ``q2`` fast, a command's file is imported only when the command is used or listed, and heavy
libraries only when it runs.
"""

from __future__ import annotations

from pkgutil import resolve_name

import click

from q2_metric._version import __version__
from q2_metric.cli.commands import Group

COMMANDS = (
    "score", "compare", "gate", "explain", "serve", "register", "presets", "data", "lm-eval-path",
    "meta-eval", "reproduce", "calibrate", "report", "select", "respond", "doctor",
)

_ELSEWHERE = {
    "lm-eval-path": "q2_metric.integrations.lm_eval:lm_eval_path",
    "meta-eval": "q2_metric.cli.evaluation:meta_eval",
}
"""Commands that are not in the file with their name."""


class Commands(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = resolve_name(
            _ELSEWHERE.get(cmd_name, f"q2_metric.cli.{cmd_name}:{cmd_name}"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Does not cut what a command does, as click would."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, str(one.help).partition("\n")[0])
                                for name in COMMANDS if (one := self.get_command(ctx, name))])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"],
                                             "show_default": True})
@click.version_option(__version__, "-V", "--version", message="q2 %(version)s")
def main() -> None:
    """Measure whether responses are supported by the texts that they should be based on."""
