"""Prints the tables, signatures and progress bars of the commands.

Users' texts are never read as markup, and :func:`plain` keeps control characters from the terminal.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import wrap

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from q2_metric.cli.commands import plain
from q2_metric.engine.result import SystemRun
from q2_metric.evaluation.tables import Report
from q2_metric.metrics.registry import title
from q2_metric.metrics.signature import shortened
from q2_metric.rows.plain import NONE, number, percent
from q2_metric.scoring.verdict import VerdictCounts
from q2_metric.types import SystemScore

VERDICTS: Mapping[str, tuple[str, str]] = {
    "supported": ("✓", "green"),
    "not found": ("✗", "red"),
    "contradicted": ("≠", "bold magenta"),
    "not checked": ("?", "dim"),
}
"""(Sign, colour) of a claim on the terminal."""


def print_systems(results: Sequence[SystemRun], *, whole: bool) -> None:
    """Prints the results of ``q2 score``; with ``whole``, full signatures instead of hashes."""
    screen = console()
    for result in results:
        if len(results) > 1:
            screen.print(safe_text(result.name, "bold"), soft_wrap=True)
        print_verdict(screen, result.verdict)
        print_whole(screen, systems_table(result))
        scored, speed = result.rows - result.failed, result.rows_per_second
        # If an earlier run scored all rows, there is no speed.
        how_fast = f", {speed:,.1f} rows per second" if speed else ""
        if how_fast and result.looked_up:
            how_fast += f" with {result.looked_up:,} scores from the cache"
        screen.print(f"{scored:,} of {result.rows:,} rows scored{how_fast}")
        if n := result.no_knowledge:
            words = "has no knowledge and does" if n == 1 else "have no knowledge and do"
            screen.print(f"{n:,} of these rows {words} not count in the means", style="dim")
        for column, groups in result.groups.items():
            screen.print()
            print_whole(screen, groups_table(column, groups))
        screen.print()
    signatures = (system.signature for result in results for system in result.scores)
    print_signatures(screen, signatures, whole=whole)


def print_verdict(screen: Console, verdict: VerdictCounts) -> None:
    """Prints how many responses have an unsupported claim or fail, and the worst of them."""
    if not verdict.headline:
        return
    style = "bold red" if verdict.unsupported else "bold green"
    lines = [Text(verdict.headline, style=style), Text(verdict.criterion)]
    for worst in verdict.worst:
        sign, colour = VERDICTS[worst.verdict]
        # A bare number before the text could be taken for a part of the text.
        row = f"row {worst.id}" if worst.id.isdecimal() else worst.id
        lines.append(Text(f"{sign} ", style=colour) + safe_text(row, "dim")
                     + safe_text(f"  {_short(worst.claim)}"))
        if worst.source:
            words = "the sources say" if worst.decides else "nearest in the sources"
            lines.append(safe_text(f"  {words}: {_short(worst.source)}", "dim"))
    for line in filter(None, [*lines, Text(verdict.citations)]):
        screen.print(line, soft_wrap=True)
    screen.print()


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 200 else f"{words[:199]}…"


def systems_table(result: SystemRun) -> Table:
    """A line for each metric, at most 80 columns wide. Columns without values are left out."""
    table = bare_table()
    # Titles are wrapped only between words.
    words = [word for system in result.scores for word in title(system.name).split()]
    table.add_column("metric", min_width=max(map(len, words), default=0))
    shown = []
    for heading, *cells in zip(_TITLES, *map(_numbers, result.scores), strict=True):
        if heading in ("mean", "n") or any(cell != NONE for cell in cells):
            lines = "\n".join([heading, *cells]).split("\n")  # numbers are not broken
            table.add_column(heading, justify="right", no_wrap=True, vertical="top",
                             min_width=max(map(len, lines)))
            shown.append(cells)
    for system, *row in zip(result.scores, *shown, strict=True):
        table.add_row(safe_text(title(system.name)), *row)
    return table


_TITLES = ("mean", "95 %\ninterval", "coverage", "no\nanswer", "fallback", "no\nclaim", "n")


def _numbers(system: SystemScore) -> tuple[str, ...]:
    low_high = system.interval and f"{system.interval[0]:.3f} … {system.interval[1]:.3f}"
    shares = (system.coverage, system.no_answer_rate, system.fallback, system.no_claim or None)
    return number(system.value), low_high or NONE, *map(percent, shares), f"{system.n:,}"


def groups_table(column: str, groups: Mapping[str, Sequence[SystemScore]]) -> Table:
    """A line for each value of an input column: number of rows, and means."""
    names = list(dict.fromkeys(system.name for systems in groups.values() for system in systems))
    table = bare_table(Column(safe_text(column), overflow="fold"),
                       *(Column(heading, justify="right", no_wrap=True)
                         for heading in ("n", *map(title, names))))
    for value_, systems in groups.items():
        scores = {system.name: system for system in systems}
        table.add_row(safe_text(value_), f"{max((system.n for system in systems), default=0):,}",
                      *(number(scores[name].value) if name in scores else NONE for name in names))
    return table


def print_whole(screen: Console, table: Table) -> None:
    """Prints a table at its full width, even if the terminal is narrower, so nothing is cut off."""
    width = screen.width
    needed = Measurement.get(screen, screen.options.update(max_width=1000), table).minimum
    screen.width = max(width, needed)
    screen.print(table)
    screen.width = width


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str | Text]], title: str = ""
) -> None:
    # Long ids are wrapped, not cut off.
    table = bare_table(*(Column(name, overflow="fold") for name in titles))
    for row in rows:
        table.add_row(*(safe_text(cell) if isinstance(cell, str) else cell for cell in row))
    if title:
        console().print(safe_text(title, "bold"), soft_wrap=True)
    console().print(table)


def print_report(report: Report) -> None:
    screen = console()
    for table in report.tables:
        shown, rows = bare_table(), table.shown()
        for i, column in enumerate(table.columns):
            # The longest cell, or the longest word of the title.
            width = max(len(text) for text in [*column.title.split(), *(row[i] for row in rows)])
            shown.add_column(Text(plain(column.title), no_wrap=False), width=width, no_wrap=True,
                             justify="left" if column.kind == "text" else "right")
        for row in rows:
            shown.add_row(*map(safe_text, row))
        screen.print(safe_text(table.title, "bold"), soft_wrap=True)
        print_whole(screen, shown)
        if table.note:
            screen.print(safe_text(table.note, "dim"), soft_wrap=True)
        screen.print()
    print_signatures(screen, report.signatures.values(), whole=True)


@contextmanager
def progress_bar(title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar on standard error. Yields a function that takes the number of rows just
    finished."""
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(), *Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    ) as bar:
        task = bar.add_task(escape(plain(title)), total=total)
        yield lambda rows: bar.advance(task, rows)


