"""Prints the results of an experiment (:mod:`q2_metric.evaluation`) as tables on the terminal."""

from __future__ import annotations

import textwrap
from typing import Literal

from rich.text import Text

from q2_metric.cli.render import bare_table, console, plain, print_whole
from q2_metric.evaluation.tables import Report


def print_report(report: Report) -> None:
    screen = console()
    for table in report.tables:
        shown, rows = bare_table(), table.shown()
        for i, column in enumerate(table.columns):
            # The longest cell, or the longest word of the title.
            width = max(len(text) for text in [*column.title.split(), *(row[i] for row in rows)])
            side: Literal["left", "right"] = "left" if column.kind == "text" else "right"
            lines = textwrap.wrap(plain(column.title), width)
            shown.add_column(Text("\n".join(lines)), justify=side, width=width, no_wrap=True)
        for row in rows:
            shown.add_row(*(Text(plain(cell)) for cell in row))
        screen.print(Text(plain(table.title), style="bold"), soft_wrap=True)
        print_whole(screen, shown)
        if table.note:
            screen.print(Text(plain(table.note), style="dim"), soft_wrap=True)
        screen.print()
    for line in dict.fromkeys(report.signatures.values()):
        screen.print(Text(plain(line), style="dim"), soft_wrap=True)
