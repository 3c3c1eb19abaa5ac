"""``python -m q2_metric.training --data FOLDER``: from public data to the shipped weights.

Trains the reader and the entailment network one after the other (or one of them, so that
two processes may share a machine), then exports both. Each run goes on after a kill.
"""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import click


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness/, qa/, snli_*.tsv, begin_*.tsv")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="where states and logs are kept")
@click.option("--part", type=click.Choice(["reader", "entailment", "export", "all"]),
              default="all", show_default=True)
@click.option("--reader-examples", default=200_000, show_default=True)
@click.option("--entailment-examples", default=225_000, show_default=True)
@click.option("--device", default="cpu", show_default=True)
@click.option("--threads", default=0, help="of torch; 0: all")
@click.option("--seed", default=13, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="where the exported files go; the package's own folder by default")
def main(data: Path, runs: Path, part: str, reader_examples: int, entailment_examples: int,
         device: str, threads: int, seed: int, out: Path | None) -> None:
    import torch

    from q2_metric.models.bundled import WEIGHTS
    from q2_metric.models.encoding import Tokeniser
    from q2_metric.models.network import EntailmentNetwork, ReaderNetwork
    from q2_metric.training import entailment, entailment_data, reader, reader_data
    from q2_metric.training.base import base_folder, load_base
    from q2_metric.training.examples import Example, split
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

    if part in ("reader", "all"):
        sources, dev = split(reader_data.sources(data / "qa"))
        rng = random.Random(0)
        dev = [reader_data.shorten(example, rng) for example in rng.sample(dev, 1200)]
        train(networks[0], sources, tokeniser, reader.loss,
              reader.evaluator(dev, tokeniser, place),
              Settings(reader_examples, seed=seed), runs / "reader", place)
    if part in ("entailment", "all"):
        sources, dev = split(entailment_data.sources(data))
        rng = random.Random(0)
        groups: dict[str, list[Example]] = defaultdict(list)
        for example in dev:
            groups[example.source].append(example)
        kept = [example for _, group in sorted(groups.items())
                for example in rng.sample(group, min(150, len(group)))]
        train(networks[1], sources, tokeniser, entailment.loss,
              entailment.evaluator([entailment_data.narrowed(e) for e in kept], tokeniser, place),
              Settings(entailment_examples, seed=seed), runs / "entailment", place)
    if part in ("export", "all"):
        averaged(networks[0], runs / "reader" / "state.safetensors")
        averaged(networks[1], runs / "entailment" / "state.safetensors")
        export(networks[0], networks[1], base / "tokenizer.json", out or WEIGHTS)
        click.echo(f"wrote {out or WEIGHTS}")


if __name__ == "__main__":
    main()
