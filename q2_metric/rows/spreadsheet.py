"""Escapes texts in csv cells, so that no spreadsheet runs them as formulas, and reads them back.

If a text begins like a formula, an apostrophe is written before it. The same is done if apostrophes
are in front of the formula. So removing one apostrophe always restores the text.
"""

from __future__ import annotations

import re

_RUN = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # some spreadsheets accept the full-width signs


def to_cell(text: str) -> str:
    """The content of the csv cell for a text.

    If a spreadsheet might run the text as a formula, an apostrophe is put in front.

    >>> to_cell("=1+1"), to_cell("'=1+1"), to_cell("1+1")
    ("'=1+1", "''=1+1", '1+1')
    """
    return f"'{text}" if _RUN.match(text) else text


def from_cell(cell: str) -> str:
    """The text for which :func:`to_cell` returned this content of a cell.

    >>> from_cell("'=1+1"), from_cell("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell
