"""The figures of the papers' tables, for comparison with ours.

``papers/PAPER.tsv`` has one line for each figure, in the paper's order and as printed. Its first
lines say what is missing or odd.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

PAPERS: Mapping[str, str] = {
    "q2-emnlp": "Q², EMNLP 2021",
    "q2-v1": "Q², arXiv v1",
    "scale": "SCALE, EMNLP 2023",
    "rss-egr": "RSS and EGR, DSTC9",
}
"""For each version of a paper, how tables cite it."""

_EXPONENTS = {"%": -2, "x100": -2}  # all other units are kept


class Key(NamedTuple):
    """What a figure is of. ``model`` is our name of a metric, or the paper's name of a system.
    ``size`` is "" for the paper's default model. ``data`` is a data set or a part of one."""

    table: int
    model: str
    size: str = ""
    variant: str = ""
    data: str = ""
    measure: str = ""


def listed(paper: str, table: int) -> dict[Key, float]:
    """All figures of a table in their order. Shares, scores and AUCs are in [0, 1], times in
    seconds, costs in dollars."""
    return {key: figure for key, figure in _figures(paper).items() if key.table == table}


@cache
def _figures(paper: str) -> dict[Key, float]:
    text = files(__package__).joinpath("papers", f"{paper}.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {
        Key(int(table), *key): float(f"{printed}e{_EXPONENTS.get(unit, 0)}")
        for table, *key, printed, unit in rows[1:]
    }
