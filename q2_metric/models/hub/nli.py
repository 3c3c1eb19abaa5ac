"""NLI cross-encoders, which judge entailment, and which models of the Hub can judge it at all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from q2_metric.errors import InputError, ModelError
from q2_metric.models.hub.batches import Batches, encode_pairs, token_offsets, window_size
from q2_metric.models.hub.loading import LoadedModel, check_finite, load_config
from q2_metric.models.hub.names import parted
from q2_metric.models.presets import Kind
from q2_metric.models.spans import OVERLAP, Pairs, best_verdicts
from q2_metric.types import Label, Verdict

OWN_PROMPTS = ("factcg", "bespoke-minicheck", "lettucedetect", "hallucination_evaluation_model")
"""Parts of the names of published models that look like ordinary ones but need their own input."""

OTHER_TASKS = ("ForTokenClassification", "ForCausalLM", "ForQuestionAnswering", "ForMaskedLM")
"""The ends of the names of architectures that cannot judge pairs of texts."""

_SYNONYMS: dict[Label, str] = {
    "entailment": "entailment entails entail entailed supported supports support",
    "neutral": "neutral not_entailment non_entailment no_entailment unsupported not_enough_info "
               "not_enough_information nei",
    "contradiction": "contradiction contradicts contradict refutes refute refuted",
}
NAMES = {name: label for label, names in _SYNONYMS.items() for name in names.split()}
"""The NLI class for each name that configs give to a class. Case, "-" and blanks are ignored."""


class TorchNli:
    """Judges entailment with any sequence classification model trained on NLI. The probability of
    "not_entailment" becomes the verdict's ``neutral``. For the arguments see :func:`label_order`.
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

    def judge(self, pairs: Pairs) -> list[Verdict]:
        """A premise that is too long is read in windows that overlap by a quarter, and gets the
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
    unfit = (f"of an architecture ({', '.join(architectures) or 'not stated'}) that is neither a "
             "sequence classifier nor an encoder-decoder model that writes text")
    if any(name in base for name in OWN_PROMPTS):
        unfit = "a classifier that needs its own prompt"
    elif not any(one.endswith(OTHER_TASKS) for one in architectures):
        if any(one.endswith("ForSequenceClassification") for one in architectures):
            return "nli"
        if config.is_encoder_decoder:
            return "yes-no"
    raise ModelError(
        f"{model}: is {unfit}, so it cannot judge entailment here; use an NLI cross-encoder, or a "
        "Flan-T5 or MiniCheck-Flan-T5 as scale_model")


def given_labels(text: str) -> tuple[str, ...]:
    """Reads the value of ``nli_labels``: class names in the order of the model's outputs.
    InputError: these are not two or three different classes, one of them entailment.

    >>> given_labels("SUPPORTS, REFUTES, NOT ENOUGH INFO")
    ('entailment', 'contradiction', 'neutral')
    """
    classes = _classes(text.split(","))
    if classes is None or len(classes) < 2:
        raise InputError("nli_labels must name a model's two or three classes in the order of its "
                         f"outputs, as \"entailment,neutral,contradiction\", not {text!r}")
    return tuple(classes)


def label_order(
    name: str, config: Any, labels: Sequence[str] | None = None, known: Sequence[str] = ()
) -> list[Label]:
    """The class of each logit of a model: by the user's ``labels``, by the config, or by the
    ``known`` names if the config has none. InputError: ``labels`` has a wrong length, or
    contradicts the config. ModelError: it is unknown which class is entailment."""
    count = config.num_labels
    names = [str(config.id2label[i]) for i in range(count)]
    written = _classes(names)
    if labels is not None and len(labels) != count:
        raise InputError(f"{name}: {len(labels)} labels given, but the model has {count}")
    order = _classes(labels) if labels else written
    if order is None and labels is None and len(known) == count:
        order = _classes(known)
    if order is None or count < 2:
        raise ModelError(
            f"{name}: its two or three classes are not clear from the names "
            f"{', '.join(labels or names)}; give nli_labels "
            "(-s nli_labels=entailment,neutral,contradiction) in the order of its outputs")
    if written not in (None, order):
        raise InputError(f"{name}: its config says that its outputs are {', '.join(names)}; "
                         "leave nli_labels out, or change the config in a local copy")
    return order


def _classes(names: Sequence[str]) -> list[Label] | None:
    """``None`` if a name is unknown, two names mean one class, or entailment is missing."""
    plain = (name.strip().lower().replace("-", "_").replace(" ", "_") for name in names)
    known = [NAMES[name] for name in plain if name in NAMES]
    whole = len(known) == len(names) == len(set(known))
    return known if whole and "entailment" in known else None
