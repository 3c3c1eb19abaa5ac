"""For commands with many options: ``--help`` shows the options in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from q2_metric.cli.commands import Command


class Grouped(Command):
    """``groups`` has, by title, names of parameters. Other options follow in a last group."""

    def __init__(
        self, *arguments: Any, groups: Mapping[str, Sequence[str]], **keywords: Any
    ) -> None:
        super().__init__(*arguments, **keywords)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = {param.name: param for param in self.get_params(ctx)
                  if isinstance(param, click.Option)}
        listed = {name for names in self.groups.values() for name in names}
        rest = [name for name in params if name not in listed]
        for title, names in {**self.groups, "Other": rest}.items():
            rows = [params[name].get_help_record(ctx) for name in names]
            with formatter.section(title):
                formatter.write_dl([row for row in rows if row is not None])
