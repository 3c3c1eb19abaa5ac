"""Loads metrics by their names. All code that scores (the command line, the plug-ins) gets its
metrics from :func:`load_metrics`."""

from collections.abc import Mapping, Sequence
from typing import Any

from q2_metric.types import Metric


def load_metrics(names: Sequence[str], preset: str = "bundled", **keywords: Any) -> list[Metric]:
    """Loads the metrics with these names.

    Args:
        names: names of metrics, such as "q2", or "package.module:Class" for a class of your own.
        preset: "bundled", "bundled-small", "paper", "paper-exact", "paper-small" or "modern".
        keywords: fields of :class:`~q2_metric.runtime_config.RuntimeConfig`, settings of the
            metrics, and Hub names or local folders that replace the preset's models
            (``reader_model=...``). Each metric reads only the keywords that it supports; a keyword
            that no chosen metric supports is logged as a warning.

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
    return [registry.METRICS[name].load(preset, keywords) for name in names]


def default_names(preset: str = "bundled") -> tuple[str, ...]:
    """What a preset computes if no metric is named; ``InputError`` if the preset is unknown."""
    from q2_metric.metrics.registry import DEFAULT, PAPERS
    from q2_metric.models import presets

    return DEFAULT if presets.preset(preset).head else PAPERS


def check_models(names: Sequence[str], preset: str, keywords: Mapping[str, Any]) -> None:
    """Checks models before weights are downloaded, with the errors of :func:`load_metrics`."""
    from q2_metric.metrics.registry import METRICS
    from q2_metric.models import presets, stages

    used = {key: keywords.get(key) for name in names for key in METRICS[name].models
            if key in presets.STAGES}
    stages.check(preset, used)
