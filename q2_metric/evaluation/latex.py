"""Writes tables as LaTeX, for papers that use the package booktabs."""

from __future__ import annotations

import re

from q2_metric.evaluation.tables import Report, Table

_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "²": r"\textsuperscript{2}", "–": "--", "−": "$-$", "×": r"$\times$",
    "τ": r"$\tau$",
}

_minus = re.compile(r"-(?=\d)")


def escape(text: str) -> str:
    """A text that LaTeX prints as it stands.

    >>> print(escape("run_2 & 50%"))
    run\\_2 \\& 50\\%
    """
    words = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    return "".join(_SPECIAL.get(sign, sign) for sign in words)


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
            *([_minus.sub("−", cell) if column.kind != "text" else cell
               for cell, column in zip(row, table.columns, strict=True)] for row in table.shown())]
    # A row that starts with a bracket would be read as the argument of the \\ before it.
    lines = [" & ".join(re.sub(r"^\[", "{[}", escape(cell)) for cell in row) + r" \\"
             for row in rows]
    note = [rf"\par\small {escape(table.note)}"] if table.note else []
    return [r"\begin{table}", r"\centering", rf"\caption{{{escape(table.title)}}}",
            rf"\begin{{tabular}}{{{sides}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
            r"\bottomrule", r"\end{tabular}", *note, r"\end{table}"]
