"""Writes reports as LaTeX tables with the rules of the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from q2_metric.evaluation.tables import Report, Table

_ESCAPED = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "²": r"\textsuperscript{2}", "–": "--", "×": r"$\times$", "τ": r"$\tau$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
_MARKS = re.compile("[" + re.escape("".join(_ESCAPED)) + "]")


def to_latex(report: Report) -> str:
    """The tables of a report, each as a float that needs ``\\usepackage{booktabs}``."""
    facts = [f"% {name}: {' '.join(value.split())}" for name, value in report.facts.items()]
    signed = [f"% {line}" for line in dict.fromkeys(report.signatures.values())]
    return "\n\n".join(["\n".join([*facts, *signed]), *map(_float, report.tables)]).strip() + "\n"


def escaped(text: str) -> str:
    r"""A text in which LaTeX sees no command.

    >>> escaped("Q² & 5_%")
    'Q\\textsuperscript{2} \\& 5\\_\\%'
    """
    return _MARKS.sub(lambda match: _ESCAPED[match[0]], text)


def _float(table: Table) -> str:
    sides = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{sides}}}", r"\toprule",
        _line([column.title for column in table.columns]), r"\midrule",
        *map(_line, table.shown()), r"\bottomrule", r"\end{tabular}",
        rf"\caption{{{escaped(' '.join(filter(None, (table.title + '.', table.note))))}}}",
        rf"\label{{tab:{re.sub(r'[^a-zA-Z0-9-]', '-', table.name)}}}", r"\end{table}",
    ])


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
