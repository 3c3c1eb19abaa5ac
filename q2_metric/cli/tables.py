"""Prints a report of :mod:`q2_metric.evaluation` on the terminal."""

from __future__ import annotations

import textwrap
from typing import Literal

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from q2_metric.cli.render import plain
from q2_metric.evaluation.tables import Report, Table


def print_report(report: Report) -> None:
    """Prints the tables and signatures on the terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    screen = console.width
    for table in report.tables:
        shown = RichTable(box=None, header_style="bold", padding=(0, _GAP, 0, 0))
        widths = _widths(table)
        for column, width in zip(table.columns, widths, strict=True):
            side: Literal["left", "right"] = "left" if column.kind == "text" else "right"
            lines = textwrap.wrap(plain(column.title), width)
            shown.add_column(Text("\n".join(lines)), justify=side, width=width, no_wrap=True)
        for row in table.shown():
            shown.add_row(*(Text(plain(cell)) for cell in row))
        console.print(Text(plain(table.title), style="bold"), soft_wrap=True)
        # A table that is wider than the terminal is printed at full width, so no digit is lost.
        console.width = max(screen, sum(width + _GAP for width in widths))
        console.print(shown)
        if table.note:
            console.print(Text(plain(table.note), style="dim"), soft_wrap=True)
        console.print()
    for line in dict.fromkeys(report.signatures.values()):
        console.print(Text(plain(line), style="dim"), soft_wrap=True)


_GAP = 2
"""Blanks between columns on the terminal."""


def _widths(table: Table) -> list[int]:
    """The least width of each column. Titles are wrapped only between words."""
    shown = table.shown()
    return [
        max(len(text) for text in [*column.title.split(), *(row[i] for row in shown)])
        for i, column in enumerate(table.columns)
    ]
