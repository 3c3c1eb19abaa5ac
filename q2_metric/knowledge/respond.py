"""Detection, selection and response, one after the other (Bae et al., figure 1), and the model that
writes a response from the chosen snippet (section 3.2).

The paper's model is BART; GPT-2, its baseline, continues the same input with the response.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from q2_metric.errors import InputError
from q2_metric.knowledge.detection import THRESHOLD, evaluate_detection
from q2_metric.knowledge.dstc import TurnLabel
from q2_metric.knowledge.encoder import written
from q2_metric.knowledge.evaluate import OVERALL, evaluate, response_scores
from q2_metric.knowledge.training import Progress, Report, TrainSettings, train
from q2_metric.knowledge.types import Detector, Dialogue, Pool, Ranked, Ranker, Snippet
from q2_metric.models.hub.batches import Batches, cut, raw_offsets, token_ids, window_size
from q2_metric.models.hub.loading import load_config, load_pretrained

if TYPE_CHECKING:
    from torch import Tensor

MODEL = "facebook/bart-base"
BEAM = 5
NUCLEUS = 0.9
LENGTH = 512
"""Maximum number of tokens of an input. The beginning of a longer dialogue is cut off."""
LONGEST_RESPONSE = 128
RESPONSE = "response:"
"""What a decoder-only model reads before the response."""
IGNORED = -100
"""The label of a token that is not learned."""

Scores = dict[tuple[int, str], float]
"""The score of each subtask (1 to 3) and measure."""


class GroundedTurn(NamedTuple):
    """``response`` is the reference response, "" if unknown."""

    dialogue: Dialogue
    snippet: Snippet
    response: str = ""


class Responder:
    """Writes responses to dialogues, each from a snippet of knowledge, by beam search (1: greedy)
    or, with ``sample``, by nucleus sampling (0.9 of the probability, a fixed seed).

    ``model`` is the Hub name or folder of an encoder–decoder or decoder-only model that
    :func:`train_responder` trained; other models do not know this form of input. MissingExtra:
    torch is not installed. ModelError: the model cannot be loaded."""

    def __init__(
        self, model: str = MODEL, *, device: str = "auto", batch_size: int = 8, beam: int = BEAM,
        sample: bool = False,
    ) -> None:
        self.continues = not load_config(model).is_encoder_decoder
        self.loaded = load_pretrained(
            "AutoModelForCausalLM" if self.continues else "AutoModelForSeq2SeqLM", model, device)
        self.beam = 1 if sample else beam
        self.sample = sample
        self.batch_size = batch_size
        window = window_size(self.loaded)
        self.longest = min(LONGEST_RESPONSE, window // 2)
        # The response of a decoder-only model stands in the same window as its input.
        self.length = min(LENGTH, window - self.longest if self.continues else window)
        self.name = model

    def respond(self, items: Sequence[GroundedTurn]) -> list[str]:
        import torch

        self.loaded.model.eval()
        tokenizer = self.loaded.tokenizer
        tokenizer.padding_side = "left" if self.continues else "right"

        def generate(batch: dict[str, Any]) -> list[str]:
            torch.manual_seed(0)
            tokens = self.loaded.model.generate(
                **batch, num_beams=self.beam, max_new_tokens=self.longest,
                pad_token_id=tokenizer.pad_token_id, do_sample=self.sample,
                **({"top_p": NUCLEUS, "top_k": 0} if self.sample else {}))
            if self.continues:
                tokens = tokens[:, batch["input_ids"].shape[1]:]
            texts: list[str] = tokenizer.batch_decode(tokens, skip_special_tokens=True)
            return [text.strip() for text in texts]

        batches = Batches(self.loaded, self.batch_size, copies=self.beam, extra=self.longest)
        return batches.run([self.row(item) for item in items], generate)

    def row(self, item: GroundedTurn) -> dict[str, list[int]]:
        """The tokens that the model reads: the snippet, then as much of the dialogue's end as fits.
        A snippet of more than three quarters of the input is cut."""
        tokenizer = self.loaded.tokenizer
        knowledge = f"knowledge: {item.snippet.text} dialogue:"
        ask = f" {RESPONSE}" if self.continues else ""
        room = self.length - tokenizer.num_special_tokens_to_add(pair=False)
        room -= len(raw_offsets(tokenizer, ask))
        (knowledge,) = cut(tokenizer, [knowledge], room * 3 // 4)
        room -= len(raw_offsets(tokenizer, knowledge)) + 1  # joining can split one token into two
        said = written(item.dialogue)
        spans = raw_offsets(tokenizer, said)
        if len(spans) > room:
            said = said[spans[-room][0] :]
        encoded = tokenizer(
            f"{knowledge} {said}{ask}", truncation=True, max_length=self.length,
            split_special_tokens=True, verbose=False)
        return {name: encoded[name] for name in ("input_ids", "attention_mask")}

    def loss(self, items: Sequence[GroundedTurn]) -> Tensor:
        """The mean negative log-likelihood of the tokens of the batch's reference responses."""
        from transformers import DataCollatorForSeq2Seq

        self.loaded.tokenizer.padding_side = "right"
        rows = []
        for item in items:
            row, gold = self.row(item), self._gold(item.response)
            labels = gold
            if self.continues:  # the response follows the input, whose tokens are not learned
                labels = [IGNORED] * len(row["input_ids"]) + gold
                row["input_ids"] += gold
                row["attention_mask"] += [1] * len(gold)
            rows.append({**row, "labels": labels})
        batch = DataCollatorForSeq2Seq(self.loaded.tokenizer, label_pad_token_id=IGNORED)(rows)
        loss: Tensor = self.loaded.model(**batch.to(self.loaded.device)).loss
        return loss

    def _gold(self, response: str) -> list[int]:
        tokenizer = self.loaded.tokenizer
        if self.continues:
            found = token_ids(tokenizer, f" {response.strip()}")[: self.longest - 1]
            return [*found, tokenizer.eos_token_id]
        ids: list[int] = tokenizer(
            text_target=response, truncation=True, max_length=self.longest)["input_ids"]
        return ids


