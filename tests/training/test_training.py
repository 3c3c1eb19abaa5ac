"""The recipe: what it learns from, and that a killed run goes on as if nothing happened."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import random
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from q2_metric.models.bundled import models as bundled  # noqa: E402
from q2_metric.models.bundled.encoding import collate, pair  # noqa: E402
from q2_metric.models.bundled.stored import TABLES, WEIGHTS  # noqa: E402
from tools.training import (  # noqa: E402
    groundedness,
    rates,
    reader,
    reader_data,
    reading,
    recipe,
    stages,
)
from tools.training import train as train_module  # noqa: E402
from tools.training.__main__ import SHIPPED, TRIED  # noqa: E402
from tools.training.asked import find  # noqa: E402
from tools.training.entailment import distilled  # noqa: E402
from tools.training.entailment import loss as entailment_loss  # noqa: E402
from tools.training.entailment_data import Surroundings, change_number, english, narrow  # noqa: E402
from tools.training.examples import ExampleSource, TrainingExample, draw, held_out, split  # noqa: E402
from tools.training.learner import Learner  # noqa: E402
from tools.training.reordered import reordered  # noqa: E402
from tools.training.train import TrainingSchedule, train  # noqa: E402

PASSAGE = "Ann was born in 1954. She moved to Rome. In 1980 she opened a shop. It sold hats."


def test_shortening_keeps_the_answer() -> None:
    start = PASSAGE.index("1980")
    example = TrainingExample("When did she open a shop?", PASSAGE, (start, start + 4), "s")
    rng = random.Random(0)
    texts = set()
    for _ in range(100):
        short = reader_data.shorten(example, rng)
        assert short.text[slice(*short.target)] == "1980"
        texts.add(short.text)
    assert len(texts) > 2


def test_surroundings_keep_the_premise_and_stay_in_its_passage() -> None:
    premise = "In 1980 she opened a shop."
    example = TrainingExample("she opened a shop .", premise, "supported", "s")
    around, rng = Surroundings({premise: PASSAGE}, share=1.0), random.Random(0)
    texts = {around(example, rng).text for _ in range(50)}
    assert all(premise in text and text in PASSAGE for text in texts)
    assert PASSAGE in texts
    other = TrainingExample("q", "not of a passage", "supported", "s")
    assert around(other, rng) is other


def test_places_of_answers_in_tokens() -> None:
    tokenise = bundled.tokenizer()
    row = pair(tokenise("When?"), tokenise("Ann was born in 1954."))
    assert reader.place(row, None) == (0, 0)
    first, last = reader.place(row, (16, 20))
    assert row.offsets[first - row.text_start][0] == 16
    assert row.offsets[last - row.text_start][1] == 20
    assert reader.place(row, (16, 99)) == (0, 0), "an answer cut off is no answer"


def test_development_texts_are_never_trained_on() -> None:
    rows = [TrainingExample("q", f"text {i}", "supported", "s") for i in range(1000)]
    [train_part], dev = split([ExampleSource("s", 1.0, rows)])
    assert {e.text for e in train_part.examples}.isdisjoint(e.text for e in dev)
    assert 10 < len(dev) < 100
    assert all(held_out(e.text) for e in dev)


def test_an_epoch_draws_each_source_at_its_rate() -> None:
    def rows(name: str) -> list[TrainingExample]:
        return [TrainingExample("q", f"{name} {i}", "supported", name) for i in range(100)]

    sources = [ExampleSource("a", 2.25, rows("a")), ExampleSource("b", 0.5, rows("b"))]
    epoch = draw(sources, random.Random(0))
    assert sum(e.source == "a" for e in epoch) == 225
    assert sum(e.source == "b" for e in epoch) == 50


def test_two_way_labels_do_not_choose_and_teachers_give_probabilities() -> None:
    class Fixed(torch.nn.Module):
        def __init__(self, logits: list[float]) -> None:
            super().__init__()
            self.logits = torch.tensor([logits])

        def forward(self, *_: object) -> torch.Tensor:
            return self.logits

    tokenise = bundled.tokenizer()
    rows = [pair(tokenise("a"), tokenise("b"))]

    def value(logits: list[float], label: str | tuple[float, ...]) -> float:
        examples = [TrainingExample("a", "b", label, "s")]
        return float(entailment_loss(Fixed(logits), rows, examples, torch.device("cpu")))

    assert value([0, 4, 0], "not_supported") == pytest.approx(value([0, 0, 4], "not_supported"))
    assert value([0, 4, 0], "refuted") > value([0, 0, 4], "refuted") + 1
    assert value([4, 0, 0], "supported") < value([0, 4, 0], "supported") - 1
    said = (0.6, 0.3, 0.1)
    agreed = [math.log(each) for each in said]
    assert value(agreed, said) == pytest.approx(-sum(p * math.log(p) for p in said), abs=1e-5)
    assert value([4, 0, 0], said) > value(agreed, said) < value([0, 4, 0], said)


def test_a_changed_number_is_new_and_the_rest_is_not_touched() -> None:
    found = [change_number("born in 1954 in Rome", "she was born in 1954", random.Random(seed))
             for seed in range(50)]
    new = [text for text in found if text is not None]
    assert len(new) > 25
    for changed in new:
        assert changed.startswith("she was born in ")
        assert changed[-4:].isdigit()
        assert changed[-4:] != "1954"
    assert change_number("no numbers", "born in 1954", random.Random(0)) is None


def test_narrowing_keeps_what_the_hypothesis_speaks_of() -> None:
    text = " ".join(f"Sentence number {i} is about nothing." for i in range(60))
    text += " The Tay Bridge was opened in 1878. " + text
    assert "Tay Bridge" in narrow(text, "the tay bridge was opened in 1878", 30)
    assert len(narrow(text, "the tay bridge", 30).split()) <= 30


def test_whole_words_are_found() -> None:
    assert find("The catalogue and the Cat.", "cat") == (22, 25)
    assert find("nothing", "cat") is None


START = PASSAGE.index("1980")
SOURCES = [ExampleSource("s", 1.0, [
    TrainingExample(f"When did she open shop {i}?", PASSAGE + f" Row {i}.", (START, START + 4), "s")
    for i in range(64)
])]


def train_reader(folder: Path, settings: TrainingSchedule | None = None,
                 sources: list[ExampleSource] | None = None) -> torch.nn.Module:
    """A short training that saves at every step."""
    from q2_metric.models.bundled.network import ReaderNetwork

    torch.manual_seed(0)
    network = ReaderNetwork()
    train(network, sources or SOURCES, bundled.tokenizer(), reader.loss, lambda _: {},
          settings or TrainingSchedule(examples=32, tokens=256, save_minutes=0.0), folder,
          torch.device("cpu"))
    return network


def train_until_killed(folder: Path) -> None:
    """The same training; its third step notes that it is there and never ends."""
    steps = itertools.count(1)
    loss = reader.loss

    def waiting(*given: Any) -> Any:
        if next(steps) == 3:
            (folder / "third step").touch()
            signal.pause()
        return loss(*given)

    reader.loss = waiting
    train_reader(folder)


def test_a_killed_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole = train_reader(tmp_path / "whole", TrainingSchedule(examples=32, tokens=256))
    killed = tmp_path / "killed"
    child = multiprocessing.get_context("spawn").Process(target=train_until_killed, args=(killed,))
    child.start()
    while not (killed / "third step").exists():
        assert child.is_alive()
        time.sleep(0.005)
    child.kill()
    child.join()
    assert (killed / "state.safetensors").exists()
    resumed = train_reader(killed)
    for (name, a), b in zip(whole.named_parameters(), resumed.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6), name
    with pytest.raises(ValueError, match="other settings"):
        train_reader(killed, TrainingSchedule(examples=99))
    with pytest.raises(ValueError, match="other examples"):
        train_reader(killed, sources=[ExampleSource("s", 1.0, SOURCES[0].examples[:9])])
    assert not list(killed.glob("*.tmp"))


def test_the_fifth_stage_trains_the_upper_layers_of_the_shipped_network() -> None:
    network = recipe.shipped_entailment(stages.GENERAL_DROPOUT)
    recipe.freeze_below(network, stages.GENERAL_FROZEN)
    trained = set(Learner(network, 1e-4, 1e-4, 0.0).named)
    frozen = ("encoder.words", "encoder.positions", "encoder.types", "encoder.norm.",
              *(f"encoder.layers.{i}." for i in range(stages.GENERAL_FROZEN)))
    assert {name for name, _ in network.named_parameters()} - trained == {
        name for name, _ in network.named_parameters() if name.startswith(frozen)
    }
    assert {"dense.weight", "classify.bias", "encoder.layers.3.qkv.weight"} <= trained
    assert stages.ENTAILMENT[4].settings(1.0, stages.GENERAL_SEED) == TrainingSchedule(
        32_000, tokens=3072, length=192, rate=7e-5, head_rate=1.4e-4, warmup=0.03,
        average=0.999, seed=17)


def test_a_pupil_learns_the_probabilities_and_the_upper_states_of_its_teacher() -> None:
    teacher = recipe.shipped_entailment()
    tokenise = bundled.tokenizer()
    rows = [pair(tokenise(claim), tokenise(PASSAGE)) for claim in ("Ann sold hats.", "No.")]

    def value(network: Any, weight: float) -> float:
        return distilled(teacher, weight, network, rows, [], torch.device("cpu")).item()

    said = np.array([[one.entailment, one.neutral, one.contradiction]
                     for one in bundled.BundledEntailment().judge(
                         [(PASSAGE, "Ann sold hats."), (PASSAGE, "No.")])])
    assert value(teacher, 0.0) == pytest.approx(-(said * np.log(said)).sum(1).mean(), abs=1e-3)
    assert value(teacher, 2.0) == pytest.approx(value(teacher, 0.0)), "its states are the same"
    pupil = recipe.shipped_entailment()
    with torch.no_grad():
        pupil.encoder.layers[0].up.bias += 1
    assert value(pupil, 2.0) > value(pupil, 0.0) + 0.1
    assert value(pupil, 0.0) > value(teacher, 0.0)


def test_the_reader_goes_on_from_the_shipped_weights_with_dropout() -> None:
    network = recipe.shipped_reader(stages.GENERAL_DROPOUT)
    recipe.freeze_below(network, stages.UNANSWERED_FROZEN)
    trained = set(Learner(network, 1e-4, 1e-4, 0.0).named)
    assert {"span.weight", "encoder.layers.1.qkv.weight"} <= trained
    assert not {n for n in trained if n.startswith(("encoder.types", "encoder.layers.0."))}
    tokenise = bundled.tokenizer()
    batch = collate([pair(tokenise("When was Ann born?"), tokenise(PASSAGE))])
    once, again = (reader.forward(network.train(), batch, torch.device("cpu")) for _ in range(2))
    assert not torch.equal(once, again), "dropout while it learns"
    once, again = (reader.forward(network.eval(), batch, torch.device("cpu")) for _ in range(2))
    assert torch.equal(once, again)


@pytest.mark.parametrize("run", ["reader-4", "entailment-6"])
def test_a_run_from_the_shipped_weights_leaves_the_other_network_alone(
    tmp_path: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = run.split("-")[0]
    old = load_file(WEIGHTS / "bundled.safetensors")
    ranged: list[Any] = []

    def ranges(network: Any, _rows: Any) -> dict[str, Any]:
        ranged.append(network.state_dict()[head])
        return {key.removeprefix(f"{name}."): value for key, value in old.items()
                if key.startswith(name) and key.endswith((".multiplier", ".zero", ".apart"))}

    monkeypatch.setattr(recipe.ranges, "ranges", ranges)
    monkeypatch.setattr(recipe.ranges, "windows", lambda *_: [])
    network = recipe.shipped_reader() if name == "reader" else recipe.shipped_entailment()
    head = "span.bias" if name == "reader" else "classify.bias"
    (tmp_path / run).mkdir()
    changed = network.state_dict()[head] + 1
    save_file({f"average/{head}": changed}, tmp_path / run / train_module.STATE)
    made = recipe.Recipe(tmp_path, tmp_path, tmp_path / "out", 1.0, torch.device("cpu"), 1)
    made.write_shipped(run)
    new = load_file(tmp_path / "out" / "bundled.safetensors")
    assert new.keys() == old.keys()
    assert torch.equal(new[f"{name}.{head}"], changed)
    for key, value in old.items():
        if not key.startswith(f"{name}."):
            assert torch.equal(new[key], value), f"{key} is not of this network"
        elif key.endswith(".weight") and f"{key}.scale" in old:
            before, after = (some[key] * some[f"{key}.scale"].view(
                *((-1, 1) if key.endswith(TABLES) else (1, -1))) for some in (old, new))
            step = old[f"{key}.scale"].max()
            assert (after - before).abs().max() <= 1.01 * step, f"{key} is what it was"
    assert torch.equal(ranged[0], changed), "the ranges are of the new weights"


def test_every_part_can_be_asked_for() -> None:
    assert set(recipe.PARTS) == {*SHIPPED, *TRIED}


def test_what_is_kept_back_is_trained_on_by_no_stage() -> None:
    trained = {*rates.RATES, *rates.LAST_RATES, *rates.GENERAL_RATES, *rates.REPLAYED_RATES,
               *rates.CONTRASTED_RATES, *rates.REORDERED_RATES, *rates.SUMMARISED_RATES,
               *rates.WIDE_RATES, *rates.WIDE_REPLAYED_RATES, *rates.WIDE_SUMMARISED_RATES,
               *reading.by_file(), *(name for names in reading.OPEN.values() for name in names)}
    assert trained.isdisjoint(rates.KEPT_BACK)
    assert {source for of in groundedness.SOURCES.values() for source in of} <= set(rates.KEPT_BACK)


def test_reordered_sentences_keep_their_words_and_their_lists_their_members() -> None:

    text = "The tower was opened by Eiffel in 1889, and Gustave met Edison in Paris in 1890."
    listed = "Kings and queens lived here."
    nlp = english()
    docs = [nlp(text), nlp(listed)] * 20
    rows = reordered(docs, random.Random(0)).examples
    words = sorted(re.findall(r"\w+", text.lower()))
    changed = {row.query for row in rows if row.target == "not_supported"}
    assert changed
    assert any("1890" in query.split(" , ")[0] for query in changed)
    assert all(sorted(re.findall(r"\w+", row.query.lower())) == words
               for row in rows if row.text == text)
    assert {row.target for row in rows if row.text == listed} == {"supported"}
    assert "queens and kings" in {row.query.lower()[:16] for row in rows}


def test_a_calibrated_head_gives_the_share_of_supported_responses_and_keeps_their_order() -> None:
    from tools.training.groundedness import FEATURES, Rows, calibrated

    draw = np.random.default_rng(1)
    values = draw.normal(size=(400, len(FEATURES)))
    head = {"intercept": 0.1, "features": {
        name: {"mean": 0.0, "deviation": 1.0, "weight": 0.3} for name in FEATURES}}
    before = 0.1 + 0.3 * values.sum(axis=1)
    supported = draw.random(400) < 1 / (1 + np.exp(1 - 2 * before))

    found = calibrated(head, Rows(values, supported))

    weights = [item["weight"] for item in found["features"].values()]
    after = found["intercept"] + values @ np.array(weights)
    assert (1 / (1 + np.exp(-after))).mean() == pytest.approx(supported.mean(), abs=1e-3)
    assert (np.argsort(after) == np.argsort(before)).all()
    assert weights[0] > 0.4  # the labels were drawn with twice the logit


def test_a_response_in_which_no_claim_is_found_is_left_out_of_the_fit() -> None:
    from q2_metric.types import Claim, Example, Judgement, Score
    from tools.training.groundedness import FEATURES, of_examples

    class Judging:
        def score(self, examples: list[Example]) -> list[Score]:
            claim = Judgement(Claim("It is old.", 0, 10), 0.9, "supported")
            return [Score(examples[0], None, reason="no_claim"), Score(examples[1], 0.9, (claim,))]

    examples = [Example("The old one.", "It is old."), Example("It is old.", "It is old.")]
    judging: Any = Judging()
    rows = of_examples(examples, [False, True], judging)
    assert (rows.values.shape, rows.supported.tolist()) == ((1, len(FEATURES)), [True])
