"""Answers of torch readers, on tiny random models with real tokenizers (local_models.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")


import numpy as np
import torch
from hub_models import (
    LONG,
    Load,
    scripted,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from local_models import ENCODERS

from q2_metric.models.hub import batches
from q2_metric.models.hub.reader import TorchReader
from q2_metric.models.spans import best_span
from q2_metric.types import Answer

PAIRS = [
    ("Who sleeps?", LONG),
    ("Where is the dog?", "The big  dog is in Paris."),
    ("What was built in 1994?", " the museum\twas built in 1994 "),
    ("Who?", "she"),
    ("When?", "The king and the queen, in France; a ship sails north! " * 4),
]


@pytest.mark.parametrize("kind", ENCODERS)
def test_reader_does_not_depend_on_batches(loaded: Load, kind: str) -> None:
    model = loaded(f"{kind}/qa")
    alone = [TorchReader(model, threshold=-1e9).read([pair])[0] for pair in PAIRS]
    for batch_size in (1, 3, 16):
        for order in (PAIRS, PAIRS[::-1]):
            answers = TorchReader(model, threshold=-1e9, batch_size=batch_size).read(order)
            for pair, answer in zip(order, answers, strict=True):
                expected = alone[PAIRS.index(pair)]
                assert answer is not None
                assert expected is not None
                assert (answer.text, answer.start) == (expected.text, expected.start)
                assert answer.score == pytest.approx(expected.score, abs=1e-5)


@pytest.mark.parametrize("kind", ENCODERS)
def test_answers_are_cut_from_the_text(loaded: Load, kind: str) -> None:
    for answer, (_, context) in zip(
        TorchReader(loaded(f"{kind}/qa"), threshold=-1e9).read(PAIRS), PAIRS, strict=True
    ):
        assert answer is not None
        assert answer.text
        assert context[answer.start : answer.start + len(answer.text)] == answer.text
        assert answer.text == answer.text.strip()


@pytest.mark.parametrize("kind", ENCODERS)
def test_reader_agrees_with_a_plain_forward_pass(loaded: Load, kind: str) -> None:
    model = loaded(f"{kind}/qa")
    question, context = PAIRS[1]
    # The tokenizer of transformers 5 makes no segments for ALBERT unless they are asked for.
    encoded = model.tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True,
                              return_token_type_ids=kind in ("albert", "bert"))
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        output = model.model(**encoded)
    start, end = output.start_logits[0].numpy(), output.end_logits[0].numpy()
    legal = [
        i
        for i, which in enumerate(encoded.sequence_ids(0))
        if which == 1 and context[slice(*offsets[i])].strip()
    ]
    first, last = max(
        ((i, j) for i in legal for j in legal if i <= j < i + 30),
        key=lambda pair: start[pair[0]] + end[pair[1]],
    )
    answer = TorchReader(model, threshold=-1e9).read([(question, context)])[0]
    assert answer is not None
    assert answer.text == context[offsets[first][0] : offsets[last][1]].strip()
    null = float(start[0] + end[0])
    assert answer.score == pytest.approx(float(start[first] + end[last]) - null, abs=1e-4)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_best_span_is_the_brute_force_one(size: int, longest: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    start, end = generator.normal(size=(2, size))
    allowed = (generator.random(size) < 0.6).tolist()
    legal = [
        (float(start[i]) + float(end[j]), i, j)
        for i in range(size)
        for j in range(i, min(size, i + longest))
        if allowed[i] and allowed[j]
    ]
    first, last, score, rival = best_span(start, end, longest, allowed)
    if legal:
        *others, best = sorted(legal)
        assert (score, first, last) == best
        assert rival == (others[-1][0] if others else -np.inf)
    else:
        assert score == rival == -np.inf


def test_best_end_before_best_start_is_no_answer_of_its_own() -> None:
    start, end = np.array([0.0, 1, 9, 0]), np.array([0.0, 9, 1, 0])
    assert best_span(start, end, 30) == (1, 1, 10.0, 10.0)


def spans_of(word: str, null: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """Logits: 5 at the word's tokens, ``null`` at [CLS], else -1."""

    def logits(vocabulary: Any, ids: torch.Tensor) -> Any:
        scores = torch.where(ids == vocabulary[word], 5.0, -1.0)
        scores[:, 0] = null(ids == vocabulary[word])
        return SimpleNamespace(start_logits=scores, end_logits=scores.clone())

    return logits


