"""The loss and the evaluation of the entailment network.

Some examples have one of three labels (entailment, neutral, contradiction). For others, people only
said whether the text supports the claim; such a label allows several of the three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from q2_metric.models.bundled import network as shapes
from q2_metric.models.bundled.encoding import Batch, QueryWindow, Tokenizer, collate, pair
from q2_metric.models.bundled.network import EntailmentNetwork
from tools.training.batches import window
from tools.training.examples import TrainingExample
from tools.training.predict import as_tensor, predict

CLASSES = {
    "supported": (True, False, False),
    "not_enough": (False, True, False),
    "refuted": (False, False, True),
    "not_supported": (False, True, True),
    "not_refuted": (True, True, False),
}
"""The classes (entailment, neutral, contradiction) that each label allows."""


def forward(network: nn.Module, batch: Batch, device: torch.device) -> Tensor:
    """The network's logits for entailment, neutral and contradiction, of shape (batch, 3)."""
    logits: Tensor = network(
        as_tensor(batch.ids, device), as_tensor(batch.types, device),
        as_tensor(batch.lengths, device), as_tensor(batch.query, device),
    ).float()
    return logits


def loss(
    network: nn.Module, rows: Sequence[QueryWindow], examples: Sequence[TrainingExample],
    device: torch.device,
) -> Tensor:
    """The mean loss of a batch.

    If the target of an example is a label, its loss is minus the log of the probability of all
    classes that the label allows. If the target is the probabilities of other networks (teachers),
    the loss is the cross-entropy with these (Hinton et al. 2015).

    Args:
        network: the network.
        rows: the input rows of the examples.
        examples: the examples, with their targets.
        device: the device of the network.
    """
    logits = forward(network, collate(rows), device)
    soft = [not isinstance(example.target, str) for example in examples]
    allowed, said = torch.tensor([
        ((True,) * 3, e.target) if is_soft else (CLASSES[e.target], (0.0,) * 3)
        for e, is_soft in zip(examples, soft, strict=True)], device=device).unbind(1)
    total = logits.logsumexp(-1)
    right = logits.masked_fill(allowed == 0, -1e4).logsumexp(-1)
    # A little label smoothing, because some labels are wrong.
    labelled = 0.95 * (total - right) + 0.05 * (total - logits.mean(-1))
    unlabelled = total - (said * logits).sum(-1)
    return torch.where(torch.tensor(soft, device=device), unlabelled, labelled).mean()


def distilled(
    teacher: EntailmentNetwork, weight: float, network: nn.Module, rows: Sequence[QueryWindow],
    examples: Sequence[TrainingExample], device: torch.device,
) -> Tensor:
    """The loss of a network that reads query and text apart in its lower layers, and learns from
    one that does not (teacher): the mean cross-entropy with the teacher's probabilities. To this
    is added, times ``weight``, how far the states after each upper layer are from the teacher's:
    the mean over the layers of the squared distance, relative to the squared length of the
    teacher's states. The targets of the examples do not count."""
    batch = collate(rows)
    with torch.no_grad(), _upper_states(teacher) as known:
        said = forward(teacher, batch, device).softmax(-1)
    with _upper_states(network) as found:
        logits = forward(network, batch, device)
    value = -(said * logits.log_softmax(-1)).sum(-1).mean()
    places = torch.arange(batch.ids.shape[1], device=device)
    real = (places < as_tensor(batch.lengths, device)[:, None])[..., None].float()
    for mine, theirs in zip(found, known, strict=True):
        counted = real[:, : mine.shape[1]]
        away = ((mine - theirs).square() * counted).sum() / (theirs.square() * counted).sum()
        value = value + weight / len(found) * away
    return value


@contextmanager
def _upper_states(network: nn.Module) -> Iterator[list[Tensor]]:
    """A context that records the states after each layer that reads query and text together."""
    states: list[Tensor] = []
    hooks = [layer.register_forward_hook(lambda _layer, _given, made: states.append(made.float()))
             for layer in network.encoder.layers[shapes.APART :]]  # type: ignore[index, union-attr]
    yield states
    for hook in hooks:
        hook.remove()


def taught(
    examples: Sequence[TrainingExample], teachers: Sequence[nn.Module], tokenizer: Tokenizer,
    device: torch.device, length: int,
) -> list[TrainingExample]:
    """The examples with new targets: the mean probabilities that other networks (teachers) give.

    ``length`` is the maximum number of tokens in a row.
    """
    rows = [window(example, tokenizer, length) for example in examples]
    said = torch.stack([
        torch.stack(predict(teacher.eval(), rows, device, forward)).softmax(-1)
        for teacher in teachers])
    return [replace(example, target=tuple(each))
            for example, each in zip(examples, said.mean(0).tolist(), strict=True)]


def evaluator(examples: Sequence[TrainingExample], tokenizer: Tokenizer, device: torch.device):  # type: ignore[no-untyped-def]
    """Returns a function that evaluates a network on the examples.

    The result contains, by source of the examples, the ROC-AUC of the probability of entailment,
    and the mean over the sources.
    """
    from sklearn.metrics import roc_auc_score

    rows = [
        pair(tokenizer(e.query).cut(0, 128), tokenizer(e.text).cut(0, 300)) for e in examples
    ]

    def evaluate(network: nn.Module) -> dict[str, float]:
        found = predict(network, rows, device, forward)
        groups: dict[str, list[tuple[bool, float]]] = defaultdict(list)
        for logits, example in zip(found, examples, strict=True):
            supported = example.target == "supported"
            score = float(logits.softmax(-1)[0])
            name = example.source
            name = "retold" if name.startswith("retold") else name
            name = "answers" if name.startswith("answers") else name
            groups[name].append((supported, score))
        result = {}
        for name, pairs in sorted(groups.items()):
            if len({label for label, _ in pairs}) == 2 and len(pairs) >= 20:
                result[name] = round(float(roc_auc_score(*zip(*pairs, strict=True))), 3)
        result["mean"] = round(sum(result.values()) / max(1, len(result)), 4)
        return result

    return evaluate
