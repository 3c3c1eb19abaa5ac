"""For commands with many options: ``--help`` shows the common options in groups, and
``--help-all`` shows all options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from q2_metric.cli.commands import Command


class Grouped(Command):
    """A command whose ``--help`` shows only some options, in groups with titles.

    Args:
        groups: by title of the group, the names of the parameters that ``--help`` shows.
        arguments: positional arguments of :class:`~q2_metric.cli.commands.Command`.
        keywords: keyword arguments of the same class.
    """

    def __init__(
        self, *arguments: Any, groups: Mapping[str, Sequence[str]], **keywords: Any
    ) -> None:
        super().__init__(*arguments, **keywords)
        self.groups = groups
        self.params.append(click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_print_all,
            help="Show all options and exit."))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = {title: [self._row(ctx, name) for name in names]
                 for title, names in self.groups.items()}
        if ctx.meta.get(_ALL):
            there = {name for names in self.groups.values() for name in names}
            shown["More options"] = [
                self._row(ctx, param.name) for param in self.get_params(ctx)
                if isinstance(param, click.Option) and param.name not in there
                and "--help" not in param.opts]
        for title, rows in shown.items():
            with formatter.section(title):
                formatter.write_dl([row for row in rows if row is not None])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if not ctx.meta.get(_ALL):
            options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
            more = len(options) - sum(map(len, self.groups.values()))
            formatter.write_paragraph()
            formatter.write_text(f"{ctx.command_path} --help-all shows {more} more options: files, "
                                 "models, settings of the metrics, the cache, Ray.")

    def _row(self, ctx: click.Context, name: str | None) -> tuple[str, str] | None:
        """(flags, description) of the option with this parameter name; ``None`` if there is none.

        The name "help" stands for ``--help``.
        """
        return next((param.get_help_record(ctx) for param in self.get_params(ctx)
                     if param.name == name or (name == "help" and "--help" in param.opts)), None)


_ALL = "q2_metric.help_all"


def _print_all(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
