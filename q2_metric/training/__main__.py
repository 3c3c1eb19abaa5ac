"""``python -m q2_metric.training --data FOLDER``: from public data to the shipped weights.

Each network is trained in two stages: the first within a long schedule, the second, with
further data, from the averaged weights of the first down to a learning rate of zero. With both
exported, the part "comparisons" trains the entailment network further on the answers that Q²
compares. A run that was killed goes on after its last save. Two processes may train one network
each.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import click


@dataclass(frozen=True, slots=True)
class Stages:
    """Examples of a network's stages: schedule and end of the first, length of the second."""

    schedule: int
    first: int
    second: int


READER = Stages(schedule=200_000, first=76_000, second=90_000)
ENTAILMENT = Stages(schedule=225_000, first=123_000, second=100_000)
"""What the shipped weights saw (docs/results/training.md)."""

SECOND_RATE, SECOND_WARMUP = 1.2e-4, 0.02
COMPARED = 50_000
COMPARED_SHARE = 0.25
"""Examples of the part "comparisons", and how many of them are comparisons."""


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness/, qa/, snli_*.tsv, begin_*.tsv")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="where states and logs are kept")
@click.option("--part", type=click.Choice(
    ["reader", "entailment", "comparisons", "export", "all"]),
              default="all", show_default=True)
@click.option("--scale", default=1.0, show_default=True,
              help="times the examples of the shipped weights")
@click.option("--device", default="cpu", show_default=True)
@click.option("--threads", default=0, help="of torch; 0: all")
@click.option("--seed", default=13, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="where the exported files go; the package's own folder by default")
def main(data: Path, runs: Path, part: str, scale: float, device: str, threads: int, seed: int,
         out: Path | None) -> None:
    import torch

    from q2_metric.metrics.q2 import Q2
    from q2_metric.models.bundled import WEIGHTS
    from q2_metric.models.encoding import Tokeniser
    from q2_metric.models.network import EntailmentNetwork, ReaderNetwork
    from q2_metric.training import entailment, entailment_data, reader, reader_data
    from q2_metric.training.base import base_folder, load_base
    from q2_metric.training.compared import comparisons
    from q2_metric.training.examples import Example, Source, split
    from q2_metric.training.export import averaged, export
    from q2_metric.training.train import Settings, train

    if threads:
        torch.set_num_threads(threads)
    base = base_folder()
    tokeniser = Tokeniser(base / "tokenizer.json")
    place = torch.device(device)
    torch.manual_seed(seed)
    networks = ReaderNetwork(), EntailmentNetwork()
    for network in networks:
        load_base(network, base)
    rng = random.Random(0)

    def settings(stages: Stages, stage: int) -> Settings:
        if stage == 1:
            return Settings(int(stages.schedule * scale), seed=seed)
        return Settings(int(stages.second * scale), seed=seed + 1, rate=SECOND_RATE,
                        warmup=SECOND_WARMUP)

    if part in ("reader", "all"):
        first = reader_data.sources(data / "qa")
        second, dev = split([*first, *reader_data.asked(data)])
        first, _ = split(first)
        dev = [reader_data.shorten(example, rng) for example in rng.sample(dev, 1800)]
        evaluate = reader.evaluator(dev, tokeniser, place)
        train(networks[0], first, tokeniser, reader.loss, evaluate, settings(READER, 1),
              runs / "reader-1", place, stop=int(READER.first * scale))
        train(networks[0], second, tokeniser, reader.loss, evaluate, settings(READER, 2),
              runs / "reader", place)
    if part in ("entailment", "all"):
        first, dev = split(entailment_data.sources(data))
        second, _ = split(entailment_data.sources(data, seed=1, sentences=20_000))
        groups: dict[str, list[Example]] = defaultdict(list)
        for example in dev:
            groups[example.source].append(example)
        kept = [example for _, group in sorted(groups.items())
                for example in rng.sample(group, min(150, len(group)))]
        score = entailment.evaluator([entailment_data.narrowed(e) for e in kept], tokeniser, place)
        train(networks[1], first, tokeniser, entailment.loss, score, settings(ENTAILMENT, 1),
              runs / "entailment-1", place, stop=int(ENTAILMENT.first * scale))
        train(networks[1], second, tokeniser, entailment.loss, score, settings(ENTAILMENT, 2),
              runs / "entailment", place)

    def write(entailment_run: str) -> None:
        averaged(networks[0], runs / "reader" / "state.safetensors")
        averaged(networks[1], runs / entailment_run / "state.safetensors")
        export(networks[0], networks[1], base / "tokenizer.json", out or WEIGHTS)
        click.echo(f"wrote {out or WEIGHTS}")

    if part in ("comparisons", "all"):
        write("entailment")
        by_source: dict[str, list[Example]] = defaultdict(list)
        for claim in entailment_data.claims(data):
            by_source[claim.source].append(claim)
        pairs = [claim for _, group in sorted(by_source.items())
                 for claim in rng.sample(group, min(3200, len(group)))]
        pairs += entailment_data.retold(data / "qa", random.Random(21), 2600).examples
        q2 = Q2.from_preset("bundled", nli=False, fallback=False)
        new, dev = split([comparisons(pairs, q2)])
        old, _ = split(entailment_data.sources(data, seed=2, sentences=8000))
        count = int(COMPARED * scale)

        def rated(some: list[Source], share: float) -> list[Source]:
            total = sum(source.rate * len(source.examples) for source in some)
            return [Source(s.name, s.rate * share * count / total, s.examples, s.augment)
                    for s in some]

        mixed = rated(new, COMPARED_SHARE) + rated(old, 1 - COMPARED_SHARE)
        train(networks[1], mixed, tokeniser, entailment.loss,
              entailment.evaluator(dev, tokeniser, place),
              Settings(count, seed=seed + 2, rate=8e-5, head_rate=2e-4, warmup=0.03),
              runs / "entailment-3", place)
    if part in ("export", "all"):
        write("entailment-3" if (runs / "entailment-3").exists() else "entailment")


if __name__ == "__main__":
    main()
