"""Detects the dialogue turns that need knowledge (DSTC9 track 1, subtask 1)."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import InputError
from q2_metric.knowledge.bundled import without
from q2_metric.knowledge.dstc import LabelledTurns
from q2_metric.knowledge.encoder import HeadedEncoder
from q2_metric.knowledge.mentions import spoken_words
from q2_metric.knowledge.training import Progress, Report, TrainSettings, train
from q2_metric.knowledge.types import Dialogue, Pool

THRESHOLD = 0.5
HEADS = ("detection",)

REQUESTS = (
    "what is the phone number", "can i get the address", "what is the postcode",
    "what's the zip code", "how much does it cost", "what is the price range",
    "is it cheap or expensive", "how many stars does it have", "what part of town is it in",
    "what area is it in", "what type of food do they serve", "what kind of place is it",
    "i'm looking for a cheap hotel", "i need a restaurant in the center",
    "find me an attraction in the north", "i need a train to cambridge", "i want to book a taxi",
    "can you recommend a place", "any other options", "are there any others",
    "book it for two people", "make a reservation for friday", "for three nights",
    "what is the reference number", "yes please", "no thanks that's all", "thank you goodbye",
    "that sounds good", "the first one", "let's go with that one", "hello",
    "what time does it leave", "do they have any in another area",
    "is there one that is moderately priced", "what is the name of it",
    "how about something else", "i need to leave after five",
)
"""User requests that a dialogue system answers from its database, so that they need no snippet."""


class BundledDetector:
    """P(needs knowledge) as a logistic function of two similarities of the last turn: with the most
    similar question of the pool, and with the most similar of :data:`REQUESTS`.

    ``vectors`` turns texts into unit vectors; ``weights`` (3,) are what
    :mod:`tools.training.selection` learned. InputError: no snippet of the pool has a question.
    ModelError: the bundled weights are missing."""

    def __init__(self, pool: Pool, vectors: Any = None, weights: Any = None) -> None:
        from q2_metric.models.bundled import selection

        self.name = f"bundled-detection-v{selection.VERSION}"
        self._vectors = vectors if vectors is not None else selection.text_vectors()
        self._weights = weights if weights is not None else selection.learned()["detection"]
        asked = {without(s.question, s.entity_name) for s in pool if s.question}
        if not asked:
            raise InputError(f"{pool.source}: no snippet has a question to compare a turn with")
        self._questions = self._vectors(sorted(asked))
        self._requests = self._spoken(REQUESTS)

    def detect(self, dialogues: Sequence[Dialogue]) -> list[float]:
        logits = self.features([dialogue.last.text for dialogue in dialogues]) @ self._weights
        return [float(p) for p in 1 / (1 + np.exp(-logits))]

    def features(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The two similarities and the constant 1: (texts, 3)."""
        read = self._spoken(texts)
        similar = [(read @ known.T).max(1) for known in (self._questions, self._requests)]
        return np.stack([*similar, np.ones(len(texts), np.float32)], axis=1)

    def _spoken(self, texts: Sequence[str]) -> Any:
        return self._vectors([" ".join(spoken_words(text)) for text in texts])


class EncoderDetector:
    """Reads the dialogue with a model that :func:`train_detector` wrote, or, with
    ``trained=False``, with one that it trains."""

    def __init__(self, model: str, *, device: str = "auto", batch_size: int = 32,
                 trained: bool = True) -> None:
        self.encoder = HeadedEncoder(model, HEADS, device=device, trained=trained)
        self._batch_size = batch_size
        self.name = f"detector:{self.encoder.name}"

    def detect(self, dialogues: Sequence[Dialogue]) -> list[float]:
        found = self.encoder.probabilities([(one, "") for one in dialogues], self._batch_size)
        return [probability for (probability,) in found]


class Detection(NamedTuple):
    """Precision, recall and F1 of "needs knowledge", in [0, 1]; an undefined value is 0."""

    precision: float
    recall: float
    f1: float


def evaluate_detection(probabilities: Sequence[float], targets: Sequence[bool]) -> Detection:
    """Compares P(needs knowledge) with human labels. InputError: no turns, or lengths differ."""
    if not targets or len(probabilities) != len(targets):
        raise InputError(f"there are {len(probabilities)} decisions for {len(targets)} turns")
    said = [p > THRESHOLD for p in probabilities]
    right = sum(s and t for s, t in zip(said, targets, strict=True))
    precision = right / sum(said) if any(said) else 0.0
    recall = right / sum(targets) if any(targets) else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return Detection(precision, recall, f1)


def train_detector(
    base: str, turns: LabelledTurns, dev: LabelledTurns, folder: str | Path,
    settings: TrainSettings, *, device: str = "auto", report: Report | None = None,
) -> Progress:
    """Trains a detector from an encoder and saves the model with the best dev F1 in ``folder``.
    InputError: there are no turns."""
    import torch
    from torch.nn import functional as F

    if not turns.dialogues or not dev.dialogues:
        raise InputError("the detector needs labelled turns for training and for development")
    detector = EncoderDetector(base, device=device, batch_size=2 * settings.batch_size,
                               trained=False)

    def loss_of(places: Sequence[int], rng: random.Random) -> torch.Tensor:
        logits = detector.encoder.logits([(turns.dialogues[i], "") for i in places])[:, 0]
        wanted = torch.tensor([float(turns.labels[i].target) for i in places], device=logits.device)
        return F.binary_cross_entropy_with_logits(logits, wanted)

    def judge() -> float:
        found = detector.detect(dev.dialogues)
        return evaluate_detection(found, [label.target for label in dev.labels]).f1

    return train(detector.encoder.loaded, len(turns.dialogues), loss_of, judge, folder, settings,
                 report)
