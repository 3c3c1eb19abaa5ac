"""Writes texts as csv cells that no spreadsheet runs as a formula, and reads them back.

A text that begins like a formula gets an apostrophe in front. So does a text with apostrophes
before the formula, so that removing one apostrophe restores every text.
"""

from __future__ import annotations

import re

_RUN = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # some spreadsheets accept the full-width signs


def to_cell(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet might run it.

    >>> to_cell("=1+1"), to_cell("'=1+1"), to_cell("1+1")
    ("'=1+1", "''=1+1", '1+1')
    """
    return f"'{text}" if _RUN.match(text) else text


def from_cell(cell: str) -> str:
    """The text of a cell that :func:`to_cell` made.

    >>> from_cell("'=1+1"), from_cell("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell
