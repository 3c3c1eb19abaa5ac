"""Every stage finds its data in the folder that the command is given, and holds some back."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tools.training import rates, reader_data, recipe, stages  # noqa: E402
from tools.training.examples import TARGETS, ExampleSource, held_out  # noqa: E402
from tools.training.train import TrainingSchedule  # noqa: E402

PLACES = ("Rome", "Paris", "Vienna", "Madrid", "Lisbon", "Prague", "Warsaw", "Athens")
FROM_SHIPPED = {"general": 5, "contrasted": 6, "reordered": 7}


def passage(file: str, number: int) -> str:
    place, other = PLACES[number % 8], PLACES[(number + 3) % 8]
    return (f"The {file.replace('_', ' ')} society of {place} was founded in 19{number + 10} by "
            f"two brothers from {other} . In 1980 its members opened a second house in {other} and "
            f"a museum in {place} for young painters and writers.")


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder laid out as the command says, six rows a file."""
    folder = tmp_path_factory.mktemp("pack")
    for name, named in (("groundedness", rates.RATES), ("groundedness2", rates.REORDERED_RATES)):
        for file in named:
            write(folder / name / f"{file}.jsonl.gz", [
                {"premise": passage(file, i), "label": TARGETS[i % 3],
                 "hypothesis": f"the {file} society opened a museum in {PLACES[i]} ."}
                for i in range(6)])
    for file in reader_data.RATES:
        write(folder / "qa" / f"{file}.jsonl.gz", [
            {"question": question, "context": passage(file, i), "answer": answer,
             "start": passage(file, i).index(answer)} for i in range(6) for question, answer in (
                 ("Where was it founded?", PLACES[i]), ("When was a house opened?", "1980"))])
    for part in ("dev", "test"):
        (folder / f"snli_{part}.tsv").write_text("".join(
            f"{label}\t{passage(part, i)}\tA house is opened.\n"
            for i, label in enumerate(("entailment", "neutral", "contradiction", "-"))))
    for part in ("test_wow", "dev_tc", "dev_cmu"):
        (folder / f"begin_{part}.tsv").write_text("response\tknowledge\tbegin_label\n" + "".join(
            f"i like it .\t{passage(part, i)}\t{label}\n" for i, label in enumerate(
                ("Fully attributable", "Not fully attributable", "Generic"))))
    write(folder / "unlabelled" / "wow_test_generations.jsonl.gz", [
        {"knowledge": passage("unlabelled", i), "generations": {
            "a": f"it was founded in {PLACES[i]} .", "b": "no", "c": f"i was in {PLACES[i]} ."}}
        for i in range(8)])
    return folder


Trained = list[tuple[Any, list[ExampleSource], TrainingSchedule, str]]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Trained:
    """What would have been trained: network, sources, settings and run."""
    found: Trained = []

    def train(network: Any, sources: list[ExampleSource], _tokenizer: Any, _loss: Any,
              _evaluate: Any, settings: TrainingSchedule, folder: Path, *_: Any, **__: Any) -> None:
        found.append((network, sources, settings, folder.name))

    monkeypatch.setattr(recipe, "train", train)
    for name in ("load_base", "load_wide_base"):
        monkeypatch.setattr(recipe, name, lambda *_: None)
    monkeypatch.setattr(recipe, "base_folder", Path)
    monkeypatch.setattr(recipe, "wide_base", lambda folder: folder)
    return found


@pytest.fixture
def run(pack: Path, tmp_path: Path) -> Callable[[str], None]:
    made = recipe.Recipe(pack, tmp_path, tmp_path, 1.0, torch.device("cpu"), 1)
    return lambda part: recipe.PARTS[part](made)


@pytest.mark.parametrize("part", FROM_SHIPPED)
def test_stages_from_the_shipped_weights(
    run: Callable[[str], None], trained: Trained, part: str
) -> None:
    run(part)
    ((_, sources, settings, name),) = trained
    assert name == f"entailment-{FROM_SHIPPED[part]}"
    assert settings.examples == stages.ENTAILMENT[FROM_SHIPPED[part] - 1].schedule
    rows = {source.name: source.examples for source in sources}
    assert {"fever_dev", "tenp_base", "begin_test_wow", "answers", "retold"} <= set(rows)
    assert ("reordered" in rows) == (part == "reordered")
    assert not [name for name, found in rows.items() if not found], "sources without rows"
    assert not any(held_out(row.text) for found in rows.values() for row in found)


def test_widths_meet_the_same_pairs_first(
    run: Callable[[str], None], trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "UNLABELLED", 10)
    run("narrow")
    run("wide")
    narrow, first, second = trained
    assert [one[3] for one in trained] == [
        "entailment-narrow", "entailment-wide-1", "entailment-wide-2"]
    assert [one[0].dense.out_features for one in trained[:2]] == [384, 768]
    assert [(s.name, s.rate, s.examples) for s in narrow[1]] == [
        (s.name, s.rate, s.examples) for s in first[1]]
    assert narrow[2].seed == first[2].seed != second[2].seed
    assert second[0] is first[0], "the second stage goes on"
    rows = {source.name: source.examples for source in second[1]}
    assert "reordered" in rows
    assert len(rows["unlabelled"]) == 10
    for example in rows["unlabelled"]:
        assert len(example.query.split()) > 1, "a word says nothing"
        assert not held_out(example.text)
        assert sum(example.target) == pytest.approx(1, abs=1e-5), "what the teachers say"


def test_the_last_of_the_wide_keeps_what_the_teachers_said(
    run: Callable[[str], None], trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "UNLABELLED_LAST", 6)
    run("wide-on")
    monkeypatch.setattr(recipe.entailment, "taught", None)  # what goes on asks nobody again
    run("wide-on")
    first, again = ({source.name: source.examples for source in one[1]} for one in trained)
    assert [one[3] for one in trained] == ["wide-4", "wide-4"]
    assert len(first["unlabelled"]) == 6
    assert first["unlabelled"] == again["unlabelled"]


def test_the_network_for_statements_starts_from_lower_layers(
    run: Callable[[str], None], trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe.check_worthiness, "OPEN", {})
    run("statement")
    ((network, (parts, claims), settings, name),) = trained
    assert name == "statement"
    assert settings.examples == stages.STATEMENT.schedule
    assert len(parts.examples) > 10_000 < len(claims.examples)
    before = recipe.shipped_entailment().state_dict()
    begun = {key: value for key, value in network.state_dict().items() if "encoder" in key}
    assert {key.split(".")[2] for key in begun if ".layers." in key} == {"0", "1"}
    assert all(torch.equal(value, before[key]) for key, value in begun.items())
