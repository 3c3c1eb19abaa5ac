"""Finds list items and table cells in a response, and puts their headings before them."""

import re
from typing import NamedTuple

from q2_metric.english.claims.frames import presents
from q2_metric.text.tables import cells
from q2_metric.types import Claim

_BULLET = re.compile(r"\n*([ \t]*)(?:[-*•‣▪–+]|\(?\d{1,2}[.)]|\(?[a-z][.)])[ \t]+(?=\S)")
_ROW = re.compile(r"[ \t]*\|.+\|[ \t]*$")
_RULE = re.compile(r"[ \t|:-]+$")
TITLE = re.compile(r"[^\W\d_]+(?:[ &/-]+[^\W\d_]+){0,4}")
"""A line or an item that may only name what stands below it: "Prices"."""
MOST_WORDS = 12
"""In words. A longer item is read as a sentence of its own, without its heading."""


class Item(NamedTuple):
    """The texts of the claims begin with the heading. Their offsets are those of the own words."""

    start: int
    end: int
    claims: tuple[Claim, ...] = ()


def items(text: str) -> list[Item]:
    r"""The lines of lists and tables. A heading stands before each item, unless it only announces
    the list ("Here are some facts:"). The headings themselves are lines without claims.

    >>> [claim.text for one in items("The kit has:\n- a saw\n- two pens") for claim in one.claims]
    ['The kit has: a saw', 'The kit has: two pens']
    >>> items("| plan | price |\n|---|---|\n| basic | $5 |")[2].claims[0].text
    'plan basic: price $5'
    """
    listed: list[Item] = []
    heading, columns, start = "", None, 0
    above: list[tuple[int, str]] = []  # the indent and the words of items that name this list
    for line in text.split("\n"):
        end = start + len(line)
        row, bullet = _ROW.match(line), _BULLET.match(line)
        below = _BULLET.match(text, end) if line.strip() else None
        above = [(indent, name) for indent, name in above if bullet and indent < len(bullet[1])]
        said = " ".join(line[bullet.end():].split()) if bullet else ""
        if row:
            columns = _of_row(line, columns, start, listed)
        elif (bullet and below and len(bullet[1]) < len(below[1])
              and TITLE.fullmatch(said.removesuffix(":"))):
            above.append((len(bullet[1]), f"{said.removesuffix(':')}:"))
            listed.append(Item(start, end))
        elif bullet and (heading or above) and len(line.split()) <= MOST_WORDS:
            named = "" if presents(heading[:-1]) else heading
            read = " ".join(filter(None, (named, *(name for _, name in above), said)))
            listed.append(Item(start, end, (Claim(read, start + bullet.end(), end, "item"),)))
        elif line.strip():
            heading = " ".join(line.replace("*", " ").replace("#", " ").split())
            heading = heading if heading.endswith(":") else ""
            if heading and bullet is None and below:
                listed.append(Item(start, end))
        if not row and line.strip():
            columns = None
        start = end + 1
    return listed


def _of_row(
    line: str, columns: list[str] | None, start: int, listed: list[Item]
) -> list[str] | None:
    end = start + len(line)
    if _RULE.match(line):
        listed.append(Item(start, end))
        return columns
    places = [(" ".join(cell.text.split()), cell.start, cell.start + len(cell.text))
              for cell in cells(line, start)]
    if columns is None:
        listed.append(Item(start, end))
        return [cell for cell, _, _ in places]
    first = f"{columns[0]} {places[0][0]}".strip()
    named = zip(columns[1:], places[1:], strict=False)
    listed.append(Item(start, end, tuple(
        Claim(f"{first}: {name} {cell}", left, right, "cell")
        for name, (cell, left, right) in named if cell)))
    return columns
