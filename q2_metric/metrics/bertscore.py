"""BERTScore between response and knowledge (Zhang et al., ICLR 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from q2_metric.errors import ModelError, first_line, optional
from q2_metric.metrics.claims import gated, reads
from q2_metric.metrics.signature import signature
from q2_metric.runtime_config import RuntimeConfig
from q2_metric.types import Example, Score

DEFAULT_MODEL = "roberta-large"
"""The encoder that bert-score uses for English by default."""
_POSITIONS = 512
"""Maximum number of input tokens that is assumed if an encoder's configuration states none."""


class BertScore:
    """BERTScore F1 between response and knowledge, rescaled with bert-score's baseline as in Q²'s
    experiments, if bert-score has a baseline for the encoder's layer. The signature says so.

    Both texts are lower-cased, as the responses there. Scores are clipped to [0, 1]: those of
    texts that are less alike than random ones are below 0 before. A text that is longer than the
    encoder's input is truncated.

    The vectors of bert-score's layer for ``model`` are compared, or those of the last layer if
    bert-score does not know the model. MissingExtra: bert-score is not installed. ModelError: the
    encoder cannot be loaded, or its weights exist only as pickles."""

    name = "bertscore"

    def __init__(
        self, model: str = DEFAULT_MODEL, *, device: str | None = None, batch_size: int = 64
    ) -> None:
        bert_score = optional("bert_score", "the metric 'bertscore'", "bert-score", "bertscore")
        from transformers import AutoConfig

        from q2_metric.models.hub.names import check_weights

        try:
            config = AutoConfig.from_pretrained(model)
            check_weights([model])
            layer = bert_score.utils.model2layers.get(model, config.num_hidden_layers)
            baselines = Path(bert_score.__file__).parent / "rescale_baseline" / "en"
            rescale = (baselines / f"{model}.tsv").is_file()
            self._scorer: Any = bert_score.BERTScorer(
                model_type=model, num_layers=layer, lang="en", rescale_with_baseline=rescale,
                device=None if device == "auto" else device, batch_size=batch_size)
        except ModelError:
            raise
        except (OSError, ValueError, AssertionError, AttributeError) as error:
            raise ModelError(
                f"BERTScore cannot use the encoder {model!r}: {first_line(error)}") from error
        tokenizer = self._scorer._tokenizer
        # bert-score cuts texts at this length. It is 10^30 if the tokenizer's files state no
        # length.
        tokenizer.model_max_length = min(tokenizer.model_max_length, _positions(config))
        self._batch_size = batch_size
        self.signature = signature(self.name, {
            "model": model, "layer": layer, "idf": False, "rescale": rescale,
            "bert-score": bert_score.__version__})

    @classmethod
    def from_preset(
        cls, _preset: str = "bundled", *, bertscore_model: str = DEFAULT_MODEL,
        device: str | None = None, batch_size: int = 64, any_language: bool = False,
    ) -> BertScore:
        """The preset is ignored, because BERTScore has its own encoder."""
        metric = cls(bertscore_model, device=device, batch_size=batch_size)
        return reads(metric, RuntimeConfig(any_language=any_language))

    @gated
    def score(self, examples: Sequence[Example]) -> list[Score]:
        from q2_metric.models.hub.loading import limit_threads

        limit_threads()
        _, _, f1 = self._scorer.score(
            [item.response.lower() for item in examples],
            [item.knowledge.lower() for item in examples], batch_size=self._batch_size)
        return [Score(item, min(1.0, max(0.0, value)))
                for item, value in zip(examples, f1.tolist(), strict=True)]


def _positions(config: Any) -> int:
    positions = getattr(config, "max_position_embeddings", None) or _POSITIONS
    # The first two of RoBERTa's positions belong to padding, so they hold no token.
    offset = 2 if "roberta" in getattr(config, "model_type", "") else 0
    return int(positions) - offset
