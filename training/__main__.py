"""``python -m training --data FOLDER``: from public data to the shipped weights.

Each network is trained in stages, each from the averaged weights of the one before with a new
schedule and further data: the reader in three; the entailment network in two, and, with both
exported, in two more (the part "comparisons") that add the answers that Q² compares. A run that
was killed goes on after its last save. Two processes may train one network each.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from torch import nn

from training.examples import Example, Source, split
from training.train import Loss, Settings


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: examples of its schedule, and where it was stopped within it."""

    schedule: int
    rate: float = 1.5e-4
    head_rate: float = 6e-4
    warmup: float = 0.02
    length: int = 256
    stop: int | None = None

    def settings(self, scale: float, seed: int) -> Settings:
        return Settings(int(self.schedule * scale), length=self.length, rate=self.rate,
                        head_rate=self.head_rate, warmup=self.warmup, seed=seed)

    def end(self, scale: float) -> int | None:
        return None if self.stop is None else int(self.stop * scale)


READER = (
    Stage(200_000, warmup=0.04, stop=76_000),
    Stage(90_000, rate=1.2e-4),
    Stage(220_000),
)
ENTAILMENT = (
    Stage(225_000, warmup=0.04, stop=123_000),
    Stage(100_000, rate=1.2e-4),
    Stage(50_000, rate=8e-5, head_rate=2e-4, warmup=0.03),
    Stage(300_000, rate=1.4e-4, head_rate=4e-4, length=320, stop=216_000),
)
"""What the shipped weights saw (docs/results/training.md)."""

COMPARED_SHARE = 0.25
"""How many of the examples of the third stage are comparisons."""


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
    from q2_metric.models.bundled.encoding import Tokenizer
    from q2_metric.models.bundled.network import EntailmentNetwork, ReaderNetwork
    from q2_metric.models.bundled.runtimes import WEIGHTS
    from training import entailment, entailment_data, reader, reader_data
    from training.base import base_folder, load_base
    from training.compared import comparisons
    from training.export import averaged, export
    from training.train import train

    if threads:
        torch.set_num_threads(threads)
    base = base_folder()
    tokenizer = Tokenizer(base / "tokenizer.json")
    place = torch.device(device)
    torch.manual_seed(seed)
    networks = ReaderNetwork(), EntailmentNetwork()
    for network in networks:
        load_base(network, base)
    rng = random.Random(0)

    def run(network: nn.Module, stages: tuple[Stage, ...], number: int, name: str,
            data: Sequence[Source], loss: Loss, evaluate: Any) -> None:
        stage = stages[number - 1]
        train(network, data, tokenizer, loss, evaluate,
              stage.settings(scale, seed + number - 1), runs / f"{name}-{number}", place,
              stop=stage.end(scale))

    if part in ("reader", "all"):
        own = reader_data.sources(data / "qa")
        asked = reader_data.asked(data)
        dev = split([*own, *asked])[1]
        dev = [reader_data.shorten(example, rng) for example in rng.sample(dev, 1800)]
        evaluate = reader.evaluator(dev, tokenizer, place)
        more = reader_data.asked(data, seed=3, sentences=20_000)
        for number, sources in enumerate(([], asked, more), start=1):
            run(networks[0], READER, number, "reader", split([*own, *sources])[0], reader.loss,
                evaluate)
    if part in ("entailment", "all"):
        first, dev = split(entailment_data.sources(data))
        second, _ = split(entailment_data.sources(data, seed=1, sentences=20_000))
        groups: dict[str, list[Example]] = defaultdict(list)
        for example in dev:
            groups[example.source].append(example)
        kept = [example for _, group in sorted(groups.items())
                for example in rng.sample(group, min(150, len(group)))]
        score = entailment.evaluator([entailment_data.narrowed(e) for e in kept], tokenizer, place)
        for number, sources in enumerate((first, second), start=1):
            run(networks[1], ENTAILMENT, number, "entailment", sources, entailment.loss, score)

    def write(reader_run: str, entailment_run: str) -> None:
        averaged(networks[0], runs / reader_run / "state.safetensors")
        averaged(networks[1], runs / entailment_run / "state.safetensors")
        export(networks[0], networks[1], base / "tokenizer.json", out or WEIGHTS)
        click.echo(f"wrote {out or WEIGHTS}")

    if part in ("comparisons", "all"):
        write("reader-2", "entailment-2")
        by_source: dict[str, list[Example]] = defaultdict(list)
        for claim in entailment_data.claims(data):
            by_source[claim.source].append(claim)
        pairs = [claim for _, group in sorted(by_source.items())
                 for claim in rng.sample(group, min(3200, len(group)))]
        pairs += entailment_data.retold(data / "qa", random.Random(21), 2600).examples
        q2 = Q2.from_preset("bundled", nli=False, fallback=False)
        compared = comparisons(pairs, q2)
        new, dev = split([compared])
        old, _ = split(entailment_data.sources(data, seed=2, sentences=8000))
        count = int(ENTAILMENT[2].schedule * scale)

        def rated(some: list[Source], share: float) -> list[Source]:
            total = sum(source.rate * len(source.examples) for source in some)
            return [Source(s.name, s.rate * share * count / total, s.examples, s.augment)
                    for s in some]

        mixed = rated(new, COMPARED_SHARE) + rated(old, 1 - COMPARED_SHARE)
        score = entailment.evaluator(dev, tokenizer, place)
        run(networks[1], ENTAILMENT, 3, "entailment", mixed, entailment.loss, score)
        last = [*entailment_data.sources(data, seed=3, rates=entailment_data.LAST_RATES),
                Source(compared.name, 1.0, compared.examples)]
        run(networks[1], ENTAILMENT, 4, "entailment", split(last)[0], entailment.loss, score)
    if part in ("export", "all"):
        write("reader-3", "entailment-4")


if __name__ == "__main__":
    main()
