"""Finds the kind of an entailment model from its name and its config."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from q2_metric.errors import ModelError
from q2_metric.models.hub.loading import load_config
from q2_metric.models.hub.names import parted

OWN_PROMPTS = ("factcg", "bespoke-minicheck", "lettucedetect", "hallucination_evaluation_model")
"""Parts of the names of published models that look like ordinary ones but need their own input."""

KINDS = {
    "ForTokenClassification": "a token classifier, which marks words of a response",
    "ForCausalLM": "a language model, which is asked by a prompt of its own",
    "ForQuestionAnswering": "a reader, which answers questions",
    "ForMaskedLM": "a language model without a head for a task",
}
"""Models that cannot judge pairs of texts, by the end of the architecture's name."""

Kind = Literal["nli", "yes-no"]


def entailment_kind(model: str) -> Kind:
    """How a model judges entailment: as a sequence classifier, or asked a Yes/No question.

    Raises:
        MissingExtra: torch or transformers is not installed.
        ModelError: the model cannot judge entailment (the message says what kind of model it is),
            or its config cannot be loaded.
    """
    base = Path(parted(model)[0]).name.lower()
    config = load_config(model)
    architectures = [str(one) for one in config.architectures or ()]
    if kind := next((words for end, words in KINDS.items()
                     if any(architecture.endswith(end) for architecture in architectures)), ""):
        raise _refused(model, kind)
    if any(name in base for name in OWN_PROMPTS):
        raise _refused(model, "a classifier that needs its own prompt")
    if any(architecture.endswith("ForSequenceClassification") for architecture in architectures):
        return "nli"
    if config.is_encoder_decoder:
        return "yes-no"
    raise _refused(model, f"of an architecture ({', '.join(architectures) or 'not stated'}) that "
                          "is neither a sequence classifier nor an encoder-decoder model")


def _refused(model: str, kind: str) -> ModelError:
    return ModelError(
        f"{model}: is {kind}, so it cannot judge entailment here; use an NLI cross-encoder, or a "
        "Flan-T5 or MiniCheck-Flan-T5 as scale_model")
