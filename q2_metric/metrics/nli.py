"""End-to-end NLI: an NLI model judges the whole response against the whole knowledge. It is a
baseline in the papers (Q², section 4; TRUE, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from q2_metric.memory import remembered
from q2_metric.metrics.claims import gated, reads
from q2_metric.metrics.q2 import FALLBACK_SCORE
from q2_metric.metrics.settings import check_labels, check_stages, settings_and_runtime
from q2_metric.metrics.signature import signature
from q2_metric.runtime_config import check_fields
from q2_metric.types import Entailment, Example, Score


@dataclass(frozen=True, slots=True)
class NliSettings:
    """Settings of end-to-end NLI.

    Attributes:
        nli_labels: the classes of ``nli_model`` in the order of its outputs, such as
            "entailment,neutral,contradiction", if its config does not name them.
    """

    nli_labels: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_labels(self.nli_labels)


class EndToEndNli:
    """Scores 1 if the knowledge entails the whole response, 0 if it contradicts it, otherwise 0.5.
    The model's verdict is in ``Score.verdict``."""

    name = "nli"
    scores_all = False

    def __init__(self, entailment: Entailment, *, preset: str = "custom") -> None:
        check_stages(("entailment", entailment, "judge"))
        self._entailment = entailment
        self.signature = signature(self.name, {"preset": preset, "nli": entailment.name})

    @classmethod
    def from_preset(
        cls, preset: str = "bundled", *, nli_model: str | None = None, **keywords: Any
    ) -> EndToEndNli:
        """Creates the metric with a preset's NLI model, or with ``nli_model``: a Hub name or a
        local folder. The errors are those of :func:`~q2_metric.metrics.load_metrics`."""
        from q2_metric.models import presets, stages

        chosen = presets.preset(preset)
        settings, config = settings_and_runtime(NliSettings, keywords)
        model = stages.load_nli(chosen, nli_model, config, labels=check_labels(settings.nli_labels))
        metric = cls(model, preset=chosen.name)
        metric.scores_all = chosen.scores_all
        return reads(metric, config)

    @gated
    def score(self, examples: Sequence[Example]) -> list[Score]:
        verdicts = remembered(
            self._entailment.judge, ((item.knowledge, item.response) for item in examples), {})
        return [Score(item, FALLBACK_SCORE[verdict.label], verdict=verdict)
                for item, verdict in zip(examples, verdicts, strict=True)]
