"""The metrics, and the one place that makes them by name.

Everything that scores (the command line, the plug-ins) gets its metrics from
:func:`load_metrics` and runs them through :func:`score_with`; tests replace these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from q2_metric.errors import InputError
from q2_metric.metrics.faults import score_each
from q2_metric.types import Example, Metric, Score

if TYPE_CHECKING:
    from q2_metric.metrics.scale import Scale

METRICS = ("q2", "scale", "f1", "bleu", "nli", "bertscore")
"""Names of the metrics, in the order in which they are shown."""

STAGES: Mapping[str, tuple[str, ...]] = {
    "question_model": ("q2",),
    "reader_model": ("q2",),
    "nli_model": ("q2", "nli"),
    "coreference_model": ("q2",),
    "scale_model": ("scale",),
    "bertscore_model": ("bertscore",),
}
"""Models that may replace a preset's, and the metrics that use them."""


def load_metrics(
    names: Sequence[str],
    preset: str = "bundled",
    *,
    device: str | None = None,
    dtype: str | None = None,
    batch_size: int | None = None,
    attn_implementation: str | None = None,
    compile: bool | None = None,
    models: Mapping[str, str] | None = None,
    q2: Mapping[str, Any] | None = None,
    scale: Mapping[str, Any] | None = None,
) -> list[Metric]:
    """The metrics of these names, ready to score.

    Args:
        names: out of :data:`METRICS`.
        preset: which models: "bundled", "paper", "paper-small" or "modern".
        device, dtype, batch_size, attn_implementation, compile: as in ``Q2.from_preset``;
            ``None`` for its default.
        models: Hub names or local folders instead of the preset's, keys of :data:`STAGES`.
        q2, scale: settings of ``Q2.from_preset`` and ``Scale.from_preset``; what is left
            out has the paper's default.

    Raises:
        InputError: an unknown name, preset or setting.
        MissingExtra: a metric or the preset needs a package that is not installed.
        ModelError: a model cannot be loaded.
    """
    for name in names:
        if name not in METRICS:
            raise InputError(f"there is no metric {name!r}; there are {', '.join(METRICS)}")
    running = {
        "device": device,
        "dtype": dtype,
        "batch_size": batch_size,
        "attn_implementation": attn_implementation,
        "compile": compile,
    }
    running = {key: value for key, value in running.items() if value is not None}
    own_settings: Mapping[str, Mapping[str, Any]] = {"q2": q2 or {}, "scale": scale or {}}
    loaded: list[Metric] = []
    for name in names:
        stages = {key: model for key, model in (models or {}).items() if name in STAGES[key]}
        settings = {**running, **stages, **own_settings.get(name, {})}
        loaded.append(_load(name, preset, settings))
    return loaded


def _load(name: str, preset: str, settings: dict[str, Any]) -> Metric:
    # Each import stays with its metric: token F1 alone must not load a model's runtime.
    if name == "q2":
        from q2_metric.metrics.q2 import Q2

        return Q2.from_preset(preset, **settings)
    if name == "scale":
        from q2_metric.metrics.scale import Scale

        return Scale.from_preset(preset, **settings)
    from q2_metric.metrics import overlap as baselines

    if name == "f1":
        return baselines.TokenF1()
    if name == "bleu":
        return baselines.Bleu()
    if name == "nli":
        return baselines.EndToEndNli.from_preset(preset, **settings)
    if "bertscore_model" in settings:
        settings["model"] = settings.pop("bertscore_model")
    for option in ("dtype", "attn_implementation", "compile"):
        settings.pop(option, None)  # bert-score loads its model itself, in float32
    return baselines.BertScore(**settings)


def score_with(
    metric: Metric, examples: Sequence[Example], *, evidence: bool = False
) -> list[Score]:
    """The metric's scores; ``evidence`` has SCALE also find each sentence's support."""
    if evidence and metric.name == "scale":
        return cast("Scale", metric).score(examples, evidence=True)
    return metric.score(examples)


def score_rows(
    metrics: Sequence[Metric],
    rows: Sequence[Example | None],
    *,
    evidence: bool = False,
    on_fault: Callable[[int, str], None] | None = None,
) -> list[dict[str, Score]]:
    """The scores of each row by metric name; ``None`` rows keep their place, without scores.

    Args:
        metrics: each scores all rows.
        rows: ``None`` where there is nothing to score.
        evidence: SCALE also finds each sentence's support.
        on_fault: told (place in ``rows``, what happened) of a row that a metric cannot
            score, and the others are scored (:func:`q2_metric.metrics.faults.score_each`);
            without it the first error is raised.
    """
    scores: list[dict[str, Score]] = [{} for _ in rows]
    places = [i for i, row in enumerate(rows) if row is not None]
    examples = [row for row in rows if row is not None]
    if not examples:
        return scores
    for metric in metrics:
        score = partial(score_with, metric, evidence=evidence)
        found: Sequence[Score | str] = (
            score(examples) if on_fault is None else score_each(metric.name, score, examples)
        )
        for place, one in zip(places, found, strict=True):
            if not isinstance(one, str):
                scores[place][metric.name] = one
            elif on_fault is not None:
                on_fault(place, f"{metric.name}: {one}")
    return scores