def console() -> Console:
    """A console that prints square brackets unchanged."""
    return Console(highlight=False, markup=False, emoji=False)


def bare_table(*columns: Column | str) -> Table:
    return Table(*columns, box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))


def safe_text(text: str, style: str = "") -> Text:
    return Text(plain(text), style=style)


def print_signatures(screen: Console, signatures: Iterable[str], *, whole: bool) -> None:
    """Prints each signature once, in full (``whole``) or as a hash, such as "scale#6f746960"."""
    unique = list(dict.fromkeys(signatures))
    if whole:
        for line in unique:
            screen.print(safe_text(line, "dim"), soft_wrap=True)
    elif unique:
        words = ["signatures", *map(shortened, unique), "(in\xa0full:\xa0--signature)"]
        for line in wrap("  ".join(words), 80, subsequent_indent=" " * 12,
                         break_on_hyphens=False, break_long_words=False):
            screen.print(safe_text(line.replace("\xa0", " ")), style="dim", soft_wrap=True)


def print_next(out: str | None, report: str | None) -> None:
    """Prints the next step after ``q2 score``: a command, option or file, and what it shows."""
    step, purpose = "--report page.html", "a page of each response with its evidence"
    if report is not None:
        step, purpose = report, "open in a browser: each response with its evidence"
    elif out is not None:
        step = shlex.join(["q2", "report", out])
    console().print(Text("next  ", style="dim") + safe_text(step) +
                    Text(f"  {purpose}", style="dim"), soft_wrap=True)
