"""The figures of a :class:`~q2_metric.evaluation.tables.Report`, as PNG and SVG.

Drawn from ``Report.curves`` alone, so that a saved report can be drawn again:

===================  ===================================================================
precision_recall     panel -> metric -> {consistent, inconsistent} -> x, y, threshold
roc                  panel -> metric -> x, y, auc
reliability          panel -> metric -> bins
robustness           panel -> metric -> x, y, low, high
histogram            panel -> metric -> edges, consistent, inconsistent
scatter              panel -> metric -> x, y
===================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from q2_metric.cli.render import TITLES
from q2_metric.errors import InputError, MissingExtra
from q2_metric.evaluation.tables import Report

SUFFIXES = ("png", "svg")

PANEL = 3.1
"""Inches of a panel's side."""

DPI = 200

_COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000")
"""Okabe and Ito's, which most colour-blind people can tell apart."""

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
    "svg.hashsalt": "q2",  # the same figure, the same file
}

Panels = Mapping[str, Mapping[str, Any]]


def draw(report: Report, folder: str | Path) -> list[Path]:
    """Draws all figures of a report into a folder, as ``NAME_KIND.png`` and ``.svg``.

    Raises:
        MissingExtra: matplotlib is not installed.
        InputError: the folder cannot be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from error
    paths: list[Path] = []
    with _pyplot() as plt:
        for kind, drawing in _DRAWINGS.items():
            panels = report.curves.get(kind)
            if panels:
                figure = drawing(plt, panels, _styles(panels))
                paths += _save(figure, folder / f"{report.name}_{kind}")
                plt.close(figure)
    return paths


@contextmanager
def _pyplot() -> Iterator[Any]:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("--figures", "matplotlib", "meta") from error
    from matplotlib import pyplot as plt

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
        try:
            figure.savefig(path, dpi=DPI, bbox_inches="tight", **dated)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
        paths.append(path)
    return paths


Styles = Mapping[str, Mapping[str, Any]]


def _styles(panels: Panels) -> Styles:
    """Colour and dash of each metric; those of ours are the same in every figure."""
    found = list(dict.fromkeys(metric for one in panels.values() for metric in one))
    known = [metric for metric in TITLES if metric != "bertscore"]
    strange = [metric for metric in found if metric not in known]
    places = {metric: i for i, metric in enumerate([*known, *strange])}
    return {
        metric: {
            "color": _COLOURS[places[metric] % len(_COLOURS)],
            "linestyle": _DASHES[places[metric] % len(_DASHES)],
            "label": TITLES.get(metric, metric),
        }
        for metric in found
    }


def _row(plt: Any, panels: Panels, rows: int = 1) -> tuple[Any, Any]:
    figure, axes = plt.subplots(
        rows, len(panels), figsize=(PANEL * len(panels), PANEL * rows), squeeze=False,
        layout="constrained",
    )
    return figure, axes


def _legend(figure: Any, axes: Any, columns: int = 4) -> None:
    """One legend for all panels, below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)),
                  frameon=False)


def _unit(axis: Any) -> None:
    axis.set_xlim(-0.01, 1.01)
    axis.set_ylim(-0.01, 1.01)
    axis.set_aspect("equal")


def _precision_recall(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _row(plt, panels, rows=2)
    for row, found in enumerate(("consistent", "inconsistent")):
        for axis, (title, series) in zip(axes[row], panels.items(), strict=True):
            for metric, curves in series.items():
                curve = curves[found]
                axis.step(curve["x"], curve["y"], where="post", **styles[metric])
            axis.set(xlabel="recall", ylabel="precision", title=f"{found}: {title}")
            axis.set_xlim(-0.01, 1.01)
            axis.set_ylim(0, 1.01)
            axis.label_outer()
    _legend(figure, axes[0][0])
    return figure


def _roc(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _row(plt, panels)
    for axis, (title, series) in zip(axes[0], panels.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
        for metric, curve in series.items():
            style = dict(styles[metric])
            style["label"] = f"{style['label']} ({100 * curve['auc']:.1f})"
            axis.plot([0, *curve["x"]], [0, *curve["y"]], **style)
        axis.set(xlabel="false positive rate", ylabel="true positive rate", title=title)
        axis.legend(loc="lower right", frameon=False, title="AUC × 100")
        _unit(axis)
        axis.label_outer()
    return figure


def _reliability(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _row(plt, panels)
    for axis, (title, series) in zip(axes[0], panels.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
        for metric, bins in series.items():
            most = max(one["n"] for one in bins)
            axis.plot(
                [one["score"] for one in bins], [one["consistent"] for one in bins],
                **styles[metric],
            )
            axis.scatter(
                [one["score"] for one in bins], [one["consistent"] for one in bins],
                s=[2 + 22 * one["n"] / most for one in bins], color=styles[metric]["color"],
            )
        axis.set(xlabel="mean score of the bin (stretched)", ylabel="share consistent",
                 title=title)
        _unit(axis)
        axis.label_outer()
    _legend(figure, axes[0][0], columns=3 * len(panels))
    return figure


def _robustness(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _row(plt, panels)
    for axis, (title, series) in zip(axes[0], panels.items(), strict=True):
        for metric, curve in series.items():
            axis.plot(curve["x"], curve["y"], **styles[metric])
            axis.fill_between(curve["x"], curve["low"], curve["high"], alpha=0.15, linewidth=0,
                              color=styles[metric]["color"])
        axis.set(xlabel="share of inconsistent responses", ylabel="mean score", title=title)
    _legend(figure, axes[0][0], columns=3)
    return figure


def _histogram(plt: Any, panels: Panels, styles: Styles) -> Any:
    metrics = list(styles)
    figure, axes = plt.subplots(
        len(panels), len(metrics), squeeze=False, layout="constrained",
        figsize=(0.62 * PANEL * len(metrics), 0.62 * PANEL * len(panels)),
    )
    for axes_of_set, (title, series) in zip(axes, panels.items(), strict=True):
        for axis, metric in zip(axes_of_set, metrics, strict=True):
            curve = series.get(metric)
            if curve is None:
                axis.set_visible(False)
                continue
            # Shares of each class: classes of different size can be compared.
            for label, colour in (("consistent", "#0072B2"), ("inconsistent", "#D55E00")):
                counts: Sequence[float] = curve[label]
                total = sum(counts) or 1
                axis.stairs([count / total for count in counts], curve["edges"], fill=True,
                            alpha=0.45, color=colour, label=label)
            axis.set_title(styles[metric]["label"])
            axis.set_yticks([])
        axes_of_set[0].set_ylabel(title)
    _legend(figure, axes[0][0])
    return figure


def _scatter(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _row(plt, panels)
    for axis, (title, series) in zip(axes[0], panels.items(), strict=True):
        for metric, curve in series.items():
            axis.scatter(curve["x"], curve["y"], s=8, alpha=0.5,
                         color=styles[metric]["color"], label=styles[metric]["label"])
        axis.set(xlabel="people", ylabel="score", title=title)
    _legend(figure, axes[0][0])
    return figure


_DRAWINGS: Mapping[str, Callable[[Any, Panels, Styles], Any]] = {
    "precision_recall": _precision_recall,
    "roc": _roc,
    "reliability": _reliability,
    "robustness": _robustness,
    "histogram": _histogram,
    "scatter": _scatter,
}