def train_responder(
    base: str, items: Sequence[GroundedTurn], dev: Sequence[GroundedTurn], folder: str | Path,
    settings: TrainSettings, *, device: str = "auto", report: Report | None = None,
) -> Progress:
    """Trains a responder on reference responses and saves the model with the best dev loss. A call
    with the same arguments resumes an interrupted run. ``report`` gets the negative loss.
    InputError: there are no items, or an item has no response."""
    if not items or not dev:
        raise InputError("the responder needs labelled turns for training and for development")
    for name, some in (("turn", items), ("dev turn", dev)):
        for i, item in enumerate(some):
            if not item.response.strip():
                raise InputError(f"{name} {i} has no response to learn from")
    responder = Responder(base, device=device)

    def loss_of(places: Sequence[int], _rng: random.Random) -> Tensor:
        return responder.loss([items[i] for i in places])

    def judge() -> float:
        size = settings.batch_size
        parts = [dev[at : at + size] for at in range(0, len(dev), size)]
        return -sum(float(responder.loss(part)) * len(part) for part in parts) / len(dev)

    return train(responder.loaded, len(items), loss_of, judge, folder, settings, report)


class TurnReply(NamedTuple):
    """The best snippets for a turn, and the response from the first."""

    ranking: tuple[Ranked, ...]
    response: str


def answer(
    detector: Detector | None, ranker: Ranker, responder: Responder | None,
    dialogues: Sequence[Dialogue], pool: Pool,
) -> list[TurnReply | None]:
    """``None`` for a dialogue whose last turn is not detected as one that needs knowledge. Without
    a detector, each dialogue needs knowledge. Without a responder, the response is the answer of
    the first snippet."""
    asking = [True] * len(dialogues) if detector is None else [
        p > THRESHOLD for p in detector.detect(dialogues)]
    asked = [one for one, asks in zip(dialogues, asking, strict=True) if asks]
    rankings = ranker.rank(asked, pool) if asked else []
    said = respond(responder, asked, [ranking[0].snippet for ranking in rankings])
    answers = iter(TurnReply(tuple(ranking), text)
                   for ranking, text in zip(rankings, said, strict=True))
    return [next(answers) if asks else None for asks in asking]


def respond(
    responder: Responder | None, dialogues: Sequence[Dialogue], snippets: Sequence[Snippet]
) -> list[str]:
    if responder is None:
        return [snippet.answer for snippet in snippets]
    return responder.respond([GroundedTurn(dialogue, snippet) for dialogue, snippet
                              in zip(dialogues, snippets, strict=True)])


def official_scores(
    answers: Sequence[TurnReply | None], labels: Sequence[TurnLabel]
) -> tuple[Scores, str]:
    """DSTC9's scores of all three subtasks, and why METEOR is missing, if it is. A turn that is not
    detected, or wrongly detected, counts against subtasks 2 and 3 too: precision divides the sum
    over the right detections by all detected turns, and recall by all turns that need knowledge.
    Their F1 is the mean over the right detections times the F1 of detection. Without a right
    detection, subtask 1 alone has scores."""
    found = evaluate_detection([float(one is not None) for one in answers],
                               [label.target for label in labels])
    scores: Scores = {
        (1, "precision"): found.precision, (1, "recall"): found.recall, (1, "F1"): found.f1}
    right = [(one, label) for one, label in zip(answers, labels, strict=True)
             if one is not None and label.target]
    if not right:
        return scores, ""
    chosen = evaluate([one.ranking for one, _ in right],
                      [label.knowledge for _, label in right])[OVERALL]
    means = {(2, "MRR@5"): chosen.mrr5, (2, "R@1"): chosen.r1, (2, "R@5"): chosen.r5}
    measured, no_meteor = response_scores(
        [one.response for one, _ in right], [label.response for _, label in right])
    means |= {(3, name): value for name, value in measured.items()}
    return {**scores, **{key: value * found.f1 for key, value in means.items()}}, no_meteor
