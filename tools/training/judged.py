"""``python -m tools.training.judged STATE --shape deep``: evaluates SCALE with a network that was
trained but not exported.

Prints the ROC-AUC of SCALE on the development sets, and on sources on which no network was trained.
SCALE has the settings of ``bundled-small``, but judges sentences by the given network. With
``--beside``, SCALE is also evaluated with the mean probabilities of this network and the shipped
networks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from numpy.typing import NDArray

from q2_metric.data.readers import dev_files, read_dev
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import ScaleSettings
from q2_metric.models.bundled import network as shapes
from q2_metric.models.bundled.encoding import Batch
from q2_metric.models.bundled.models import BundledEntailment, forward_of
from q2_metric.types import Example
from tools.training import entailment
from tools.training.examples import read_jsonl
from tools.training.export import averaged
from tools.training.groundedness import LONGEST
from tools.training.predict import bfloat16_is_faster

OTHERS = ("rome1776_wow", "shroom2024", "dstc9_human_accuracy")
SHAPES = {"narrow": shapes.NARROW, "wide": shapes.WIDE, "deep": shapes.DEEP}
Labels = tuple[list[Example], list[bool]]


class TrainedEntailment(BundledEntailment):
    """An NLI model that runs a torch network.

    If ``shipped`` names shipped networks, its probabilities are the mean over all these networks.
    """

    def __init__(self, network: torch.nn.Module, shipped: Sequence[str] = ()) -> None:
        super().__init__(dtype="float32")
        others = [forward_of(name, "cpu", "float32")[0] for name in shipped]
        cpu = torch.device("cpu")

        def chances(batch: Batch) -> NDArray[np.float32]:
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, bfloat16_is_faster(cpu)):
                logits = entailment.forward(network, batch, cpu)
            found: NDArray[np.float32] = logits.softmax(-1).numpy()
            return found

        def forward(batch: Batch) -> NDArray[np.float32]:
            each = [chances(batch)]
            for other in others:
                each.append(torch.from_numpy(other(batch)).softmax(-1).numpy())
            mean: NDArray[np.float32] = np.log(np.mean(each, axis=0).clip(1e-30))
            return mean

        self._forward = forward
        self.name = "trained"


@click.command(help=__doc__)
@click.argument("state", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--shape", type=click.Choice([*SHAPES]), required=True)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness2/; the development sets are found by Q2_DATA_DIR")
@click.option("--rows", default=300, show_default=True, help="maximum number of rows of a set")
@click.option("--beside", is_flag=True,
              help="also evaluate the mean probabilities of this network and the shipped networks")
def main(state: Path, shape: str, data: Path, rows: int, beside: bool) -> None:
    from sklearn.metrics import roc_auc_score

    network = entailment_network(state, shape)
    kinds: dict[str, tuple[str, ...]] = {"alone": ()}
    if beside:
        kinds["beside"] = ("entailment", "wide")
    scales = {kind: scale_with(TrainedEntailment(network, names)) for kind, names in kinds.items()}
    found: dict[str, dict[str, Any]] = {kind: {} for kind in kinds}
    for name, (examples, labels) in sets(data, rows):
        for kind, scale in scales.items():
            values = [0.5 if s.value is None else s.value for s in scale.score(examples)]
            found[kind][name] = round(100 * float(roc_auc_score(labels, values)), 1)
        click.echo(f"{name} ({len(labels)}): {[found[kind][name] for kind in kinds]}")
    click.echo(json.dumps(found))


def entailment_network(state: Path, shape: str) -> torch.nn.Module:
    """Loads an entailment network from a training state: its averaged weights.

    ``shape`` is a key of :data:`SHAPES`. The word vectors are loaded from the base model, because
    they are frozen during training and training states do not contain them.
    """
    from tools.training.base import base_folder, load_base, load_wide_base, wide_base

    network = shapes.EntailmentNetwork(shape=SHAPES[shape])
    if shape == "narrow":
        load_base(network, base_folder())
    else:
        load_wide_base(network, wide_base(state.parents[1]))
    return averaged(network, state).eval()


def scale_with(backbone: BundledEntailment) -> Scale:
    """Makes SCALE as the paper has it, with chunks of ``bundled-small``: without the rules that may
    overrule the network. So two networks can be compared by their scores alone."""
    settings = ScaleSettings(chunk_size=150, top_chunks=4, support="consistent")
    return Scale(backbone, settings, "trained")


def sets(data: Path, rows: int) -> Iterator[tuple[str, Labels]]:
    """Yields (name, (examples, whether each is supported)) of each set, with at most ``rows`` rows.
    """
    for name, path in dev_files().items():
        labelled = read_dev(path, rows)
        yield name, ([row.example for row in labelled], [row.consistent for row in labelled])
    for name in OTHERS:
        found = list(read_jsonl(data / "groundedness2" / f"{name}.jsonl.gz"))
        found = random.Random(5).sample(found, min(rows, len(found)))
        yield name, ([Example(row["hypothesis"], row["premise"][:LONGEST]) for row in found],
                     [row["label"] == "supported" for row in found])


if __name__ == "__main__":
    main()
