"""RSS, the detector and the responder trained for real, on tiny local models."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import local_models
import pytest

from q2_metric.errors import InputError, ModelError
from q2_metric.knowledge.bundled import BundledRanker
from q2_metric.knowledge.choose import Trained, combined, load_ranker, members, trained
from q2_metric.knowledge.detection import EncoderDetector, train_detector
from q2_metric.knowledge.dstc import LabelledTurns, TurnLabel
from q2_metric.knowledge.encoder import HeadedEncoder, written
from q2_metric.knowledge.evaluate import response_scores
from q2_metric.knowledge.respond import GroundedTurn, Responder, train_responder
from q2_metric.knowledge.rss import CHOICE, HEADS, RssRanker, draw, texts, train_ensemble, train_rss
from q2_metric.knowledge.training import (
    CHECKPOINT,
    ENDED,
    STATE,
    Progress,
    Report,
    TrainSettings,
)
from q2_metric.knowledge.types import Dialogue, Key, Pool, Snippet

pytest.importorskip("torch")

SUBJECTS = ("dog", "cat", "king", "ship")
QUESTIONS = {"house": "is the {} in the house ?", "river": "where is the river of the {} ?"}
ANSWERS = {"house": "the {} sleeps in the house .", "river": "it is the blue river of Paris ."}
POOL = Pool(
    [
        Snippet("city", name, name, doc, QUESTIONS[doc].format(name), ANSWERS[doc].format(name))
        for name in SUBJECTS
        for doc in QUESTIONS
    ]
)


def turns(dialogues: Sequence[Dialogue], gold: Sequence[Key]) -> LabelledTurns:
    return LabelledTurns(list(dialogues), [TurnLabel(True, (key,)) for key in gold])


TURNS = turns(
    [Dialogue.of(f"the {s.entity_name}", "yes", f"{s.doc_id} of the {s.entity_name} ?")
     for s in POOL],
    [s.key for s in POOL],
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("base") / "roberta"
    return str(local_models.encoder(folder, "roberta", "AutoModel"))


def stopped_at(step: int) -> Report:
    """Ctrl-C in the evaluation after this step."""
    def report(progress: Progress, _value: float) -> None:
        if progress.step == step:
            raise KeyboardInterrupt

    return report


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def untrained(base: str, heads: tuple[str, ...], folder: Path) -> str:
    """A saved model with new heads."""
    loaded = HeadedEncoder(base, heads, device="cpu", trained=False).loaded
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return str(folder)


def decoded(model: HeadedEncoder | Responder, row: dict[str, list[int]]) -> str:
    """What a model reads, without blanks."""
    text = model.loaded.tokenizer.decode(row["input_ids"], skip_special_tokens=True)
    return re.sub("[Ġ▁# ]", "", text).lower()


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(bool((left[k] == right[k]).all()) for k in left)


def test_texts() -> None:
    assert texts(POOL.snippets[0]) == [
        "city dog the dog sleeps in the house .", "city dog is the dog in the house ?"]
    taxi = Snippet("taxi", "*", None, "1", "", "Ten pounds.")
    assert texts(taxi) == ["taxi Ten pounds.", "taxi Ten pounds."]
    assert texts(POOL.snippets[0], CHOICE) == [
        "city dog is the dog in the house ? the dog sleeps in the house ."]
    assert texts(taxi, CHOICE, domain=False) == ["Ten pounds."]
    assert written(Dialogue.of("hi", "hello", "a dog?")) == "user: hi system: hello user: a dog?"


def test_negatives() -> None:
    import random

    gold = POOL.snippets[0]
    drawn = draw(POOL, gold, 300, random.Random(0))
    assert {snippet.key for snippet in drawn} == set(POOL.by_key) - {gold.key}


def test_rss_learns(base: str, tmp_path: Path) -> None:
    # What a model of this size can learn: all dialogues want the same snippet.
    wanted = turns(TURNS.dialogues, [POOL.snippets[0].key] * len(TURNS.dialogues))
    settings = TrainSettings(rate=3e-3, batch_size=8, epochs=40, evaluate_every=10)
    judged: list[float] = []
    done = train_rss(base, POOL, wanted, wanted, tmp_path, settings, dev_candidates=8,
                     device="cpu", report=lambda progress, value: judged.append(value))
    assert done.best == max(judged) == 1.0
    ranker = RssRanker(str(tmp_path), narrow=None, device="cpu")
    rankings = ranker.rank(TURNS.dialogues, POOL, 3)
    assert all(len(ranking) == 3 for ranking in rankings)
    assert all(0 <= ranked.score <= 2 for ranking in rankings for ranked in ranking)
    assert {ranking[0].snippet.key for ranking in rankings} == {POOL.snippets[0].key}
    # A first stage hands on what it keeps, and nothing else.
    first = BundledRanker()
    narrowed = RssRanker(str(tmp_path), narrow=2, device="cpu")
    kept = {r.snippet.key for r in first.rank(TURNS.dialogues[:1], POOL, 2)[0]}
    assert {r.snippet.key for r in narrowed.rank(TURNS.dialogues[:1], POOL, 2)[0]} == kept


def test_a_stopped_run_ends_as_one_that_was_not(base: str, tmp_path: Path) -> None:
    settings = TrainSettings(rate=1e-3, batch_size=3, epochs=3, evaluate_every=4)

    def run(folder: str, report: Report | None = None) -> Any:
        return train_rss(base, POOL, TURNS, TURNS, tmp_path / folder, settings, device="cpu",
                         dev_candidates=4, report=report)

    whole = run("whole")
    for step in (4, 8):
        with pytest.raises(KeyboardInterrupt):
            run("parts", stopped_at(step))
    assert run("parts") == whole
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    assert [path.name for path in (tmp_path / "whole" / STATE).iterdir()] == [ENDED]
    # A run that has ended stays as it is.
    assert run("whole") == whole
    other = TrainSettings(rate=1.0)
    with pytest.raises(InputError, match="other settings or data"):
        train_rss(base, POOL, TURNS, TURNS, tmp_path / "whole", other, device="cpu")


def test_a_run_that_has_ended_keeps_no_checkpoint(base: str, tmp_path: Path) -> None:
    """Also if it was killed before it removed the last one."""
    settings = TrainSettings(rate=1e-3, batch_size=8, epochs=1)
    for _ in range(2):
        train_rss(base, POOL, TURNS, TURNS, tmp_path, settings, device="cpu")
        assert [path.name for path in (tmp_path / STATE).iterdir()] == [ENDED]
        (tmp_path / STATE / CHECKPOINT).write_bytes(b"left over")


@pytest.mark.parametrize("damaged", [b"", b"no pickle", b"PK\x03\x04"])
def test_a_damaged_checkpoint_is_one_line(base: str, tmp_path: Path, damaged: bytes) -> None:
    settings = TrainSettings(rate=1e-3, batch_size=3, epochs=3, evaluate_every=4)
    with pytest.raises(KeyboardInterrupt):
        train_rss(base, POOL, TURNS, TURNS, tmp_path, settings, device="cpu",
                  report=stopped_at(4))
    (tmp_path / STATE / CHECKPOINT).write_bytes(damaged)
    with pytest.raises(InputError, match=r"checkpoint\.pt: cannot be read: .*; remove .* to start"):
        train_rss(base, POOL, TURNS, TURNS, tmp_path, settings, device="cpu")


def test_patience_ends_training(base: str, tmp_path: Path) -> None:
    settings = TrainSettings(rate=1e-9, batch_size=8, epochs=50, patience=2)
    done = train_rss(base, POOL, TURNS, TURNS, tmp_path, settings, device="cpu")
    assert (done.step, done.best_step, done.done) == (3, 1, True)


def test_the_paper_settings_are_the_defaults() -> None:
    """Bae et al., section 4.3: 20 epochs, four random snippets, all snippets ranked, BART 3e-5."""
    from inspect import signature

    from q2_metric.cli.knowledge import respond, select

    assert TrainSettings() == TrainSettings(rate=1e-5, batch_size=16, epochs=20, patience=None)
    defaults = {name: one.default for name, one in signature(train_rss).parameters.items()}
    assert defaults["negatives"] == 4
    assert signature(RssRanker).parameters["narrow"].default is None
    for command, wanted in ((select.commands["train"], (1e-5, 20)),
                            (respond.commands["train"], (3e-5, 10))):
        given = {param.name: param.default for param in command.params}
        assert (given["rate"], given["epochs"]) == wanted
        assert given["batch_size"] == 16
        assert not isinstance(given["patience"], int), "all epochs"


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_multiple_choice_learns(kind: str, tmp_path: Path) -> None:
    made = local_models.gpt2(tmp_path / "base") if kind == "gpt2" else local_models.encoder(
        tmp_path / "base", kind, "AutoModel")
    wanted = turns(TURNS.dialogues, [POOL.snippets[0].key] * len(TURNS.dialogues))
    settings = TrainSettings(rate=3e-3, batch_size=8, epochs=40, evaluate_every=10)
    done = train_rss(str(made), POOL, wanted, wanted, tmp_path / "out", settings, kind="choice",
                     domain=False, dev_candidates=8, device="cpu")
    ranker = RssRanker(str(tmp_path / "out"), device="cpu")
    first = {ranking[0].snippet.key for ranking in ranker.rank(TURNS.dialogues, POOL, 3)}
    if kind == "gpt2":  # this vocabulary lacks the subjects, but not the words of the documents
        assert {doc for _, _, doc in first} == {"house"}
    else:
        assert (done.best, first) == (1.0, {POOL.snippets[0].key})
    names = {"bert": "BERT", "roberta": "RoBERTa", "gpt2": "GPT-2"}
    assert trained(str(tmp_path / "out")) == Trained("ranker", names[kind], domain=False)
    assert ranker.name == "choice:out"


def test_the_seven_of_the_papers_ensemble(base: str, tmp_path: Path) -> None:
    bert = str(local_models.encoder(tmp_path / "bert", "bert", "AutoModel"))
    settings = TrainSettings(rate=1e-3, batch_size=8, epochs=1, seed=5)

    def run() -> list[Progress]:
        return train_ensemble((bert, base), POOL, TURNS, TURNS, tmp_path / "out", settings,
                              dev_candidates=4, device="cpu")

    first = run()
    assert [progress.done for progress in first] == [True] * 7
    assert run() == first, "a training that has ended stays as it is"
    folders = members(str(tmp_path / "out"))
    assert [Path(folder).name for folder in folders] == [
        "1-rss", "2-choice", "3-choice", "4-choice", "5-choice", "6-choice", "7-choice"]
    assert [trained(folder).model for folder in folders] == [
        "RSS", "RoBERTa", "RoBERTa", "RoBERTa", "BERT", "BERT", "BERT"]
    assert members(folders[0]) == [folders[0]]
    kept = [weights(Path(folder)) for folder in folders]
    assert not any(same(one, other) for i, one in enumerate(kept[1:4]) for other in kept[1:4][:i])
    voting = combined([load_ranker(folder, device="cpu") for folder in folders])
    (ranking,) = voting.rank(TURNS.dialogues[:1], POOL)
    shares = sum(ranked.score for ranked in ranking)
    assert 0 < shares <= 1 + 1e-9, "each of the seven votes for one first snippet"


def test_what_a_folder_was_trained_for(bart: str, base: str, tmp_path: Path) -> None:
    assert trained(bart) == Trained("responder", "BART")
    for heads, known in ((HEADS, Trained("ranker", "RSS")),
                         (("detection",), Trained("detector", "RoBERTa"))):
        assert trained(untrained(base, heads, tmp_path / heads[0])) == known
    with pytest.raises(InputError, match="holds no trained ranker, detector or responder"):
        trained(str(tmp_path))


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta-v2"])
def test_long_dialogues_lose_their_beginning(kind: str, tmp_path: Path) -> None:
    base = str(local_models.encoder(tmp_path, kind, "AutoModel"))
    encoder = HeadedEncoder(base, HEADS, device="cpu", trained=False)
    texts = ["the king sleeps . " * 40 + "where is the river ?", "where is the river ?"]
    rows = [encoder._row(Dialogue.of(text), "the answer " * 40) for text in texts]
    assert all(len(row["input_ids"]) <= encoder.length == 64 for row in rows)
    read = [decoded(encoder, row) for row in rows]
    assert all("whereistheriver?" in text and text.count("answer") > 2 for text in read)
    assert [":where" in text for text in read] == [False, True]


def test_rss_needs_a_trained_folder(base: str) -> None:
    with pytest.raises(ModelError, match="not trained for AutoModelForSequenceClassification"):
        RssRanker(base, narrow=None)


def test_another_head_is_refused(base: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has the heads relevance, similarity, not detection"):
        EncoderDetector(untrained(base, HEADS, tmp_path), device="cpu")
    with pytest.raises(ModelError, match="not relevance, similarity or choice"):
        RssRanker(untrained(base, ("detection",), tmp_path / "other"), device="cpu")


def test_data_that_cannot_train(base: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs labelled turns"):
        train_rss(base, POOL, turns([], []), TURNS, tmp_path, TrainSettings())
    with pytest.raises(InputError, match="a single snippet"):
        train_rss(base, Pool(POOL.snippets[:1]), TURNS.at([0]), TURNS.at([0]), tmp_path,
                  TrainSettings())
    strange = turns(TURNS.dialogues[:1], [("spa", "1", "1")])
    with pytest.raises(InputError, match="turn 0: unknown domain 'spa'"):
        train_rss(base, POOL, strange, TURNS, tmp_path, TrainSettings())


def test_detector_learns(base: str, tmp_path: Path) -> None:
    dialogues = [Dialogue.of(f"{a} the {b}") for a in ("where is", "yes") for b in SUBJECTS]
    targets = [True] * 4 + [False] * 4
    settings = TrainSettings(rate=3e-3, batch_size=4, epochs=20)
    labelled = LabelledTurns(dialogues, list(map(TurnLabel, targets)))
    done = train_detector(base, labelled, labelled, tmp_path, settings, device="cpu")
    assert done.best == 1.0
    found = EncoderDetector(str(tmp_path), device="cpu").detect(dialogues)
    assert [p > 0.5 for p in found] == targets


# --- the responder -------------------------------------------------------------------------

ITEMS = [
    GroundedTurn(dialogue, POOL.find(key), f"the {key[1]} is in the {key[2]}")
    for dialogue, key in zip(TURNS.dialogues, POOL.by_key, strict=True)
]


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(local_models.bart(tmp_path_factory.mktemp("seq") / "bart"))


def test_responder_learns_and_resumes(bart: str, tmp_path: Path) -> None:
    settings = TrainSettings(rate=3e-3, batch_size=4, epochs=4, evaluate_every=2)
    judged: list[float] = []
    whole = train_responder(bart, ITEMS, ITEMS, tmp_path / "whole", settings, device="cpu",
                            report=lambda progress, value: judged.append(value))
    assert judged[-1] > judged[0]
    with pytest.raises(KeyboardInterrupt):
        train_responder(bart, ITEMS, ITEMS, tmp_path / "parts", settings, device="cpu",
                        report=stopped_at(4))
    again = train_responder(bart, ITEMS, ITEMS, tmp_path / "parts", settings, device="cpu")
    assert again == whole
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    said = Responder(str(tmp_path / "whole"), device="cpu").respond(ITEMS[:3])
    assert len(said) == 3
    assert all(isinstance(text, str) for text in said)
    assert not any(mark in text for text in said for mark in ("<s>", "</s>", "<pad>"))


def test_responder_batches_do_not_matter(bart: str) -> None:
    one = Responder(bart, device="cpu", batch_size=1).respond(ITEMS[:3])
    assert Responder(bart, device="cpu", batch_size=3).respond(ITEMS[:3]) == one


def llama_base(folder: Path) -> str:
    """A decoder-only model whose tokenizer knows all letters, unlike that of the tiny GPT-2."""
    return str(local_models.llama(folder, 512))


@pytest.mark.parametrize("made", [llama_base, lambda folder: str(local_models.gpt2(folder))])
def test_a_decoder_only_responder_learns_the_response_alone(made: Any, tmp_path: Path) -> None:
    responder = Responder(made(tmp_path / "base"), device="cpu")
    read = responder.row(ITEMS[0])["input_ids"]
    other = GroundedTurn(ITEMS[0].dialogue, POOL.snippets[3], ITEMS[0].response)
    logits = responder.loaded.model(
        input_ids=_tensor([read + responder._gold(ITEMS[0].response)])).logits[0]
    gold = responder._gold(ITEMS[0].response)
    learned = -logits.log_softmax(-1)[len(read) - 1 : -1].gather(1, _tensor(gold)[:, None]).mean()
    assert responder.loss(ITEMS[:1]).item() == pytest.approx(float(learned), rel=1e-4)
    # Padding beside a longer input changes nothing.
    both = responder.loss([ITEMS[0], other]).item()
    weights = len(gold), len(responder._gold(other.response))
    each = [responder.loss([one]).item() for one in (ITEMS[0], other)]
    assert both == pytest.approx(sum(w * e for w, e in zip(weights, each, strict=True)) /
                                 sum(weights), rel=1e-4)


def _tensor(ids: Any) -> Any:
    import torch

    return torch.tensor(ids)


def test_decoder_only_responses(tmp_path: Path) -> None:
    base = llama_base(tmp_path / "base")
    settings = TrainSettings(rate=1e-2, batch_size=8, epochs=15)
    wanted = [GroundedTurn(item.dialogue, item.snippet, "Paris") for item in ITEMS]
    train_responder(base, wanted, wanted, tmp_path / "out", settings, device="cpu")
    assert trained(str(tmp_path / "out")).task == "responder"
    found = Responder(str(tmp_path / "out"), device="cpu", batch_size=3)
    said = [re.sub("[Ġ ]", "", text) for text in found.respond(wanted)]
    assert said == ["Paris"] * len(wanted), "the input is not part of it"
    one = Responder(str(tmp_path / "out"), device="cpu", batch_size=1)
    assert one.respond(wanted[:3]) == found.respond(wanted[:3])
    sampled = Responder(base, device="cpu", sample=True)
    assert sampled.respond(ITEMS[:2]) == sampled.respond(ITEMS[:2]), "the seed is fixed"
    assert sampled.respond(ITEMS[:2]) != Responder(base, device="cpu").respond(ITEMS[:2])


def test_responder_input_keeps_knowledge_and_the_last_turn(bart: str) -> None:
    responder = Responder(bart, device="cpu")
    responder.length = 60
    long = Dialogue.of("the king sleeps . " * 40 + "where is the river ?")
    row = responder.row(GroundedTurn(long, POOL.snippets[0]))
    assert len(row["input_ids"]) <= 60
    text = decoded(responder, row)
    assert text.startswith("knowledge:isthedogin")
    assert text.endswith("whereistheriver?")


def test_responder_needs_gold(bart: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="turn 0 has no response"):
        train_responder(bart, [GroundedTurn(TURNS.dialogues[0], POOL.snippets[0])], ITEMS, tmp_path,
                        TrainSettings())


def test_meteor_without_wordnet_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    from nltk.corpus import wordnet

    if not type(wordnet).__name__.startswith("Lazy"):
        pytest.skip("WordNet was loaded before")
    scores, why = response_scores(["a dog"], ["a cat"])
    assert "METEOR" not in scores
    assert "nltk.downloader wordnet" in why


def test_saved_models_are_safetensors_only(base: str, tmp_path: Path) -> None:
    settings = TrainSettings(epochs=1)
    train_rss(base, POOL, TURNS, TURNS, tmp_path, settings, device="cpu")
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert not {n for n in names if n.endswith((".bin", ".pt", ".pkl", ".pth"))}
    assert "model.safetensors" in names
    config = json.loads((tmp_path / "config.json").read_text())
    assert list(config["id2label"].values()) == list(HEADS)
    assert config["reads_domain"] is True
