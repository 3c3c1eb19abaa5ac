"""Draws figures with matplotlib. The data of each kind of figure are in ``Report.curves``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

PANEL = 3.1
"""Width and height of a panel, in inches."""

Panels = Mapping[str, Mapping[str, Any]]
Styles = Mapping[str, Mapping[str, Any]]
"""For each metric, matplotlib's keywords for its line, such as colour and label."""


def _row(plt: Any, panels: Panels, rows: int = 1) -> tuple[Any, Any]:
    figure, axes = plt.subplots(
        rows, len(panels), figsize=(PANEL * len(panels), PANEL * rows), squeeze=False,
        layout="constrained",
    )
    return figure, axes


def _legend(figure: Any, axes: Any, columns: int = 4) -> None:
    """Draws one legend below all panels, with the entries of one of them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", frameon=False,
                  ncols=max(1, min(columns, len(labels))))


def _unit(axis: Any) -> None:
    axis.set_xlim(-0.01, 1.01)
    axis.set_ylim(-0.01, 1.01)
    axis.set_aspect("equal")
    axis.label_outer()


def _precision_recall(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _row(plt, panels, rows=2)
    for row, side in enumerate(("consistent", "inconsistent")):
        for axis, (title, series) in zip(axes[row], panels.items(), strict=True):
            for metric, curves in series.items():
                curve = curves[side]
                axis.step(curve["x"], curve["y"], where="post", **styles[metric])
            axis.set(xlabel="recall", ylabel="precision", title=f"{side}: {title}")
            axis.set_xlim(-0.01, 1.01)
            axis.set_ylim(0, 1.01)
            axis.label_outer()
    _legend(figure, axes[0][0])
    return figure


def _diagonal(plt: Any, panels: Panels) -> tuple[Any, Any]:
    figure, axes = _row(plt, panels)
    for axis in axes[0]:
        axis.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
    return figure, axes


def _roc(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _diagonal(plt, panels)
    for axis, (title, series) in zip(axes[0], panels.items(), strict=True):
        for metric, curve in series.items():
            style = dict(styles[metric])
            style["label"] = f"{style['label']} ({100 * curve['auc']:.1f})"
            axis.plot([0, *curve["x"]], [0, *curve["y"]], **style)
        axis.set(xlabel="false positive rate", ylabel="true positive rate", title=title)
        axis.legend(loc="lower right", frameon=False, title="AUC × 100")
        _unit(axis)
    return figure


def _reliability(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _diagonal(plt, panels)
    for axis, (title, series) in zip(axes[0], panels.items(), strict=True):
        for metric, bins in series.items():
            most = max(bin_["n"] for bin_ in bins)
            x, y = [bin_["score"] for bin_ in bins], [bin_["consistent"] for bin_ in bins]
            axis.plot(x, y, **styles[metric])
            axis.scatter(x, y, s=[2 + 22 * bin_["n"] / most for bin_ in bins],
                         color=styles[metric]["color"])
        axis.set(xlabel="mean score of the bin", ylabel="share consistent",
                 title=title)
        _unit(axis)
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
            # Shares of each class, so that classes of different size can be compared.
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


def _sweep(plt: Any, panels: Panels, styles: Styles) -> Any:
    figure, axes = _row(plt, panels)
    for axis, (title, series) in zip(axes[0], panels.items(), strict=True):
        for metric, curve in series.items():
            axis.plot(curve["x"], curve["y"], marker="o", markersize=3, **styles[metric])
        axis.set(xlabel="chunk size in tokens", ylabel=title)
    _legend(figure, axes[0][0])
    return figure


DRAWINGS: Mapping[str, Callable[[Any, Panels, Styles], Any]] = {
    "precision_recall": _precision_recall,
    "roc": _roc,
    "reliability": _reliability,
    "robustness": _robustness,
    "histogram": _histogram,
    "sweep": _sweep,
}
