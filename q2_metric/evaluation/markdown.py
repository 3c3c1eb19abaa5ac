"""Tables and reports as markdown."""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.evaluation.tables import Report, Table


def to_markdown(report: Report, *, note: str = "") -> str:
    """A page: title, note, facts, tables, signatures."""
    lines = [f"# {report.title}", ""]
    facts = dict(report.facts)
    command = facts.pop("command", "")
    lines += [", ".join(f"{name}: {value}" for name, value in facts.items()) + ".", ""]
    if command:
        lines += ["```console", f"$ {command}", "```", ""]
    if note:
        lines += [note.strip(), ""]
    for table in report.tables:
        lines += [f"## {table.title}", "", *markdown_table(table), ""]
        if table.note:
            lines += [table.note, ""]
    if report.signatures:
        lines += ["## Signatures", "", "```", *dict.fromkeys(report.signatures.values()), "```"]
    return "\n".join(lines).rstrip() + "\n"


def markdown_table(table: Table) -> list[str]:
    """The lines of a table, numbers at the right."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    ends = ["---" if column.kind == "text" else "---:" for column in table.columns]
    titles = [column.title for column in table.columns]
    return [line(titles), f"|{'|'.join(ends)}|", *(line(row) for row in table.shown())]
