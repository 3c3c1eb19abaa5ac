"""The command ``q2``, which contains all other commands.

To keep ``q2`` fast, a command's file is imported only when the command is used, and libraries of
models only when it runs.
"""

from pkgutil import resolve_name

import click

from q2_metric._version import __version__
from q2_metric.cli.commands import Group

COMMANDS = {
    "score": "Score the rows of files.",
    "compare": "Compare systems by their scores of the same rows.",
    "gate": "Fail if responses are unsupported, or worse than before.",
    "explain": "Score one response, and show what the score is computed from.",
    "serve": "Score answers over HTTP: in the browser, or with --api from programs.",
    "register": "Let evaluate.load find the metrics of this package.",
    "presets": "List the presets and the models behind them.",
    "data": "List and download evaluation sets.",
    "lm-eval-path":
        "Print the folder with the tasks for lm-evaluation-harness, for --include_path.",
    "meta-eval": "Measure how well metrics agree with human labels.",
    "reproduce": "Measure tables of the papers on Q², SCALE and knowledge selection again.",
    "calibrate": "Fit a threshold and a calibration to labelled responses.",
    "report": "Make one web page from the scores that q2 score --out wrote.",
    "select": "Choose the snippets of knowledge that the next turn of a dialogue needs.",
    "respond": "Respond to dialogues from the knowledge that was chosen for them.",
    "doctor": "Show versions, models, frameworks and folders, and what is missing.",
}
"""What ``q2 --help`` says of each command: the first line of its own help."""

_FILES = {
    **dict.fromkeys(("meta-eval", "reproduce", "calibrate"), "cli.experiments"),
    **dict.fromkeys(("presets", "data", "register", "doctor"), "cli.installation"),
    **dict.fromkeys(("select", "respond"), "cli.knowledge"),
    **dict.fromkeys(("compare", "gate"), "cli.report"),
    "serve": "cli.explain", "lm-eval-path": "integrations.lm_eval",
}
"""By command, its file. Other commands have a file of their own name."""


class Commands(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        file = _FILES.get(cmd_name, f"cli.{cmd_name}")
        command: click.Command = resolve_name(f"q2_metric.{file}:{cmd_name.replace('-', '_')}")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"],
                                             "show_default": True})
@click.version_option(__version__, "-V", "--version", message="q2 %(version)s")
def main() -> None:
    """Measure whether responses are supported by the texts that they should be based on."""
