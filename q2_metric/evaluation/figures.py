"""Draws the figures of a :class:`~q2_metric.evaluation.tables.Report`, as PNG and SVG.

For each kind of figure, ``Report.curves`` contains nested dictionaries:

===================  ===================================================================
precision_recall     panel -> metric -> {consistent, inconsistent} -> x, y, threshold
roc                  panel -> metric -> x, y, auc
reliability          panel -> metric -> bins
robustness           panel -> metric -> x, y, low, high
histogram            panel -> metric -> edges, consistent, inconsistent
sweep                what is measured -> metric -> x, y
===================  ===================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from q2_metric.errors import WriteError, optional
from q2_metric.evaluation.drawings import DRAWINGS, Panels, Styles
from q2_metric.evaluation.tables import Report
from q2_metric.files import replacing
from q2_metric.metrics.registry import title

SUFFIXES = ("png", "svg")

DPI = 200

_COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000")
"""The colours of Okabe and Ito, which most colour-blind people can distinguish."""

_DASHES: tuple[Any, ...] = ("-", "--", "-", (0, (4, 1.5)), "-.", ":", (0, (1, 1)))

_STYLE: Mapping[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.3,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "q2",  # equal figures give equal files
}


def figures_in(folder: str | Path) -> list[Path]:
    """The files with names that :func:`draw` may replace; none if the folder does not exist."""
    endings = tuple(f"_{kind}.{suffix}" for kind in DRAWINGS for suffix in SUFFIXES)
    return [path for path in Path(folder).glob("*") if path.name.endswith(endings)]


def figures_of(name: str, folder: str | Path) -> list[Path]:
    """All files that :func:`draw` could write for a report with this name."""
    return [Path(folder) / f"{_stem(name)}_{kind}.{suffix}"
            for kind in DRAWINGS for suffix in SUFFIXES]


def _stem(name: str) -> str:
    return re.sub(r"[^\w-]+", "_", name)


def draw(report: Report, folder: str | Path) -> list[Path]:
    """Draws all figures of a report as ``NAME_KIND.png`` and ``.svg``, and returns their paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        WriteError: the folder cannot be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{folder}: cannot be written: {error.strerror or error}") from error
    paths: list[Path] = []
    with _pyplot() as plt:
        for kind, drawing in DRAWINGS.items():
            panels = report.curves.get(kind)
            if panels:
                figure = drawing(plt, panels, _styles(panels))
                paths += _save(figure, folder / f"{_stem(report.name)}_{kind}")
                plt.close(figure)
    return paths


@contextmanager
def _pyplot() -> Iterator[Any]:
    matplotlib = optional("matplotlib", "--figures", "matplotlib", "meta")
    plt = import_module("matplotlib.pyplot")
    with matplotlib.rc_context(dict(_STYLE)):
        backend = matplotlib.get_backend()
        plt.switch_backend("agg")  # no screen is needed
        try:
            yield plt
        finally:
            plt.switch_backend(backend)


def _save(figure: Any, stem: Path) -> list[Path]:
    paths = []
    for suffix in SUFFIXES:
        path = stem.with_name(f"{stem.name}.{suffix}")
        dated: dict[str, Any] = {"metadata": {"Date": None}} if suffix == "svg" else {}
        with replacing(path, public=True) as unfinished:
            figure.savefig(unfinished, format=suffix, dpi=DPI, bbox_inches="tight", **dated)
        paths.append(path)
    return paths


def _styles(panels: Panels) -> Styles:
    metrics = dict.fromkeys(metric for panel in panels.values() for metric in panel)
    return {
        metric: {
            "color": _COLOURS[place % len(_COLOURS)],
            "linestyle": _DASHES[place % len(_DASHES)],
            "label": title(metric),
        }
        for place, metric in enumerate(metrics)
    }
