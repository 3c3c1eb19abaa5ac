"""Writes tables and reports as markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from q2_metric.evaluation.tables import Report


def to_markdown(report: Report, *, note: str = "") -> str:
    """The report as a markdown page; ``note`` (markdown) stands above the tables."""
    lines = [f"# {report.title}", ""]
    facts = dict(report.facts)
    command = facts.pop("command", "")
    lines += [", ".join(f"{name}: {value}" for name, value in facts.items()) + ".", ""]
    if command:
        lines += ["```console", f"$ {command}", "```", ""]
    if note:
        lines += [note.strip(), ""]
    for table in report.tables:
        titles = [column.title for column in table.columns]
        numbers = [i for i, column in enumerate(table.columns) if column.kind != "text"]
        lines += [f"## {table.title}", "", *table_lines(titles, table.shown(), numbers), ""]
        if table.note:
            lines += [table.note, ""]
    if report.signatures:
        lines += ["## Signatures", "", "```", *dict.fromkeys(report.signatures.values()), "```"]
    return "\n".join(lines).rstrip() + "\n"


def table_lines(
    titles: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> list[str]:
    """The lines of a markdown table; ``right`` are the indices of right-aligned columns.

    >>> table_lines(["a", "b"], [["x|y", "1"]], [1])
    ['| a | b |', '|---|---:|', '| x\\\\|y | 1 |']
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    ends = ["---:" if i in right else "---" for i in range(len(titles))]
    return [line(titles), f"|{'|'.join(ends)}|", *map(line, rows)]
