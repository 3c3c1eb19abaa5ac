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

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

from q2_metric.errors import WriteError, optional
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


PANEL = 3.1
"""Width and height of a panel, in inches."""

Panels = Mapping[str, Mapping[str, Any]]
Styles = Mapping[str, Mapping[str, Any]]
"""For each metric, matplotlib's keywords for its line, such as colour and label."""


def _figure(rows: int, columns: int, size: float = PANEL) -> tuple[Any, Any]:
    """A figure, and its axes (rows, columns) of ``size`` inches."""
    figure = import_module("matplotlib.figure").Figure(
        (size * columns, size * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _row(
    panels: Panels, xlabel: str, ylabel: str = "", *, unit: bool = False
) -> tuple[Any, list[tuple[Any, str, Any]]]:
    """A figure with a row of panels, and (axis, metric, curve) for each curve to draw.

    Args:
        ylabel: if "", the title of a panel stands beside its y-axis instead of above it.
        unit: whether both axes go from 0 to 1; a grey line then shows where they are equal.
    """
    figure, axes = _figure(1, len(panels))
    for axis, panel in zip(axes[0], panels, strict=True):
        axis.set(xlabel=xlabel, ylabel=ylabel or panel, title=panel if ylabel else "")
        if unit:
            axis.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
            axis.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
            axis.label_outer()
    return figure, [(axis, metric, curve) for axis, curves in
                    zip(axes[0], panels.values(), strict=True) for metric, curve in curves.items()]


def _legend(figure: Any, columns: int = 4) -> None:
    """Draws one legend below all panels, with the entries of the first."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", frameon=False,
                  ncols=max(1, min(columns, len(labels))))


def _precision_recall(panels: Panels, styles: Styles) -> Any:
    figure, axes = _figure(2, len(panels))
    for row, side in zip(axes, ("consistent", "inconsistent"), strict=True):
        for axis, (panel, series) in zip(row, panels.items(), strict=True):
            for metric, curves in series.items():
                curve = curves[side]
                axis.step(curve["x"], curve["y"], where="post", **styles[metric])
            axis.set(xlabel="recall", ylabel="precision", title=f"{side}: {panel}",
                     xlim=(-0.01, 1.01), ylim=(0, 1.01))
            axis.label_outer()
    _legend(figure)
    return figure


def _roc(panels: Panels, styles: Styles) -> Any:
    figure, lines = _row(panels, "false positive rate", "true positive rate", unit=True)
    for axis, metric, curve in lines:
        label = f"{styles[metric]['label']} ({100 * curve['auc']:.1f})"
        axis.plot([0, *curve["x"]], [0, *curve["y"]], **{**styles[metric], "label": label})
    for axis in figure.axes:
        axis.legend(loc="lower right", frameon=False, title="AUC × 100")
    return figure


def _reliability(panels: Panels, styles: Styles) -> Any:
    figure, lines = _row(panels, "mean score of the bin", "share consistent", unit=True)
    for axis, metric, bins in lines:
        most = max(bin_["n"] for bin_ in bins)
        x, y = [bin_["score"] for bin_ in bins], [bin_["consistent"] for bin_ in bins]
        axis.plot(x, y, **styles[metric])
        axis.scatter(x, y, s=[2 + 22 * bin_["n"] / most for bin_ in bins],
                     color=styles[metric]["color"])
    _legend(figure, columns=3 * len(panels))
    return figure


def _robustness(panels: Panels, styles: Styles) -> Any:
    figure, lines = _row(panels, "share of inconsistent responses", "mean score")
    for axis, metric, curve in lines:
        axis.plot(curve["x"], curve["y"], **styles[metric])
        axis.fill_between(curve["x"], curve["low"], curve["high"], alpha=0.15, linewidth=0,
                          color=styles[metric]["color"])
    _legend(figure, columns=3)
    return figure


def _histogram(panels: Panels, styles: Styles) -> Any:
    metrics = list(styles)
    figure, axes = _figure(len(panels), len(metrics), 0.62 * PANEL)
    for axes_of_set, (panel, series) in zip(axes, panels.items(), strict=True):
        for axis, metric in zip(axes_of_set, metrics, strict=True):
            if (curve := series.get(metric)) is None:
                axis.set_visible(False)
                continue
            # Shares of each class, so that classes of different size can be compared.
            for label, colour in (("consistent", "#0072B2"), ("inconsistent", "#D55E00")):
                counts: Sequence[float] = curve[label]
                total = sum(counts) or 1
                axis.stairs([count / total for count in counts], curve["edges"], fill=True,
                            alpha=0.45, color=colour, label=label)
            axis.set_title(styles[metric]["label"])
            axis.set_yticks([])
        axes_of_set[0].set_ylabel(panel)
    _legend(figure)
    return figure


def _sweep(panels: Panels, styles: Styles) -> Any:
    figure, lines = _row(panels, "chunk size in tokens")
    for axis, metric, curve in lines:
        axis.plot(curve["x"], curve["y"], marker="o", markersize=3, **styles[metric])
    _legend(figure)
    return figure


DRAWINGS: Mapping[str, Callable[[Panels, Styles], Any]] = {
    "precision_recall": _precision_recall, "roc": _roc, "reliability": _reliability,
    "robustness": _robustness, "histogram": _histogram, "sweep": _sweep}


_ENDINGS = tuple(f"_{kind}.{suffix}" for kind in DRAWINGS for suffix in SUFFIXES)


def figures_in(folder: str | Path) -> list[Path]:
    """The files with names that :func:`draw` may replace; none if the folder does not exist."""
    return [path for path in Path(folder).glob("*") if path.name.endswith(_ENDINGS)]


def figures_of(name: str, folder: str | Path) -> list[Path]:
    """All files that :func:`draw` could write for a report with this name."""
    return [Path(folder) / f"{_stem(name)}{ending}" for ending in _ENDINGS]


def _stem(name: str) -> str:
    return re.sub(r"[^\w-]+", "_", name)


def draw(report: Report, folder: str | Path) -> list[Path]:
    """Draws all figures of a report as ``NAME_KIND.png`` and ``.svg``, and returns their paths.
    MissingExtra: matplotlib is not installed. WriteError: the folder cannot be written."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{folder}: cannot be written: {error.strerror or error}") from error
    paths: list[Path] = []
    matplotlib = optional("matplotlib", "--figures", "matplotlib", "meta")
    with matplotlib.rc_context(dict(_STYLE)):
        for kind, drawing in DRAWINGS.items():
            if panels := report.curves.get(kind):
                figure = drawing(panels, _styles(panels))
                for suffix in SUFFIXES:
                    paths.append(folder / f"{_stem(report.name)}_{kind}.{suffix}")
                    _save(figure, paths[-1], suffix)
    return paths


def _save(figure: Any, path: Path, suffix: str) -> None:
    undated: dict[str, Any] = {"metadata": {"Date": None}} if suffix == "svg" else {}
    with replacing(path, public=True) as unfinished:
        figure.savefig(unfinished, format=suffix, dpi=DPI, bbox_inches="tight", **undated)


def _styles(panels: Panels) -> Styles:
    metrics = dict.fromkeys(metric for panel in panels.values() for metric in panel)
    styles = zip(metrics, cycle(_COLOURS), cycle(_DASHES), strict=False)
    return {metric: {"color": colour, "linestyle": dashes, "label": title(metric)}
            for metric, colour, dashes in styles}
