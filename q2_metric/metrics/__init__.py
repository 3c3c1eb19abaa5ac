"""The metrics, and the one place that makes them by name.

Everything that scores (the command line, the plug-ins) gets its metrics from
:func:`load_metrics` and runs them through :mod:`q2_metric.scoring`.
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
        names: names in :data:`q2_metric.metrics.registry.METRICS`, or "package.module:Class".
        preset: the preset: "bundled", "bundled-small", "paper", "paper-exact", "paper-small" or
            "modern".
        keywords: fields of :class:`~q2_metric.runtime_config.RuntimeConfig`, settings of the
            metrics, and Hub names or local folders that replace the preset's models
            (``reader_model=...``). Each metric takes the keywords that it has. ``None`` means the
            default. A warning is logged for a keyword that none of the metrics takes.

    Raises:
        InputError: a name, preset or keyword is unknown, or a value is wrong.
        MissingExtra: a metric or the preset needs a package that is not installed.
        ModelError: a model cannot be loaded.
    """
    # Here, since the registry imports metrics of other people, which may import this package.
    from q2_metric.metrics import registry

    registry.check_keywords(keywords)
    names = registry.check_names(names)
    registry.warn_of_unused(keywords, names)
    check_models(names, preset, keywords)
    together = registry.together(names, keywords)
    return [registry.METRICS[name].load(preset, together) for name in names]


def default_names(preset: str = "bundled") -> tuple[str, ...]:
    """The metrics that are computed with a preset if none are named.

    Raises:
        InputError: there is no such preset.
    """
    from q2_metric.metrics.registry import DEFAULT, PAPERS
    from q2_metric.models import presets

    return DEFAULT if presets.preset(preset).head else PAPERS


def check_models(names: Sequence[str], preset: str, keywords: Mapping[str, Any]) -> None:
    """Checks the models of all these metrics, before any weights are downloaded.

    Arguments and errors are those of :func:`load_metrics`.
    """
    from q2_metric.metrics.registry import METRICS
    from q2_metric.models import presets, stages

    used = {key: keywords.get(key) for name in names for key in METRICS[name].models
            if key in presets.STAGES}
    stages.check(preset, used)
