"""Prints the results of an experiment (:mod:`q2_metric.evaluation`) as tables on the terminal."""

from __future__ import annotations

import textwrap
from typing import Literal

from rich.text import Text

from q2_metric.cli.render import bare_table, console, plain, print_whole
from q2_metric.evaluation.tables import Report, Table


def print_report(report: Report) -> None:
    screen = console()
    for table in report.tables:
        shown = bare_table()
        widths = _widths(table)
        for column, width in zip(table.columns, widths, strict=True):
            side: Literal["left", "right"] = "left" if column.kind == "text" else "right"
            lines = textwrap.wrap(plain(column.title), width)
            shown.add_column(Text("\n".join(lines)), justify=side, width=width, no_wrap=True)
        for row in table.shown():
            shown.add_row(*(Text(plain(cell)) for cell in row))
        screen.print(Text(plain(table.title), style="bold"), soft_wrap=True)
        print_whole(screen, shown)
        if table.note:
            screen.print(Text(plain(table.note), style="dim"), soft_wrap=True)
        screen.print()
    for line in dict.fromkeys(report.signatures.values()):
        screen.print(Text(plain(line), style="dim"), soft_wrap=True)


def _widths(table: Table) -> list[int]:
    """In characters: the longest cell, or the longest word of the title."""
    shown = table.shown()
    return [
        max(len(text) for text in [*column.title.split(), *(row[i] for row in shown)])
        for i, column in enumerate(table.columns)
    ]