def test_windows_find_a_late_answer(tmp_path: Path) -> None:
    # "No answer" scores 2 x 3 where the word is missing, 2 x 1 where it is there.
    model = scripted(tmp_path, spans_of("1994", lambda hit: torch.where(hit.any(1), 1.0, 3.0)))
    context = "the red dog sleeps in the house . " * 20 + "it was built in 1994 ."
    answer = TorchReader(model).read([("when was it built?", context)])[0]
    assert len(model.model.seen) > 3
    assert answer == Answer("1994", context.index("1994"), 10.0 - 2.0)
    question = model.tokenizer("when was it built?")["input_ids"]
    assert all(ids[: len(question)] == question for ids in model.model.seen)
    assert all(len(ids) <= 64 for ids in model.model.seen)


def test_every_token_of_a_context_is_in_a_window(tmp_path: Path) -> None:
    for position in (0, 37, 45, 46, 47, 60, 99):
        words = ["dog"] * 100
        words[position] = "1994"
        model = scripted(tmp_path, spans_of("1994", lambda hit: torch.zeros(len(hit))))
        answer = TorchReader(model).read([("when?", " ".join(words))])[0]
        assert answer is not None
        assert answer.start == 4 * position


@pytest.mark.parametrize(("threshold", "found"), [(0.0, True), (7.9, True), (8.0, False)])
def test_threshold(tmp_path: Path, threshold: float, found: bool) -> None:
    model = scripted(tmp_path, spans_of("dog", lambda hit: torch.ones(len(hit))))
    answer = TorchReader(model, threshold=threshold).read([("who?", "a dog")])[0]
    assert (answer is not None) is found


def test_unanswerable_is_none_and_the_question_is_never_the_answer(tmp_path: Path) -> None:
    model = scripted(tmp_path, spans_of("dog", lambda hit: torch.zeros(len(hit))))
    assert TorchReader(model).read([("dog dog dog?", "a cat")]) == [None]


@pytest.mark.parametrize("pair", [("who?", ""), ("who?", " \n"), ("", "a dog"), (" ", "a dog")])
def test_nothing_to_read_is_no_answer_and_no_work(tmp_path: Path, pair: tuple[str, str]) -> None:
    model = scripted(tmp_path, spans_of("dog", lambda hit: torch.zeros(len(hit))))
    assert TorchReader(model).read([pair]) == [None]
    assert model.model.seen == []


def test_equal_pairs_are_read_once(tmp_path: Path) -> None:
    model = scripted(tmp_path, spans_of("dog", lambda hit: torch.zeros(len(hit))))
    answers = TorchReader(model).read([("who?", "a dog"), ("what?", "cat"), ("who?", "a dog")])
    assert len(model.model.seen) == 2
    assert answers[0] == answers[2]
    assert answers[0] is not None
    assert answers[1] is None


@pytest.mark.parametrize("kind", ENCODERS)
def test_question_longer_than_the_window(loaded: Load, kind: str) -> None:
    reader = TorchReader(loaded(f"{kind}/qa"), threshold=-1e9)
    answer = reader.read([("Who is the old man ? " * 60, LONG)])[0]
    assert answer is not None
    assert answer.text in LONG


def test_answers_have_a_length_limit(loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("q2_metric.models.hub.reader.MAX_ANSWER", 2)
    model = loaded("bert/qa")
    for answer in TorchReader(model, threshold=-1e9).read(PAIRS):
        assert answer is not None
        assert len(batches.token_offsets(model.tokenizer, answer.text)) <= 2
