"""NLI cross-encoders, which judge entailment, and which models of the Hub can judge it at all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from q2_metric.errors import ModelError
from q2_metric.models.hub.batches import Batches
from q2_metric.models.hub.labels import label_order
from q2_metric.models.hub.loading import LoadedModel, check_finite, load_config
from q2_metric.models.hub.names import parted
from q2_metric.models.hub.tokens import encode_pairs, token_offsets, window_size
from q2_metric.models.presets import Kind
from q2_metric.models.verdicts import OVERLAP, best_verdicts
from q2_metric.types import Verdict

OWN_PROMPTS = ("factcg", "bespoke-minicheck", "lettucedetect", "hallucination_evaluation_model")
"""Parts of the names of published models that look like ordinary ones but need their own input."""

KINDS = {
    "ForTokenClassification": "a token classifier, which marks words of a response",
    "ForCausalLM": "a language model, which is asked by a prompt of its own",
    "ForQuestionAnswering": "a reader, which answers questions",
    "ForMaskedLM": "a language model without a head for a task",
}
"""Models that cannot judge pairs of texts, by the end of the architecture's name."""


class TorchNli:
    """Judges entailment with any sequence classification model trained on NLI.

    A two-way model's probability of "not_entailment" becomes the verdict's ``neutral``. For
    ``labels``, ``known`` and errors, see :func:`~q2_metric.models.hub.labels.label_order`.
    """

    prompt = ""

    def __init__(
        self, model: LoadedModel, *, labels: Sequence[str] | None = None, known: Sequence[str] = (),
        batch_size: int | None = None,
    ) -> None:
        # The order of the classes changes scores, so it is part of signatures.
        self.name = model.name + (f"[{','.join(labels)}]" if labels else "")
        self.batches = Batches(model, batch_size)
        self.max_length = window_size(model)
        self._loaded = model
        self._order = label_order(model.name, model.model.config, labels, known)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """A verdict for each (premise, hypothesis) pair.

        A premise that is too long is read in windows that overlap by a quarter, and gets the
        verdict of the window with the highest P(entailment). A hypothesis is cut at half a window.
        """
        windows = encode_pairs(
            self._loaded, pairs, long=0, short_limit=self.max_length // 2,
            max_length=self.max_length, overlap=int(OVERLAP * self.max_length))
        verdicts = self.batches.run([window.inputs for window in windows], self._run)
        return best_verdicts(zip((window.item for window in windows), verdicts, strict=True))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return token_offsets(self._loaded.tokenizer, text)

    def _run(self, batch: dict[str, Any]) -> list[Verdict]:
        logits = check_finite(self.name, self._loaded.model(**batch).logits.float())
        verdicts = []
        for row in logits.softmax(dim=-1).tolist():
            chances = dict.fromkeys(("entailment", "neutral", "contradiction"), 0.0)
            for label, chance in zip(self._order, row, strict=True):
                chances[label] += chance
            verdicts.append(Verdict(**chances))
        return verdicts


def entailment_kind(model: str) -> Kind:
    """How a model judges entailment: as a sequence classifier, or asked a Yes/No question.
    MissingExtra: torch or transformers is not installed. ModelError: the model cannot judge
    entailment (the message says what kind of model it is), or its config cannot be loaded."""
    base = Path(parted(model)[0]).name.lower()
    config = load_config(model)
    architectures = [str(one) for one in config.architectures or ()]
    unfit = [words for end, words in KINDS.items()
             if any(architecture.endswith(end) for architecture in architectures)]
    if any(name in base for name in OWN_PROMPTS):
        unfit.append("a classifier that needs its own prompt")
    if not unfit:
        if any(one.endswith("ForSequenceClassification") for one in architectures):
            return "nli"
        if config.is_encoder_decoder:
            return "yes-no"
        unfit.append(f"of an architecture ({', '.join(architectures) or 'not stated'}) that is "
                     "neither a sequence classifier nor an encoder-decoder model")
    raise ModelError(
        f"{model}: is {unfit[0]}, so it cannot judge entailment here; use an NLI cross-encoder, or "
        "a Flan-T5 or MiniCheck-Flan-T5 as scale_model")
