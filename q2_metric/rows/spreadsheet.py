"""Escapes texts in csv cells, so that no spreadsheet runs them as formulas, and reads them back.

An apostrophe is written before a formula, also before apostrophes and a formula, so that removing
one always restores the text.
"""

import re

_RUN = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # some spreadsheets accept the full-width signs


def to_cell(text: str) -> str:
    """The content of the csv cell for a text.

    >>> to_cell("=1+1"), to_cell("'=1+1"), to_cell("1+1")
    ("'=1+1", "''=1+1", '1+1')
    """
    return f"'{text}" if _RUN.match(text) else text


def from_cell(cell: str) -> str:
    """The text for which :func:`to_cell` returned this content.

    >>> from_cell("'=1+1"), from_cell("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell
