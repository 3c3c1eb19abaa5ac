"""The figures of the papers' tables, for comparison with ours.

The file ``papers/PAPER.tsv`` has one line for each figure, in the paper's order and as the paper
prints it. Its first lines say what is missing or odd. A paper's version, the model and the model's
size and variant are part of a figure's key, so that no figure stands for another model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from q2_metric.metrics.registry import title

PAPERS: Mapping[str, str] = {
    "q2-emnlp": "Q², EMNLP 2021",
    "q2-v1": "Q², arXiv v1",
    "scale": "SCALE, EMNLP 2023",
    "rss-egr": "RSS and EGR, DSTC9",
}
"""For each version of a paper, how tables cite it. Q² is by Honovich et al., SCALE by Lattimer et
al., RSS and EGR by Bae et al."""

_EXPONENTS = {"%": -2, "x100": -2}  # all other units are kept


class Key(NamedTuple):
    """What a figure is of.

    ``model`` is the name of one of our metrics, or the paper's name for another system. ``size``
    is "" for the model that the paper uses by default. ``data`` is a data set or a part of one.
    """

    table: int
    model: str
    size: str = ""
    variant: str = ""
    data: str = ""
    measure: str = ""


def value(
    paper: str, table: int, model: str, *, size: str = "", variant: str = "", data: str = "",
    measure: str = "",
) -> float | None:
    """A published figure; ``None`` if the paper's text has none. Shares, scores and AUCs are in
    [0, 1], times in seconds, costs in dollars. The arguments are explained in :class:`Key`.

    Raises:
        KeyError: ``paper`` is not in :data:`PAPERS`.
    """
    return _figures(paper).get(Key(table, model, size, variant, data, measure))


def listed(paper: str, table: int) -> dict[Key, float]:
    """All figures of a table, in the order and units of :func:`value`. The errors are the same."""
    return {key: figure for key, figure in _figures(paper).items() if key.table == table}


def lines(
    paper: str, table: int, *wanted: tuple[str, str]
) -> list[tuple[str, list[float | None]]]:
    """For each model of a table: its name with size, variant and source, and the figures ``wanted``
    of it, which are pairs of data and measure. Models without such a figure are left out."""
    found: list[tuple[str, list[float | None]]] = []
    for _, model, size, variant in dict.fromkeys(key[:4] for key in listed(paper, table)):
        figures = [value(paper, table, model, size=size, variant=variant, data=data,
                         measure=measure) for data, measure in wanted]
        if any(figure is not None for figure in figures):
            name = ", ".join(filter(None, (title(model), size, variant)))
            found.append((f"published: {name} ({PAPERS[paper]}, table {table})", figures))
    return found


@cache
def _figures(paper: str) -> dict[Key, float]:
    if paper not in PAPERS:
        raise KeyError(f"no paper {paper!r}; the papers are {', '.join(PAPERS)}")
    text = files(__package__).joinpath("papers", f"{paper}.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {
        Key(int(table), *key): float(f"{printed}e{_EXPONENTS.get(unit, 0)}")
        for table, *key, printed, unit in rows[1:]
    }
