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
from functools import partial
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

_STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.titlesize": 9, "axes.labelsize": 8, "legend.fontsize": 7,
    "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.3,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "q2",  # equal figures give equal files
}

PANEL = 3.1
"""Width and height of a panel, in inches."""

Panels = Mapping[str, Mapping[str, Any]]
Styles = Mapping[str, Mapping[str, Any]]
"""For each metric, matplotlib's keywords for its line, such as colour and label."""


def _figure(rows: int, columns: int, size: float = PANEL) -> tuple[Any, Any]:
    figure = import_module("matplotlib.figure").Figure(
        (size * columns, size * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _row(
    panels: Panels, styles: Styles, draw: Callable[[Any, Any, Mapping[str, Any]], None],
    xlabel: str, ylabel: str = "", *, unit: bool = False, legend: bool = True,
) -> Any:
    """A figure with a row of panels, in which ``draw`` draws each metric's curve. Without
    ``ylabel``, the title of a panel stands beside its y-axis instead of above it. With ``unit``,
    both axes go from 0 to 1, and a grey line shows where they are equal."""
    figure, axes = _figure(1, len(panels))
    for axis, (panel, curves) in zip(axes[0], panels.items(), strict=True):
        axis.set(xlabel=xlabel, ylabel=ylabel or panel, title=panel if ylabel else "")
        if unit:
            axis.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
            axis.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
            axis.label_outer()
        for metric, curve in curves.items():
            draw(axis, curve, styles[metric])
    if legend:
        _legend(figure, columns=3 * len(panels))
    return figure


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


def _roc(axis: Any, curve: Any, style: Mapping[str, Any]) -> None:
    label = f"{style['label']} ({100 * curve['auc']:.1f})"
    axis.plot([0, *curve["x"]], [0, *curve["y"]], **{**style, "label": label})
    axis.legend(loc="lower right", frameon=False, title="AUC × 100")


def _reliability(axis: Any, bins: Any, style: Mapping[str, Any]) -> None:
    most = max(bin_["n"] for bin_ in bins)
    x, y = [bin_["score"] for bin_ in bins], [bin_["consistent"] for bin_ in bins]
    axis.plot(x, y, **style)
    axis.scatter(x, y, s=[2 + 22 * bin_["n"] / most for bin_ in bins], color=style["color"])


def _robustness(axis: Any, curve: Any, style: Mapping[str, Any]) -> None:
    axis.plot(curve["x"], curve["y"], **style)
    axis.fill_between(curve["x"], curve["low"], curve["high"], alpha=0.15, linewidth=0,
                      color=style["color"])


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


DRAWINGS: Mapping[str, Callable[[Panels, Styles], Any]] = {
    "precision_recall": _precision_recall,
    "roc": partial(_row, draw=_roc, xlabel="false positive rate", ylabel="true positive rate",
                   unit=True, legend=False),
    "reliability": partial(_row, draw=_reliability, xlabel="mean score of the bin",
                           ylabel="share consistent", unit=True),
    "robustness": partial(_row, draw=_robustness, xlabel="share of inconsistent responses",
                          ylabel="mean score"),
    "histogram": _histogram,
    "sweep": partial(_row, xlabel="chunk size in tokens", draw=lambda axis, curve, style: axis.plot(
        curve["x"], curve["y"], marker="o", markersize=3, **style)),
}
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
    with matplotlib.rc_context(_STYLE):
        for kind, drawing in DRAWINGS.items():
            if panels := report.curves.get(kind):
                figure = drawing(panels, _styles(panels))
                for suffix in SUFFIXES:
                    paths.append(folder / f"{_stem(report.name)}_{kind}.{suffix}")
                    undated = {"metadata": {"Date": None}} if suffix == "svg" else {}
                    with replacing(paths[-1], public=True) as unfinished:
                        figure.savefig(unfinished, format=suffix, dpi=DPI, bbox_inches="tight",
                                       **undated)
    return paths


def _styles(panels: Panels) -> Styles:
    metrics = dict.fromkeys(metric for panel in panels.values() for metric in panel)
    styles = zip(metrics, cycle(_COLOURS), cycle(_DASHES), strict=False)
    return {metric: {"color": colour, "linestyle": dashes, "label": title(metric)}
            for metric, colour, dashes in styles}
