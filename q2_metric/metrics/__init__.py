"""Loads the metrics by their names.

All code that scores (the command line, the plug-ins) gets its metrics from :func:`load_metrics` and
runs them through :mod:`q2_metric.scoring`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from q2_metric.types import Metric


def load_metrics(
    names: Sequence[str], preset: str = "bundled", **keywords: Any
) -> list[Metric]:
    """Loads the metrics with these names.

    Args:
        names: names of metrics in :data:`q2_metric.metrics.registry.METRICS`, such as "q2", or
            "package.module:Class" for a metric class of your own.
        preset: name of a set of models and settings: "bundled", "bundled-small", "paper",
            "paper-exact", "paper-small" or "modern".
        keywords: fields of :class:`~q2_metric.runtime_config.RuntimeConfig`, settings of the
            metrics, and Hub names or local folders that replace the preset's models
            (``reader_model=...``). ``None`` means the default. Each metric reads only the keywords
            that it supports; a keyword that no chosen metric supports is logged as a warning.

    Raises:
        InputError: a name, preset or keyword is unknown, or a value is wrong.
        MissingExtra: a metric or the preset needs a package that is not installed.
        ModelError: a model cannot be loaded.
    """
    # Imported here, because the registry imports metrics of other packages, which may import this
    # one.
    from q2_metric.metrics import registry
    from q2_metric.metrics.settings import refuse_unknown

    refuse_unknown(keywords, registry.keywords(), "keyword")
    names = registry.check_names(names)
    registry.warn_of_unused(keywords, names)
    check_models(names, preset, keywords)
    together = registry.together(names, keywords)
    return [registry.METRICS[name].load(preset, together) for name in names]


def default_names(preset: str = "bundled") -> tuple[str, ...]:
    """The names of the metrics that are computed with a preset if the caller names no metric.

    Raises:
        InputError: there is no preset with this name.
    """
    from q2_metric.metrics.registry import DEFAULT, PAPERS
    from q2_metric.models import presets

    return DEFAULT if presets.preset(preset).head else PAPERS


def check_models(names: Sequence[str], preset: str, keywords: Mapping[str, Any]) -> None:
    """Checks that the models of these metrics can be used. It does so before any weights are
    downloaded.

    The arguments and the errors are those of :func:`load_metrics`.
    """
    from q2_metric.metrics.registry import METRICS
    from q2_metric.models import presets, stages

    used = {key: keywords.get(key) for name in names for key in METRICS[name].models
            if key in presets.STAGES}
    stages.check(preset, used)
