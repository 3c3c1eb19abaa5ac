"""The loss and the evaluation of the reader, which finds the start and end of an answer in a text.

If the text has no answer, the reader learns to point to the first token of its input.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from q2_metric.models.bundled.encoding import Batch, QueryWindow, Tokenizer, collate, pair
from q2_metric.models.bundled.models import answer_span
from q2_metric.text.normalise import token_f1
from tools.training.examples import TrainingExample
from tools.training.predict import as_tensor, predict


def forward(network: nn.Module, batch: Batch, device: torch.device) -> Tensor:
    """The reader's logits (batch, length, 2): for each token, that an answer starts there and that
    an answer ends there."""
    logits: Tensor = network(
        as_tensor(batch.ids, device), as_tensor(batch.types, device),
        as_tensor(batch.lengths, device),
    ).float()
    return logits


def place(row: QueryWindow, target: tuple[int, int] | None) -> tuple[int, int]:
    """(first token, last token) of an answer in the input row. (0, 0) if there is no answer.

    ``target`` is the answer's character range in the text.
    """
    if target is None:
        return 0, 0
    inside = [
        i for i, (start, end) in enumerate(row.offsets)
        if start < target[1] and end > target[0]
    ]
    if not inside or row.offsets[inside[-1]][1] < target[1]:
        return 0, 0  # the text was cut, and the answer is not in the row
    return row.text_start + inside[0], row.text_start + inside[-1]


def allowed(rows: Sequence[QueryWindow], length: int) -> Tensor:
    """A mask (batch, length) of the tokens where an answer may start or end: the first token and
    the tokens of the text."""
    mask = torch.zeros((len(rows), length), dtype=torch.bool)
    mask[:, 0] = True
    for i, row in enumerate(rows):
        mask[i, row.text_start : row.text_start + len(row.offsets)] = True
    return mask


def loss(
    network: nn.Module, rows: Sequence[QueryWindow], examples: Sequence[TrainingExample],
    device: torch.device,
) -> Tensor:
    """The mean cross-entropy of the answers' starts and ends.

    Args:
        network: the network.
        rows: the input rows of the examples.
        examples: the examples, with their answers.
        device: the device of the network.
    """
    batch = collate(rows)
    logits = forward(network, batch, device)
    mask = allowed(rows, batch.ids.shape[1]).to(device)
    places = torch.tensor(
        [place(row, example.target) for row, example in zip(rows, examples, strict=True)],
        device=device,
    )
    logits = logits.masked_fill(~mask[:, :, None], -1e4)
    return nn.functional.cross_entropy(logits.transpose(1, 2).reshape(-1, logits.shape[1]),
                                       places.reshape(-1))


def evaluator(examples: Sequence[TrainingExample], tokenizer: Tokenizer, device: torch.device):  # type: ignore[no-untyped-def]
    """Returns a function that evaluates a reader on the examples.

    The result contains the accuracy on questions without an answer ("no_answer"), and for the other
    questions: how often the reader answers ("answered"), F1, and F1 and exact match if it must
    answer ("f1_forced", "exact_forced").
    """
    rows = [
        pair(tokenizer(e.query).cut(0, 64), tokenizer(e.text).cut(0, 320)) for e in examples
    ]

    def evaluate(network: nn.Module) -> dict[str, float]:
        found = predict(network, rows, device, forward)
        sums: dict[str, list[float]] = defaultdict(list)
        for logits, row, example in zip(found, rows, examples, strict=True):
            score, answer = float("-inf"), ""
            if row.offsets:
                best, start, end = answer_span(logits.numpy(), row)
                score, answer = best.score - float(logits[0].sum()), example.text[start:end]
            if example.target is None:
                sums["no_answer"].append(float(score <= 0))
                continue
            gold = example.text[slice(*example.target)]
            f1 = token_f1(answer, gold)
            sums["answered"].append(float(score > 0))
            sums["f1_forced"].append(f1)
            sums["exact_forced"].append(float(f1 == 1.0))
            sums["f1"].append(f1 if score > 0 else 0.0)
        return {key: round(sum(values) / len(values), 4) for key, values in sums.items()}

    return evaluate
