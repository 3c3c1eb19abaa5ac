"""Finds out which output of a model is which NLI class."""

from collections.abc import Sequence
from typing import Any

from q2_metric.errors import InputError, ModelError
from q2_metric.types import Label

_SYNONYMS: dict[Label, str] = {
    "entailment": "entailment entails entail entailed supported supports support",
    "neutral": "neutral not_entailment non_entailment no_entailment unsupported not_enough_info "
               "not_enough_information nei",
    "contradiction": "contradiction contradicts contradict refutes refute refuted",
}
NAMES = {name: label for label, names in _SYNONYMS.items() for name in names.split()}
"""The NLI class for each name that configs give to a class. Case, "-" and blanks are ignored."""


def given_labels(text: str) -> tuple[str, ...]:
    """Reads the value of ``nli_labels``: class names in the order of the model's outputs.
    InputError: these are not two or three different classes, one of them entailment.

    >>> given_labels("SUPPORTS, REFUTES, NOT ENOUGH INFO")
    ('entailment', 'contradiction', 'neutral')
    """
    names = [name.strip() for name in text.split(",")]
    classes = _classes(names)
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
    if order is None:
        raise ModelError(
            f"{name}: its classes are not clear from the names {', '.join(labels or names)}; give "
            "nli_labels (-s nli_labels=entailment,neutral,contradiction) in the order of its "
            "outputs")
    if written not in (None, order):
        raise InputError(f"{name}: its config says that its outputs are {', '.join(names)}; "
                         "leave nli_labels out, or change the config in a local copy")
    if count < 2:
        raise ModelError(f"{name}: has only one output; an NLI model needs two or three classes")
    return order


def _classes(names: Sequence[str]) -> list[Label] | None:
    """``None`` if a name is unknown, two names mean one class, or entailment is missing."""
    plain = (name.strip().lower().replace("-", "_").replace(" ", "_") for name in names)
    known = [NAMES[name] for name in plain if name in NAMES]
    whole = len(known) == len(names) == len(set(known))
    return known if whole and "entailment" in known else None
