"""Reads the options of the metrics from the metadata of a run (``--metadata``)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from inspect import signature
from typing import Any

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.integrations.lm_eval.documents import custom
from q2_metric.metrics.registry import PAPERS, check_names, keywords, models
from q2_metric.models.presets import preset
from q2_metric.scoring import NO_CLAIM, NoClaim

_LOG = logging.getLogger(__name__)

_PLAIN = ("metrics", "preset", *(name for name in signature(custom).parameters if name != "_"))
"""Options without the prefix ``metric_``."""
_OF_MODELS = frozenset(["device", "dtype", "batch_size", "seed"])
"""Arguments of the evaluated model that have the same name as a setting of a metric."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the metrics in a run.

    In the metadata they have the prefix ``metric_`` (except ``metrics``, ``preset`` and models),
    because the harness puts the arguments of the evaluated model there too. ``keywords`` are those
    of ``load_metrics``. The default device is the CPU: the evaluated model uses the GPU.
    """

    metrics: tuple[str, ...] = PAPERS
    preset: str = "bundled"
    evidence: bool = True
    no_claim: NoClaim = NO_CLAIM
    keywords: Mapping[str, Any] = field(default_factory=lambda: {"device": "cpu"})

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Options:
        """Reads the options from the metadata of a run. Raises InputError if a metric, a preset or
        an option ``metric_…`` is unknown, or a value is wrong."""
        settings = [name for name in keywords() if name not in models()]
        known = [f"metric_{name}" for name in ("evidence", "no_claim", *settings)]
        _warn_of_slips(metadata, [*known, *models(), *_PLAIN])
        given: dict[str, Any] = {"device": "cpu"}
        for key, value in metadata.items():
            if key.startswith("metric_"):
                if key not in known:
                    raise InputError(f"unknown option {key!r} (known: metrics, preset, "
                                     f"{', '.join(known)})")
                given[key.removeprefix("metric_")] = value
            elif key in models():
                given[key] = str(value)
        evidence = given.pop("evidence", True)
        if not isinstance(evidence, bool):
            raise InputError(f"metric_evidence must be true or false, not {evidence!r}")
        size = given.get("batch_size")
        if size is not None and (not isinstance(size, int) or size < 1):
            raise InputError(f"metric_batch_size must be a whole number from 1, not {size!r}")
        return cls(
            metrics=tuple(check_names(metadata.get("metrics") or PAPERS)),
            preset=preset(str(metadata.get("preset") or "bundled")).name, evidence=evidence,
            no_claim=scoring.check_no_claim(given.pop("no_claim", None)), keywords=given)


def _warn_of_slips(metadata: Iterable[str], known: Sequence[str]) -> None:
    """Names such as "metric" are no errors: they may be arguments of the model."""
    names = {name.removeprefix("metric_"): name for name in known} | {name: name for name in known}
    for key in metadata:
        if key not in known and key not in _OF_MODELS and not key.startswith("metric_"):
            for close in get_close_matches(key, names, n=1, cutoff=0.85):
                _warn_of_slip(key, names[close])


@cache
def _warn_of_slip(key: str, meant: str) -> None:
    """Cached: several tasks of a group read the same metadata."""
    _LOG.warning("%r in the metadata is not an option of q2 and has no effect; "
                 "did you mean %r?", key, meant)
