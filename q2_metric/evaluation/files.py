"""Writes reports as JSON (whole), CSV (one number a line), markdown, and LaTeX for papers that use
the package booktabs."""

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path

from q2_metric.evaluation.statistics import Interval
from q2_metric.evaluation.tables import Report, Table
from q2_metric.files import check_place, write_text
from q2_metric.rows.writers import to_cell

SUFFIXES = (".json", ".csv", ".md", ".tex")
FORMAT = "q2-meta-eval-1"

_SPECIAL = str.maketrans({
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "²": r"\textsuperscript{2}", "–": "--", "−": "$-$", "×": r"$\times$",
    "τ": r"$\tau$",
})


def write(report: Report, path: str | Path, *, note: str = "") -> None:
    """Writes a report in the format of the path's suffix (:func:`to_text`). InputError: the suffix
    is unknown, or the file cannot be written."""
    check_place(path, SUFFIXES)
    write_text(path, to_text(report, Path(path).suffix.lower(), note=note))


def to_text(report: Report, suffix: str, *, note: str = "") -> str:
    """A report as a file with one of :data:`SUFFIXES`. ``note`` is markdown for the page's top;
    other formats leave it out."""
    if suffix == ".md":
        return to_markdown(report, note=note)
    return {".json": to_json, ".csv": to_csv, ".tex": to_latex}[suffix](report)


def to_json(report: Report) -> str:
    """The whole report as JSON, with the numbers in curves rounded to 5 digits."""
    fields = {"format": FORMAT, **asdict(report)}
    curves = json.loads(json.dumps(fields.pop("curves"), allow_nan=False),
                        parse_float=lambda digits: round(float(digits), 5))
    line = json.dumps(curves, ensure_ascii=False, separators=(",", ":"))
    whole = json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False)
    return f'{whole.removesuffix("}").rstrip()},\n "curves": {line}\n}}\n'


def to_csv(report: Report) -> str:
    """One number a line: table, row, column, value, and the interval (low, high).

    Texts are escaped so that no spreadsheet runs them (:func:`q2_metric.rows.writers.to_cell`).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "row", "column", "value", "low", "high"))
    for table in report.tables:
        named = range(len(list(takewhile(lambda column: column.kind == "text", table.columns))))
        for row in table.rows:
            name = " / ".join(str(row[i]) for i in named if row[i])
            for i, cell in enumerate(row):
                if i in named or cell is None:
                    continue
                value, *ends = asdict(cell).values() if isinstance(cell, Interval) else [cell]
                cells = (table.name, name, table.columns[i].title, value, *ends)
                writer.writerow(to_cell(cell) if isinstance(cell, str) else cell for cell in cells)
    return out.getvalue()


def to_markdown(report: Report, *, note: str = "") -> str:
    """The report as a markdown page; ``note`` (markdown) stands above the tables."""
    facts = dict(report.facts)
    command = facts.pop("command", "")
    about = ", ".join(f"{name}: {value}" for name, value in facts.items())
    lines = [f"# {report.title}", "", f"{about}.", ""]
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


def escape(text: str) -> str:
    """A text that LaTeX prints as it stands.

    >>> print(escape("run_2 & 50%"))
    run\\_2 \\& 50\\%
    """
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text).translate(_SPECIAL)


def to_latex(report: Report) -> str:
    """All tables of a report, and the command that made them as a comment."""
    facts = [f"% {name}: {' '.join(str(value).split())}" for name, value in report.facts.items()]
    signed = [f"% {line}" for line in dict.fromkeys(report.signatures.values())]
    lines = ["% \\usepackage{booktabs}", *facts, *signed]
    for table in report.tables:
        lines += ["", *latex_table(table)]
    return "\n".join(lines) + "\n"


def latex_table(table: Table) -> list[str]:
    sides = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    rows = [[column.title for column in table.columns],
            *([re.sub(r"-(?=\d)", "−", cell) if column.kind != "text" else cell
               for cell, column in zip(row, table.columns, strict=True)] for row in table.shown())]
    # A row that starts with a bracket would be read as the argument of the \\ before it.
    lines = [" & ".join(re.sub(r"^\[", "{[}", escape(cell)) for cell in row) + r" \\"
             for row in rows]
    note = [rf"\par\small {escape(table.note)}"] if table.note else []
    return [r"\begin{table}", r"\centering", rf"\caption{{{escape(table.title)}}}",
            rf"\begin{{tabular}}{{{sides}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
            r"\bottomrule", r"\end{tabular}", *note, r"\end{table}"]
