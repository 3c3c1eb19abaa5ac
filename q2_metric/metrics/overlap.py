"""The metrics that Q² and SCALE are compared with (Q², section 4; TRUE, section 3).

Each compares the response with the knowledge as a whole and implements
:class:`q2_metric.types.Metric`; ``because`` stays empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from q2_metric.errors import MissingExtra, ModelError
from q2_metric.metrics.q2 import FALLBACK_SCORE
from q2_metric.metrics.signature import signature
from q2_metric.text.normalise import token_f1
from q2_metric.types import Entailment, Example, Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

DEFAULT_BERTSCORE_MODEL = "roberta-large"
"""bert-score's model for English."""

_POSITIONS = 512
"""Tokens that an encoder reads where its configuration does not say."""


class TokenF1:
    """Token F1 of the response with the knowledge, normalised as Q² does: [0, 1]."""

    name = "f1"

    def __init__(self) -> None:
        self.signature = signature(self.name, {})

    def score(self, examples: Sequence[Example]) -> list[Score]:
        """One score for each example, in order."""
        return [Score(item, token_f1(item.response, item.knowledge)) for item in examples]


class Bleu:
    """Sentence BLEU of the response with the knowledge as its reference, in [0, 1].

    sacrebleu with effective order, so that responses under four words can score; the
    signature carries sacrebleu's own settings.
    """

    name = "bleu"

    def __init__(self) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self._bleu = BLEU(effective_order=True)
        self.signature = _bleu_signature(self._bleu)

    def score(self, examples: Sequence[Example]) -> list[Score]:
        """One score for each example, in order."""
        return [
            Score(item, _share(self._bleu.sentence_score(item.response, [item.knowledge]).score))
            for item in examples
        ]

    def corpus(self, examples: Sequence[Example]) -> float:
        """Corpus BLEU in [0, 1]: n-gram counts of all responses together, not a mean.

        The figure that papers report for a system; 0 without examples.
        """
        from sacrebleu.metrics.bleu import BLEU

        if not examples:
            return 0.0
        responses = [item.response for item in examples]
        knowledge = [item.knowledge for item in examples]
        return _share(BLEU().corpus_score(responses, [knowledge]).score)


class EndToEndNli:
    """Entailment of the whole response by the knowledge: 1, 0.5 (neutral) or 0.

    Premise = knowledge, hypothesis = response, as where Q² falls back. ``verdict`` is
    kept in the score.

    Args:
        entailment: the model that judges.
        preset: named in the signature.
    """

    name = "nli"

    def __init__(self, entailment: Entailment, *, preset: str = "custom") -> None:
        self._entailment = entailment
        self.signature = signature(self.name, {"preset": preset, "nli": entailment.name})

    @classmethod
    def from_preset(
        cls, preset: str = "bundled", *, nli_model: str | None = None, **running: Any
    ) -> EndToEndNli:
        """The metric with a preset's NLI model, or with ``nli_model`` in its place.

        Args:
            preset: "bundled" (offline), "paper", "paper-small" or "modern".
            nli_model: a Hub name or a local folder.
            running: ``device``, ``dtype``, ``batch_size``, ``attn_implementation``,
                ``compile``, as for ``Q2.from_preset``.

        Raises:
            InputError: an unknown preset.
            MissingExtra: the preset needs a package that is not installed.
            ModelError: the model cannot be loaded.
        """
        from q2_metric.models import presets

        chosen = presets.preset(preset)
        return cls(presets.load_nli(chosen, model=nli_model, **running), preset=chosen.name)

    def score(self, examples: Sequence[Example]) -> list[Score]:
        """One score for each example, in order; the model is asked once, for all."""
        verdicts = self._entailment.judge([(item.knowledge, item.response) for item in examples])
        return [
            Score(item, FALLBACK_SCORE[verdict.label], verdict=verdict)
            for item, verdict in zip(examples, verdicts, strict=True)
        ]


class BertScore:
    """BERTScore F1 of the response with the knowledge (Zhang et al., ICLR 2020).

    In [0, 1]: not rescaled, and cut at the ends (a cosine can be under 0, a rounding
    error over 1). Texts are read up to the encoder's length. A blank text scores 0.

    Args:
        model: a Hub name or a local folder of an encoder.
        layer: the layer whose vectors are compared; by default the one that bert-score
            found best for ``model``, or the last of a model it does not know.
        device: "cpu", "cuda", …; ``None`` or "auto" takes a GPU where there is one.
        batch_size: texts encoded at a time.

    Raises:
        MissingExtra: bert-score is not installed.
        ModelError: the encoder cannot be loaded.
    """

    name = "bertscore"

    def __init__(
        self,
        model: str = DEFAULT_BERTSCORE_MODEL,
        *,
        layer: int | None = None,
        device: str | None = None,
        batch_size: int = 64,
    ) -> None:
        try:
            bert_score: Any = import_module("bert_score")  # it has no types
            from transformers import AutoConfig
        except ImportError as error:
            package = "torch" if error.name == "torch" else "bert-score"
            raise MissingExtra("the metric 'bertscore'", package, "bertscore") from error

        try:
            config = AutoConfig.from_pretrained(model)
            if layer is None:
                layer = bert_score.utils.model2layers.get(model, config.num_hidden_layers)
            self._scorer: Any = bert_score.BERTScorer(
                model_type=model,
                num_layers=layer,
                device=None if device == "auto" else device,
                batch_size=batch_size,
            )
        except (OSError, ValueError, AssertionError, AttributeError) as error:
            raise ModelError(
                f"BERTScore cannot use the encoder {model!r}: {_first_line(error)}"
            ) from error
        tokenizer = self._scorer._tokenizer
        # bert-score cuts at this length, which is 10^30 where the tokenizer's files do not say.
        tokenizer.model_max_length = min(tokenizer.model_max_length, _positions(config))
        self._batch_size = batch_size
        self.signature = signature(
            self.name,
            {
                "model": model,
                "layer": layer,
                "idf": False,
                "rescale": False,
                "bert-score": bert_score.__version__,
            },
        )

    def score(self, examples: Sequence[Example]) -> list[Score]:
        """One score for each example, in order."""
        full = [item for item in examples if item.response.strip() and item.knowledge.strip()]
        values: dict[Example, float] = {}
        if full:
            _, _, f1 = self._scorer.score(
                [item.response for item in full],
                [item.knowledge for item in full],
                batch_size=self._batch_size,
            )
            clipped = [min(1.0, max(0.0, value)) for value in f1.tolist()]
            values = dict(zip(full, clipped, strict=True))
        return [Score(item, values.get(item, 0.0)) for item in examples]


def _share(percent: float) -> float:
    """BLEU's percent as a share; rounding errors leave it a hair over 100."""
    return min(1.0, percent / 100)


def _bleu_signature(bleu: BLEU) -> str:
    bleu.sentence_score("", [""])  # it knows its signature only after a first score
    settings: dict[str, object] = {}
    for part in str(bleu.get_signature()).split("|"):
        key, _, value = part.partition(":")
        settings["sacrebleu" if key == "version" else key] = value
    return signature("bleu", settings)


def _positions(config: Any) -> int:
    positions = getattr(config, "max_position_embeddings", None) or _POSITIONS
    # RoBERTa's positions start after the padding's, so that two of them hold no token.
    offset = 2 if "roberta" in getattr(config, "model_type", "") else 0
    return int(positions) - offset


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
