"""The parts of the training recipe: how each stage of each network is trained, and on which data.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from q2_metric.metrics.q2 import Q2
from q2_metric.models.bundled import network as shapes
from q2_metric.models.bundled.encoding import Tokenizer
from q2_metric.models.bundled.network import EntailmentNetwork, ReaderNetwork
from q2_metric.models.bundled.stored import WEIGHTS
from tools.training import (
    check_worthiness,
    entailment,
    entailment_data,
    ranges,
    rates,
    reader,
    reader_data,
    reading,
)
from tools.training.base import base_folder, load_base, load_wide_base, wide_base
from tools.training.compared import comparisons
from tools.training.examples import ExampleSource, TrainingExample, split
from tools.training.export import averaged, export
from tools.training.stages import (
    ASKED_SEED,
    COMPARED_SHARE,
    CONTRASTED_FROZEN,
    CONTRASTED_SEED,
    DEEP,
    DEEP_FROZEN,
    ENTAILMENT,
    GENERAL_DROPOUT,
    GENERAL_FROZEN,
    GENERAL_SEED,
    NARROW,
    ONCE,
    ONCE_GENERAL,
    ONCE_SEED,
    ONCE_STATES,
    ONCE_UNLABELLED_SEED,
    READER,
    READING,
    READING_AGAIN_SEED,
    READING_HUMAN_SHARE,
    READING_NINE_AGAIN_SEED,
    READING_NINE_FROZEN,
    READING_NINE_SEED,
    READING_SECOND_SEED,
    READING_SEED,
    READING_SHARE,
    READING_WIDE_FROZEN,
    REORDERED_SEED,
    STATEMENT,
    STATEMENT_SEED,
    UNANSWERED_FROZEN,
    UNANSWERED_SEED,
    UNLABELLED,
    UNLABELLED_LAST,
    UNLABELLED_LAST_RATE,
    UNLABELLED_RATE,
    WIDE,
    WIDE_FROZEN,
    WIDTH_SEED,
    TrainingStage,
)
from tools.training.train import STATE, Evaluate, Loss, train


@dataclass(slots=True)
class Recipe:
    """A run of the recipe.

    - ``data``, ``runs``, ``out``: folders of the training data, of the training states and logs,
      and of the exported weights.
    - ``scale``: factor for the number of training examples; 1 as for the shipped weights.
    - ``device``, ``seed``: device and seed of the training.
    - ``tokenizer_file``: file of the tokenizer.
    - ``reader``, ``entailment``: the networks after the stages so far.
    """

    data: Path
    runs: Path
    out: Path
    scale: float
    device: torch.device
    seed: int
    tokenizer_file: Path = WEIGHTS / "tokenizer.json"
    reader: ReaderNetwork = field(default_factory=ReaderNetwork)
    entailment: EntailmentNetwork = field(default_factory=EntailmentNetwork)

    def start_from_base(self) -> None:
        """Loads the tokenizer and the weights of the base model into both networks. Their heads are
        new."""
        base = base_folder()
        self.tokenizer_file = base / "tokenizer.json"
        torch.manual_seed(self.seed)
        self.reader, self.entailment = ReaderNetwork(), EntailmentNetwork()
        load_base(self.reader, base)
        load_base(self.entailment, base)

    def train_reader(self) -> None:
        """Trains the reader, stages 1 to 3."""
        rng = random.Random(0)
        own = reader_data.sources(self.data / "qa")
        asked = reader_data.asked(self.data)
        dev = split([*own, *asked])[1]
        dev = [reader_data.shorten(example, rng) for example in rng.sample(dev, 1800)]
        evaluate = reader.evaluator(dev, self._tokenizer(), self.device)
        more = reader_data.asked(self.data, seed=3, sentences=20_000)
        for number, further in enumerate(([], asked, more), start=1):
            sources, _ = split([*own, *further])
            self._run(self.reader, READER[number - 1], f"reader-{number}", sources, reader.loss,
                      self.seed + number - 1, evaluate)

    def train_entailment(self) -> None:
        """Trains the entailment network, stages 1 and 2."""
        first, dev = split(entailment_data.sources(self.data))
        second, _ = split(entailment_data.sources(self.data, seed=1, sentences=20_000))
        kept = [entailment_data.narrowed(row) for row in _sampled(dev, 150, random.Random(0))]
        for number, sources in enumerate((first, second), start=1):
            self._entail(number, sources, kept)

    def train_comparisons(self) -> None:
        """Trains the entailment network, stages 3 and 4. They add pairs of answers that Q²
        compares. Q² runs with the networks of stage 2."""
        self.write("reader-2", "entailment-2")
        claims = _sampled(entailment_data.claims(self.data), 3200, random.Random(0))
        claims += entailment_data.retold(self.data / "qa", random.Random(21), 2600).examples
        compared = comparisons(claims, Q2.from_preset("bundled", nli=False, fallback=False))
        new, dev = split([compared])
        old, _ = split(entailment_data.sources(self.data, seed=2, sentences=8000))
        count = int(ENTAILMENT[2].schedule * self.scale)
        mixed = _rated(new, COMPARED_SHARE * count) + _rated(old, (1 - COMPARED_SHARE) * count)
        self._entail(3, mixed, dev)
        last = [
            *entailment_data.sources(self.data, seed=3, rates=rates.LAST_RATES),
            ExampleSource(compared.name, 1.0, compared.examples),
        ]
        self._entail(4, split(last)[0], dev)

    def train_general(self) -> None:
        """Trains the entailment network in its stage 5, from the shipped weights.

        The stage has many new rows, each seen about once.
        """
        self._train_on(5, entailment_data.general(self.data), GENERAL_SEED, GENERAL_FROZEN)

    def train_contrasted(self) -> None:
        """Trains the entailment network in its stage 6.

        The stage has more pairs in which people changed a sentence a little to change its label.
        """
        sources = entailment_data.general(self.data, rates.CONTRASTED_RATES, 6)
        self._train_on(6, sources, CONTRASTED_SEED, CONTRASTED_FROZEN)

    def train_reordered(self) -> None:
        """Trains the entailment network in its stage 7.

        The stage has more reordered sentences, pairs of answers and summaries.
        """
        sources = entailment_data.with_other_orders(self.data)
        self._train_on(7, sources, REORDERED_SEED, CONTRASTED_FROZEN)

    def train_narrow(self) -> None:
        """Trains a small entailment network from its base model, on the data of the wide network's
        first stage."""
        network = _new(shapes.NARROW)
        load_base(network, base_folder())
        self._run(network, NARROW, "entailment-narrow", self._of_widths(), entailment.loss,
                  WIDTH_SEED)

    def train_deep(self) -> None:
        """Trains a network with all twelve layers of MPNet, on the data of the wide network's first
        stage."""
        network = _new(shapes.DEEP)
        load_wide_base(network, wide_base(self.runs))
        freeze_below(network, DEEP_FROZEN)
        self._run(network, DEEP, "entailment-deep", self._of_widths(), entailment.loss,
                  WIDTH_SEED)

    def train_wide(self) -> None:
        """Trains the wide entailment network (six layers of MPNet) in its stages 1 and 2.

        Stage 2 adds reordered sentences, and model responses without labels. For these, the network
        learns the mean probabilities of the small network and of the wide network after stage 1.
        """
        network = _new(shapes.WIDE)
        load_wide_base(network, wide_base(self.runs))
        self._run(network, WIDE[0], "entailment-wide-1", self._of_widths(), entailment.loss,
                  WIDTH_SEED)
        sources = split(entailment_data.with_other_orders(
            self.data, rates.WIDE_RATES, 9, replayed=rates.WIDE_SUMMARISED_RATES))[0]
        said = self._said(WIDTH_SEED, network, WIDE[1].length, UNLABELLED, UNLABELLED_RATE)
        self._run(network, WIDE[1], "entailment-wide-2", [*sources, said], entailment.loss,
                  WIDTH_SEED + 1)

    def train_wide_again(self) -> None:
        """Trains the wide network in its stage 3, on other rows of the same sources.

        For unlabelled responses, it learns the mean probabilities of the two shipped networks.
        """
        self._train_wide_on(3, 10, WIDTH_SEED + 1, UNLABELLED, UNLABELLED_RATE)

    def train_wide_on(self) -> None:
        """Trains the wide network in its stage 4, on four times as many rows as in stage 3."""
        self._train_wide_on(4, 11, WIDTH_SEED + 3, UNLABELLED_LAST, UNLABELLED_LAST_RATE)

    def train_reading(self, stage: str, seed: int = READING_SEED) -> None:
        """Trains a shipped network on written claims and on human sources that word overlap does
        not decide. ``stage`` is a key of ``READING``; it begins with the name of the network, and
        ends with "second" if it has the second part of the claims."""
        name = stage.split("-")[0]
        sources = (reading.sources(self.data, reading.SECOND, READING_HUMAN_SHARE)
                   if stage.endswith("second") else reading.sources(self.data))
        network = shipped_entailment(GENERAL_DROPOUT, name)
        if name == "wide":
            freeze_below(network, READING_WIDE_FROZEN)
        self._run(network, READING[stage], f"{stage}-reading", split(sources)[0],
                  entailment.loss, seed, reading.evaluator(self._tokenizer(), self.device))

    def train_nine(self, again: bool = False) -> None:
        """Trains a network of nine layers on all written claims and the human sources. It starts
        from the shipped wide network, with the layers 7 to 9 of MPNet on top; ``again`` from where
        that ended, with other draws."""
        network = EntailmentNetwork(GENERAL_DROPOUT, shapes.NINE)
        load_wide_base(network, wide_base(self.runs))
        network.load_state_dict(shipped_entailment(name="wide").state_dict(), strict=False)
        if again:
            averaged(network, self.runs / "nine-reading" / STATE)
        freeze_below(network, READING_NINE_FROZEN)
        stage, seed = (("nine-again", READING_NINE_AGAIN_SEED) if again
                       else ("nine", READING_NINE_SEED))
        self._run(network, READING[stage], f"{stage}-reading", self._all_written(),
                  entailment.loss, seed, reading.evaluator(self._tokenizer(), self.device))

    def train_once(self) -> None:
        """Trains the shipped small network to read claim and text apart in its lower layers, in
        three stages. Its targets are the probabilities that it gives now, and its states."""
        unlabelled = entailment_data.unlabelled(self.data, UNLABELLED, ONCE_UNLABELLED_SEED)
        sources = [*self._all_written(), ExampleSource("unlabelled", 1.0, unlabelled)]
        more = _rated(self._of_widths(), ONCE_GENERAL)
        network, teacher = reading_once(GENERAL_DROPOUT), shipped_entailment().eval()
        for number, (stage, weight) in enumerate(zip(ONCE, ONCE_STATES, strict=True), start=1):
            self._run(network, stage, f"entailment-once-{number}",
                      [*more, *sources] if number == len(ONCE) else sources,
                      partial(entailment.distilled, teacher, weight), ONCE_SEED + number - 1,
                      reading.evaluator(self._tokenizer(), self.device))

    def write_once(self) -> None:
        """Exports the small network after :meth:`train_once`. The others do not change."""
        network = reading_once()
        averaged(network, self.runs / f"entailment-once-{len(ONCE)}" / STATE)
        self._export({"entailment": network})

    def train_statement(self) -> None:
        """Trains the network that tells statements from chat and refusals, from the lower layers of
        the shipped small network."""
        torch.manual_seed(STATEMENT_SEED)
        network = EntailmentNetwork(GENERAL_DROPOUT, shapes.SHAPES["statement"])
        before, new = shipped_entailment().state_dict(), network.state_dict()
        network.load_state_dict({
            name: before[name] if name.startswith("encoder.") else value
            for name, value in new.items()})
        self._run(network, STATEMENT, "statement", check_worthiness.sources(self.data),
                  entailment.loss, STATEMENT_SEED,
                  check_worthiness.evaluator(self._tokenizer(), self.device))

    def write_statement(self) -> None:
        """Exports the network of :meth:`train_statement`. The others do not change."""
        network = EntailmentNetwork(shape=shapes.SHAPES["statement"])
        network.encoder.words.load_state_dict(shipped_entailment().encoder.words.state_dict())
        averaged(network, self.runs / "statement" / STATE)
        self._export({"statement": network})

    def _all_written(self) -> list[ExampleSource]:
        """All written claims, and the human sources."""
        sources = [*reading.sources(self.data), *reading.sources(self.data, reading.SECOND, 0.0)]
        return split([source for source in sources if source.rate])[0]

    def train_unanswered(self) -> None:
        """Trains the reader in its stage 4, to leave questions unanswered.

        The stage has questions without an answer that are similar to answered questions.
        """
        made = reader_data.contrasted(self.data)
        human = split(reader_data.sources(self.data / "qa"))[0]
        sources = reader_data.in_shares(human, made, int(READER[3].schedule * self.scale))
        self.reader = shipped_reader(GENERAL_DROPOUT)
        freeze_below(self.reader, UNANSWERED_FROZEN)
        self._run(self.reader, READER[3], "reader-4", sources, reader.loss, UNANSWERED_SEED)

    def train_asked(self) -> None:
        """Trains the shipped reader in its stage 5, on questions about the written documents."""
        human = split(reader_data.sources(self.data / "qa"))[0]
        made, dev = split(reader_data.written())
        count = int(READER[4].schedule * self.scale)
        self._run(shipped_reader(GENERAL_DROPOUT), READER[4], "reader-5",
                  reader_data.in_shares(human, made, count, reader_data.WRITTEN_SHARES),
                  reader.loss, ASKED_SEED, reader.evaluator(dev, self._tokenizer(), self.device))

    def write(self, reader_run: str, entailment_run: str) -> None:
        """Exports the averaged weights of two training runs: one of the reader, and one of the
        entailment network. The arguments are the names of the runs.

        Raises:
            FileNotFoundError: a run has no saved state.
        """
        averaged(self.reader, self.runs / reader_run / STATE)
        averaged(self.entailment, self.runs / entailment_run / STATE)
        self._export({"reader": self.reader, "entailment": self.entailment})

    def write_shipped(self, run: str, share: float = 1.0) -> None:
        """Exports the network of a training run that started from the shipped weights.

        The name of the run begins with the name of the network. The other networks do not change.
        The exported weights are a mean of those before the run and after it (Wortsman et al. 2022,
        arXiv 2109.01903), in which the new ones have this share.
        """
        name = run.split("-")[0]
        network = shipped_reader() if name == "reader" else shipped_entailment(name=name)
        before = {key: value.clone() for key, value in network.state_dict().items()}
        averaged(network, self.runs / run / STATE)
        with torch.no_grad():
            for key, value in network.state_dict().items():
                value.lerp_(before[key], 1 - share)
        self._export({name: network})

    def write_wide(self) -> None:
        """Exports the wide network after its stage 2. The other networks do not change."""
        network = _new(shapes.WIDE)
        load_wide_base(network, wide_base(self.runs))
        averaged(network, self.runs / "entailment-wide-2" / STATE)
        self._export({"wide": network})

    def _export(self, networks: Mapping[str, ranges.Network]) -> None:
        measured = {name: ranges.ranges(
            network, ranges.windows(self.data, name, self._tokenizer()))
            for name, network in networks.items()}
        export(networks, measured, self.tokenizer_file, self.out)

    def _train_on(
        self, number: int, sources: Sequence[ExampleSource], seed: int, frozen: int
    ) -> None:
        """Trains a stage of the entailment network from the shipped weights, with dropout.

        ``number`` is the number of the stage. The lowest ``frozen`` layers are not trained.
        """
        self.entailment = shipped_entailment(GENERAL_DROPOUT)
        freeze_below(self.entailment, frozen)
        self._run(self.entailment, ENTAILMENT[number - 1], f"entailment-{number}",
                  split(sources)[0], entailment.loss, seed)

    def _train_wide_on(
        self, number: int, drawn: int, seed: int, count: int, rate: float
    ) -> None:
        """Trains a stage of the wide network from the shipped weights. Its lower layers are frozen.

        ``number`` is that of the stage, ``drawn`` the seed for drawing its examples. ``count``
        unlabelled responses are added at the rate ``rate``; shipped networks give their targets.
        """
        network, stage = shipped_entailment(GENERAL_DROPOUT, "wide"), WIDE[number - 1]
        sources = split(entailment_data.with_other_orders(
            self.data, rates.WIDE_RATES, drawn, replayed=rates.WIDE_SUMMARISED_RATES))[0]
        said = self._said(seed, network, stage.length, count, rate)
        freeze_below(network, WIDE_FROZEN)
        self._run(network, stage, f"wide-{number}", [*sources, said], entailment.loss, seed + 1)

    def _said(self, seed: int, wide: EntailmentNetwork, length: int, count: int,
              rate: float) -> ExampleSource:
        """A source of ``count`` unlabelled responses. Their targets are the mean probabilities of
        the shipped small network and of ``wide``. They are saved, so that a resumed run reads them.
        """
        examples = entailment_data.unlabelled(self.data, count, seed)
        kept = self.runs / f"said-{seed}.json"
        if kept.exists():
            targets = json.loads(kept.read_text())
            taught = [replace(example, target=tuple(target))
                      for example, target in zip(examples, targets, strict=True)]
        else:
            taught = entailment.taught(
                examples, (shipped_entailment(), wide), self._tokenizer(), self.device, length)
            kept.write_text(json.dumps([example.target for example in taught]))
        return ExampleSource("unlabelled", rate, taught)

    def _of_widths(self) -> list[ExampleSource]:
        return split(entailment_data.general(
            self.data, rates.WIDE_RATES, 8, replayed=rates.WIDE_REPLAYED_RATES))[0]

    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self.tokenizer_file)

    def _entail(
        self, number: int, sources: Sequence[ExampleSource], dev: Sequence[TrainingExample]
    ) -> None:
        evaluate = entailment.evaluator(dev, self._tokenizer(), self.device)
        self._run(self.entailment, ENTAILMENT[number - 1], f"entailment-{number}", sources,
                  entailment.loss, self.seed + number - 1, evaluate)

    def _run(self, network: nn.Module, stage: TrainingStage, name: str,
             sources: Sequence[ExampleSource], loss: Loss, seed: int,
             evaluate: Evaluate = lambda _: {}) -> None:
        """Trains a stage in the folder ``runs/name``. ``evaluate`` evaluates the network during the
        training."""
        torch.manual_seed(seed)
        train(network, sources, self._tokenizer(), loss, evaluate,
              stage.settings(self.scale, seed), self.runs / name, self.device,
              stop=stage.end(self.scale))


PARTS: dict[str, Callable[[Recipe], None]] = {
    "reader": Recipe.train_reader,
    "entailment": Recipe.train_entailment,
    "comparisons": Recipe.train_comparisons,
    "export": lambda recipe: recipe.write("reader-3", "entailment-4"),
    "general": Recipe.train_general,
    "export-general": lambda recipe: recipe.write_shipped("entailment-5"),
    "contrasted": Recipe.train_contrasted,
    "export-contrasted": lambda recipe: recipe.write_shipped("entailment-6"),
    "reordered": Recipe.train_reordered,
    "export-reordered": lambda recipe: recipe.write_shipped("entailment-7"),
    "unanswered": Recipe.train_unanswered,
    "export-unanswered": lambda recipe: recipe.write_shipped("reader-4"),
    "asked": Recipe.train_asked,
    "export-asked": lambda recipe: recipe.write_shipped("reader-5"),
    "reading-nine": Recipe.train_nine,
    "reading-nine-again": lambda recipe: recipe.train_nine(again=True),
    "narrow": Recipe.train_narrow,
    "deep": Recipe.train_deep,
    "wide": Recipe.train_wide,
    "export-wide": Recipe.write_wide,
    "wide-again": Recipe.train_wide_again,
    "export-wide-again": lambda recipe: recipe.write_shipped("wide-3"),
    "wide-on": Recipe.train_wide_on,
    "export-wide-on": lambda recipe: recipe.write_shipped("wide-4"),
    "reading": lambda recipe: recipe.train_reading("entailment"),
    "export-reading": lambda recipe: recipe.write_shipped("entailment-reading", READING_SHARE),
    "reading-wide": lambda recipe: recipe.train_reading("wide"),
    "export-reading-wide": lambda recipe: recipe.write_shipped("wide-reading"),
    "reading-wide-again": lambda recipe: recipe.train_reading("wide-again", READING_AGAIN_SEED),
    "export-reading-wide-again": lambda recipe: recipe.write_shipped(
        "wide-again-reading", READING_SHARE),
    "once": Recipe.train_once,
    "export-once": Recipe.write_once,
    "statement": Recipe.train_statement,
    "export-statement": Recipe.write_statement,
    "reading-wide-second": lambda recipe: recipe.train_reading("wide-second", READING_SECOND_SEED),
    "export-reading-wide-second": lambda recipe: recipe.write_shipped(
        "wide-second-reading", READING_SHARE),
}
"""By name, all parts in order, including those that were only tried
(:mod:`tools.training.__main__`)."""
FROM_BASE = ("all", "reader", "entailment", "comparisons", "export")
"""Parts before which :meth:`Recipe.start_from_base` is called. The others load shipped weights."""


def shipped_entailment(dropout: float = 0.0, name: str = "entailment") -> EntailmentNetwork:
    """Makes an entailment network with the shipped weights."""
    network = EntailmentNetwork(dropout, shapes.shape_of(name))
    shapes.load(network, name)
    return network


def reading_once(dropout: float = 0.0) -> EntailmentNetwork:
    """A small network whose lower layers read claim and text apart, with the shipped weights of one
    whose layers do not. What the types add where both are joined starts as in the embeddings."""
    network = EntailmentNetwork(dropout, replace(shapes.NARROW, apart=shapes.APART))
    before = shipped_entailment().state_dict()
    network.load_state_dict({"encoder.join.weight": before["encoder.types.weight"]} | before)
    return network


def shipped_reader(dropout: float = 0.0) -> ReaderNetwork:
    """Makes the reader with the shipped weights."""
    network = ReaderNetwork(dropout, shapes.SHAPES["reader"])
    shapes.load(network, "reader")
    return network


def _new(shape: shapes.Shape) -> EntailmentNetwork:
    """Makes a network of this shape, into which the weights of a base model are loaded later. Its
    heads always start from the same values."""
    torch.manual_seed(WIDTH_SEED)
    return EntailmentNetwork(GENERAL_DROPOUT, shape)


def freeze_below(network: EntailmentNetwork | ReaderNetwork, layers: int) -> None:
    """Freezes the embeddings and the lowest ``layers`` layers, so that they are not trained."""
    encoder = network.encoder
    below = (encoder.positions, encoder.types, encoder.distances, encoder.norm)
    for part in (*below, *encoder.layers[:layers]):
        if part is not None:
            part.requires_grad_(False)


def _sampled(
    examples: Iterable[TrainingExample], most: int, rng: random.Random
) -> list[TrainingExample]:
    """At most ``most`` random examples of each source."""
    groups: dict[str, list[TrainingExample]] = defaultdict(list)
    for example in examples:
        groups[example.source].append(example)
    return [example for _, group in sorted(groups.items())
            for example in rng.sample(group, min(most, len(group)))]


def _rated(sources: Sequence[ExampleSource], count: float) -> list[ExampleSource]:
    """The sources with their rates multiplied by a factor, so that an epoch contains ``count`` of
    their examples."""
    total = sum(source.rate * len(source.examples) for source in sources)
    return [ExampleSource(s.name, s.rate * count / total, s.examples, s.augment) for s in sources]
