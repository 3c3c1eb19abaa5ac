"""The models that ship: both runtimes, batching, windows, and what they say of real text."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from q2_metric.errors import InputError, ModelError
from q2_metric.metrics import load_metrics
from q2_metric.models.bundled import models as bundled
from q2_metric.models.bundled.encoding import Batch, Tokenizer, collate, pair, windows
from q2_metric.models.bundled.models import BundledCascade, BundledEntailment, BundledReader
from q2_metric.models.bundled.stored import WEIGHTS
from q2_metric.types import Answer, Example, Verdict

TOKENIZER = Tokenizer(WEIGHTS / "tokenizer.json")

KNOWLEDGE = (
    "The Eddystone Lighthouse stands on the Eddystone Rocks, 14 kilometres south of Rame "
    "Head in Cornwall. The present tower, the fourth on the site, was designed by James "
    "Douglass and first lit in 1882."
)
FILLER = " ".join(
    f"Room {i} of the town hall holds {i * 3} wooden chairs and a portrait of a former mayor."
    for i in range(1, 90)
)
LONG = FILLER[: FILLER.index("Room 28 ")]
"""Two windows."""
def cascade(*how: Any, **named: Any) -> BundledCascade:
    """Both entailment networks, as the preset "bundled" has them."""
    return BundledCascade(*(BundledEntailment(*how, **named, network=network)
                            for network in ("entailment", "wide")))


PAIRS = [
    (KNOWLEDGE, "it was first lit in 1882 ."),
    (KNOWLEDGE, "it was first lit in 1759 ."),
    ("Risotto is a northern Italian rice dish.", "i love it ! risotto is a rice dish ."),
    ("Ann has 3 cats.", "Ann is a dentist."),
    (LONG, "Room 7 holds 21 chairs."),
]
QUESTIONS = [
    ("Who designed the present tower?", KNOWLEDGE),
    ("When was it first lit?", KNOWLEDGE),
    ("How many chairs does room 20 hold?", LONG),
    ("Who painted the Mona Lisa?", KNOWLEDGE),
]


def flat(found: list[Answer | None]) -> list[tuple[str, int]]:
    return [(a.text, a.start) if a else ("", -1) for a in found]


@cache
def judged_alone() -> list[Verdict]:
    """The verdicts on the pairs, each by itself."""
    model = cascade(batch_size=1)
    return [model.judge([one])[0] for one in PAIRS]


@cache
def read_alone() -> list[Answer | None]:
    """The answers to the questions, each by itself."""
    model = BundledReader(batch_size=1)
    return [model.read([one])[0] for one in QUESTIONS]


@pytest.mark.parametrize("batch_size", [2, 64, None])
@pytest.mark.slow
def test_scores_do_not_depend_on_the_batch_or_the_order(batch_size: int | None) -> None:
    alone, answers = judged_alone(), read_alone()
    order = list(range(len(PAIRS)))
    random.Random(1).shuffle(order)
    together = cascade(batch_size=batch_size).judge([PAIRS[i] for i in order])
    for i, verdict in zip(order, together, strict=True):
        assert verdict.entailment == pytest.approx(alone[i].entailment, abs=1e-5)
        assert verdict.contradiction == pytest.approx(alone[i].contradiction, abs=1e-5)
    batched = BundledReader(batch_size=batch_size).read(QUESTIONS[::-1])[::-1]
    assert flat(batched) == flat(answers)
    for a, b in zip(answers, batched, strict=True):
        if a is not None and b is not None:
            assert a.score == pytest.approx(b.score, abs=1e-4)


@pytest.mark.slow
def test_both_runtimes_give_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    alone, left = judged_alone(), read_alone()
    monkeypatch.setattr(bundled, "ON_ONNX", ())  # torch then runs all formats
    for onnx, torch in zip(alone, cascade().judge(PAIRS), strict=True):
        assert onnx.entailment == pytest.approx(torch.entailment, abs=1e-3)
        assert onnx.neutral == pytest.approx(torch.neutral, abs=1e-3)
    right = BundledReader().read(QUESTIONS)
    assert flat(left) == flat(right)
    for a, b in zip(left, right, strict=True):
        assert (a is None) == (b is None)
        assert a is None or b is None or a.score == pytest.approx(b.score, abs=1e-3)


@pytest.mark.parametrize("sure", [(0.0, 1.0), (0.05, 0.95), (0.5, 0.5)])
def test_the_second_network_judges_what_the_first_leaves_open(
    sure: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where both judge, the verdict is the weighted mean of their probabilities."""
    monkeypatch.setattr(bundled, "SURE", sure)
    short = PAIRS[:4]  # of one window each
    alone = [BundledEntailment(network=name).judge(short)
             for name in ("entailment", "wide")]
    both_judge = cascade()
    assert both_judge.judge(short) == both_judge.review(short, alone[0], bundled.SHARE)
    for both, one, other in zip(both_judge.review(short, alone[0], 0.2), *alone, strict=True):
        left_open = sure[0] <= one.entailment <= sure[1]
        for name in ("entailment", "neutral", "contradiction"):
            mean = 0.2 * getattr(one, name) + 0.8 * getattr(other, name)
            assert getattr(both, name) == pytest.approx(
                mean if left_open else getattr(one, name), abs=1e-5)


def test_the_reader_reads() -> None:
    questions = [QUESTIONS[0], QUESTIONS[1], QUESTIONS[3]]
    answers = BundledReader().read(questions)
    assert [a and a.text for a in answers] == ["James Douglass", "1882", None]
    for answer, (_, context) in zip(answers, questions, strict=True):
        if answer is not None:
            assert context[answer.start : answer.start + len(answer.text)] == answer.text


@pytest.mark.slow
def test_an_answer_late_in_a_long_text_is_found() -> None:
    long = FILLER + " " + KNOWLEDGE
    assert len(TOKENIZER(long).ids) > 3 * bundled.WINDOW
    [answer] = BundledReader().read([("Who designed the present tower?", long)])
    assert answer is not None
    assert answer.text == "James Douglass"
    [verdict] = cascade().judge([(long, "it was designed by james douglass .")])
    assert verdict.label == "entailment"


@pytest.mark.parametrize(
    ("premise", "right", "wrong"),
    [
        (KNOWLEDGE, "the tower was first lit in 1882 .", "the tower was first lit in 1982 ."),
        (KNOWLEDGE, "it was designed by james douglass .", "it was designed by henry ford ."),
        ("It is the world's most widely consumed psychoactive drug.",
         "caffeine is the world's most widely consumed psychoactive drug .",
         "caffeine is the world's least known sleeping pill ."),
        ("Greyhounds are a gentle and intelligent breed.",
         "they are gentle .", "greyhounds are loud and aggressive ."),
        ("The Tour de France was first organised in 1903.",
         "it was first organised in 1903 .", "it was not organised in 1903 ."),
        ("Castile soap is made from olive oil.",
         "castile soap is made from olive oil", "castile soap is made from tallow"),
    ],
)
def test_supported_scores_above_changed(premise: str, right: str, wrong: str) -> None:
    high, low = cascade().judge([(premise, right), (premise, wrong)])
    assert high.entailment > low.entailment + 0.05
    assert high.contradiction < low.contradiction
    assert low.entailment < 0.5


def test_what_is_personal_is_neither_supported_nor_refuted() -> None:
    """It is consistent, and cannot be attributed."""
    premise = "Greyhounds are a gentle and intelligent breed."
    [verdict] = cascade().judge([(premise, "i love greyhounds ! they are gentle .")])
    assert verdict.label == "neutral"
    assert verdict.contradiction < 0.1


def test_empty_texts_do_no_harm() -> None:
    assert BundledReader().read([("", ""), ("Who?", ""), ("", "Ann left.")]) == [None] * 3
    assert len(BundledEntailment().judge([("", ""), ("text", ""), ("", "claim")])) == 3
    assert BundledReader().read([]) == []
    assert BundledEntailment().judge([]) == []


def test_windows_cover_the_text_and_leave_nothing_behind() -> None:
    text, query = TOKENIZER(FILLER), TOKENIZER("Who sat in room 12?")
    rows = list(windows(query, text, length=100, stride=30))
    covered = {place for row in rows for place in row.offsets}
    assert covered == set(text.offsets)
    assert all(len(row.ids) == len(row.types) <= 100 for row in rows)
    ends = [row.offsets[-1] for row in rows]
    assert ends == sorted(set(ends))


def test_a_question_longer_than_the_window_is_cut() -> None:
    query = TOKENIZER("who " * 500)
    rows = list(windows(query, TOKENIZER(KNOWLEDGE), length=200, stride=50))
    assert all(len(row.ids) <= 200 for row in rows)
    assert {place for row in rows for place in row.offsets} == set(TOKENIZER(KNOWLEDGE).offsets)


def test_padding_is_marked() -> None:
    rows = [pair(TOKENIZER("a b"), TOKENIZER("c")), pair(TOKENIZER("a"), TOKENIZER("c d e f g"))]
    batch = collate(rows)
    assert batch.ids.shape == batch.types.shape == batch.query.shape == (2, 16)
    assert list(batch.lengths) == [6, 9]
    assert np.flatnonzero(batch.query[0]).tolist() == [1, 2]
    assert not batch.ids[0, 6:].any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "int3"}, "dtype"),
        ({"dtype": "int8", "device": "cuda"}, "CPU"),
        pytest.param({"device": "foo"}, "foo", marks=pytest.mark.slow),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BundledReader(**settings)  # type: ignore[arg-type]


def test_weights_are_small_and_safe() -> None:
    files = [path for path in WEIGHTS.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 110e6, "compressed: under 95 MB"
    assert {path.suffix for path in files} <= {".safetensors", ".onnx", ".json", ".md"}
    card = (WEIGHTS / "README.md").read_text(encoding="utf-8")
    assert all(word in card for word in ("Licence", "Data", "Results", "Date"))


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True, cwd=Path(__file__).parents[2])
    return done.stdout.strip()


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'spacy', 'torch', 'onnxruntime', 'tokenizers', 'transformers', 'click'}"
    assert run(f"import sys, q2_metric; print(sorted({heavy} & set(sys.modules)))") == "[]"


@pytest.mark.slow
def test_the_bundled_preset_needs_no_torch() -> None:
    # spaCy takes torch along where it finds it, so the test hides it as a bare install would.
    code = (
        "import sys\n"
        "for name in ('torch', 'transformers'): sys.modules[name] = None\n"
        "from q2_metric import Q2, Scale, Example\n"
        "e = Example('it was first lit in 1882 .', 'The tower was first lit in 1882.')\n"
        "print(Q2.from_preset().score([e])[0].value > .99)\n"
        "print(Scale.from_preset().score([e])[0].value > .5)"
    )
    assert run(code) == "True\nTrue"


@pytest.mark.parametrize("batch_size", [4, None])
@pytest.mark.slow
def test_out_of_memory_halves_the_batch(batch_size: int | None) -> None:
    model = BundledEntailment(batch_size=batch_size)
    usual = model.judge(PAIRS)
    forward, sizes = model._forward, []

    def small(batch: Batch) -> Any:
        if len(batch.lengths) > 2:
            raise RuntimeError("Failed to allocate memory for requested buffer of size 99")
        sizes.append(len(batch.lengths))
        return forward(batch)

    model._forward = small
    found = model.judge(PAIRS)
    assert [v.entailment for v in found] == pytest.approx([v.entailment for v in usual], abs=1e-5)
    assert max(sizes) <= 2

    def never(batch: Batch) -> Any:
        raise MemoryError

    model._forward = never
    with pytest.raises(ModelError, match="a single row"):
        model.judge(PAIRS)


def test_numbers_that_are_not_finite_are_an_error() -> None:
    model = BundledEntailment()
    model._forward = lambda batch: np.full((len(batch.lengths), 3), np.nan, np.float32)
    with pytest.raises(ModelError, match="not finite"):
        model.judge(PAIRS)


@pytest.mark.slow
def test_the_command_line_does_not_wait_for_torch() -> None:
    pytest.importorskip("torch")
    code = (
        "import sys\n"
        "from q2_metric.cli.main import main\n"
        "main(['explain', '--response', 'It is red.', '--knowledge', 'It is red.', '--json'],\n"
        "     standalone_mode=False)\n"
        "loaded = 'torch' in sys.modules\n"
        "import torch\n"
        "print(loaded, torch.ones(1).item())\n"
    )
    assert run(code).splitlines()[-1] == "False 1.0"


def test_a_metric_goes_to_another_process_without_its_weights() -> None:
    examples = [Example("it was built in 1889 .", "The tower was built in 1889 in Paris.")]
    for metric in load_metrics("q2,scale,groundedness", "bundled-small"):
        pickled = pickle.dumps(metric)
        assert len(pickled) < 5_000
        for other in (pickle.loads(pickled), copy.deepcopy(metric)):
            assert other.signature == metric.signature
            assert other.score(examples)[0].value == metric.score(examples)[0].value
