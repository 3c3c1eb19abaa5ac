"""NLI cross-encoders: sequence classification models that judge entailment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from q2_metric.models.hub.batches import Batches
from q2_metric.models.hub.labels import label_order
from q2_metric.models.hub.loading import LoadedModel, check_finite
from q2_metric.models.hub.tokens import cut, encode_pairs, token_offsets, window_size
from q2_metric.models.verdicts import OVERLAP, best_verdicts
from q2_metric.types import Verdict


class TorchNli:
    """Judges entailment with any sequence classification model trained on NLI.

    A two-way model's probability of "not_entailment" becomes the verdict's ``neutral``.

    Args:
        labels, known: see :func:`~q2_metric.models.hub.labels.label_order`, also for errors.
        batch_size: windows in one batch; ``None`` takes as many as fit.
    """

    prompt = ""

    def __init__(
        self,
        model: LoadedModel,
        *,
        labels: Sequence[str] | None = None,
        known: Sequence[str] = (),
        batch_size: int | None = None,
    ) -> None:
        # The order of the classes changes scores, so it is part of signatures.
        self.name = model.name + (f"[{','.join(labels)}]" if labels else "")
        self.batches = Batches(model, batch_size)
        self.max_length = window_size(model)
        self._loaded = model
        self._order = label_order(model.name, model.model.config, labels, known)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """A verdict for each (premise, hypothesis) pair. Equal pairs are judged once.

        A premise that is too long is read in windows that overlap by a quarter, and gets the
        verdict of the window with the highest P(entailment). A hypothesis is cut at half a window.
        """
        asked = list(dict.fromkeys(pairs))
        tokenizer, limit = self._loaded.tokenizer, self.max_length // 2
        hypotheses = cut(tokenizer, [hypothesis for _, hypothesis in asked], limit)
        windows = encode_pairs(
            self._loaded,
            list(zip((premise for premise, _ in asked), hypotheses, strict=True)),
            long=0,
            max_length=self.max_length,
            overlap=int(OVERLAP * self.max_length),
        )
        verdicts = self.batches.run([window.inputs for window in windows], self._run)
        best = best_verdicts([window.item for window in windows], verdicts, len(asked))
        by_pair = dict(zip(asked, best, strict=True))
        return [by_pair[pair] for pair in pairs]

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
