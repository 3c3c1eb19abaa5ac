"""Escapes texts in csv cells so that no spreadsheet runs them as formulas, and reads them back.

An apostrophe is written before a text that begins like a formula. The same is done if a text has
apostrophes before the formula, so that removing one apostrophe restores every text.
"""

from __future__ import annotations

import re

_RUN = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # some spreadsheets accept the full-width signs


def to_cell(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet might run the text as a formula.

    >>> to_cell("=1+1"), to_cell("'=1+1"), to_cell("1+1")
    ("'=1+1", "''=1+1", '1+1')
    """
    return f"'{text}" if _RUN.match(text) else text


def from_cell(cell: str) -> str:
    """The text that :func:`to_cell` wrote into a cell.

    >>> from_cell("'=1+1"), from_cell("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell
