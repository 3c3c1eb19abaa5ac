"""Hostile texts through the bundled models themselves, and scores that do not depend on company."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from q2_metric.engine.cache import Cache
from q2_metric.engine.cached import CachedMetric
from q2_metric.errors import MachineFault, ModelError
from q2_metric.metrics import load_metrics
from q2_metric.models.bundled import models, on_onnx, stored
from q2_metric.scoring.scores import score_rows, score_with
from q2_metric.types import Comparison, Example, Judgement, Metric

KNOWLEDGE = "Smeaton's Tower was designed by James Douglass and first lit in 1882. It is 49 m high."
HOSTILE = (
    "[CLS] [SEP] [PAD] [MASK] [UNK] </s> <extra_id_0> it was lit in 1882 . [SEP] it is 49 m high .",
    "\u202eit was lit in 1882\u202c\u2066 by \u200b\u200dJames\ufeff Douglass\x00\x07\x1b[31m .",
    "Z̴̡͎̈́a̷͖̓l̵̠͝g̸̣̾o̶̯͑ was lit in 1882 .",
    "👩‍👩‍👧‍👦🏳️‍🌈 was 🔥 lit 🔥 in 1️⃣8️⃣8️⃣2️⃣ 🇬🇧 !!!",
    "塔楼于1882年首次点亮。 تم إضاءة البرج لأول مرة في عام 1882. Башня была зажжена в 1882 году.",
    "ｉｔ ｗａｓ ｌｉｔ ｉｎ １８８２ ．",
    "it" * 3000,
    "1882" * 1000,
    "(" * 400 + "it was lit in 1882" + ")" * 400,
    "\n" * 300 + "it was lit\r\rin\u2028 1882\u2029.\t\v\f\x85",
    "it was lit in 1882 . " * 60,
    '"""\'\'\'`` it was "lit" in \'1882\' `` \'\'',
    "<script>alert(1882)</script> {{ 7*7 }} ${x} %s %n ../../etc/passwd ' OR 1=1 --",
    "was. Was? WAS! was... was;was:was,was/was\\was|was_was-was–was—was",
    "It was lit in -1882.0e+10, 1,882, 1.882, 18:82, 18/82, $18.82, 1882th and 18²82½.",
    "\ue000\uf8ff\U000f0000\ufffd\ufffe it was lit in 1882",
)
NAMES = ("q2", "scale", "nli", "groundedness")


@cache
def metrics() -> dict[str, Metric]:
    return {metric.name: metric for metric in load_metrics(NAMES)}


@pytest.mark.parametrize("name", NAMES)
def test_any_text_is_scored(name: str) -> None:
    """As response and as knowledge; what a score rests on is where it says."""
    examples = [Example(text, KNOWLEDGE, ("Hi \x00 !", text[:80])) for text in HOSTILE]
    examples += [Example("it was lit in 1882 .", text) for text in HOSTILE]
    found = score_with(metrics()[name], examples, evidence=True)
    assert len(found) == len(examples)
    for example, score in zip(examples, found, strict=True):
        assert score.example is example
        assert score.value is None or 0 <= score.value <= 1
        assert (score.value is None) == (score.reason is not None)
        for item in score.evidence:
            if isinstance(item, Comparison):
                span = item.question.span
                assert example.response[span.start :].startswith(span.text)
                if item.knowledge_start is not None and item.knowledge_answer is not None:
                    assert example.knowledge[item.knowledge_start :].startswith(
                        item.knowledge_answer)
            elif isinstance(item, Judgement):
                assert 0 <= item.claim.start < item.claim.end <= len(example.response)
                if item.passage is not None and item.passage_start is not None:
                    assert example.knowledge[item.passage_start :].startswith(item.passage)
    assert any(score.value is not None for score in found)


ORDINARY = [
    Example("it was lit in 1882 .", KNOWLEDGE),
    Example("i love it ! it is 94 m high , isn't it ?", KNOWLEDGE),
    Example("James Douglass designed Smeaton's Tower. It was first lit in 1982.", KNOWLEDGE * 4),
    Example("Rome has seven hills.", "Rome was built on 7 hills. " * 30),
    Example("it is high .", KNOWLEDGE, ("how high is it ?",)),
]


@pytest.mark.parametrize("name", ["q2", "scale"])
def test_a_score_does_not_depend_on_its_company(name: str, tmp_path: Path) -> None:
    """The same batch gives the same bits, on threads and out of a cache; another, to 1e-6."""
    metric = metrics()[name]

    def values(examples: Sequence[Example]) -> list[float | None]:
        return [score.value for score in metric.score(examples)]

    together = values(ORDINARY)
    assert values(ORDINARY) == together
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(values, [ORDINARY] * 3)) == [together] * 3
    for _ in range(2):
        kept = CachedMetric(name, lambda: metric, Cache(tmp_path / "c"))
        assert [score.value for score in kept.score(ORDINARY)] == together
    order = random.Random(0).sample(range(len(ORDINARY)), len(ORDINARY))
    mixed = values([ORDINARY[i] for i in order])
    alone = [values([example])[0] for example in ORDINARY]
    for i, value in enumerate(together):
        for other in (alone[i], mixed[order.index(i)]):
            assert (other is None) == (value is None)
            assert value is None or other == pytest.approx(value, abs=1e-6)


@cache
def usual(name: str) -> list[float | None]:
    return [score.value for score in metrics()[name].score(ORDINARY)]


def loaded(monkeypatch: pytest.MonkeyPatch, threads: int, optimised: bool) -> list[Metric]:
    """The metrics, computed with so many threads of ONNX Runtime, on its own graph or ours."""
    import onnxruntime

    def options() -> object:
        made = real()
        if not optimised:
            made.graph_optimization_level = level.ORT_DISABLE_ALL
        asked.append(made)
        return made

    real, level = onnxruntime.SessionOptions, onnxruntime.GraphOptimizationLevel
    asked: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(models, "threads", lambda: threads)
        patch.setattr(onnxruntime, "SessionOptions", options)
        on_onnx.forward_of.cache_clear()
        found = load_metrics(["q2", "scale"])
        on_onnx.wait_until_open()
    on_onnx.forward_of.cache_clear()
    assert {one.intra_op_num_threads for one in asked} == {models.shared(threads)[1]}
    return found


@pytest.mark.parametrize(("threads", "optimised"), [(1, True), (2, True), (2, False), (16, True)])
def test_a_score_does_not_depend_on_how_it_is_computed(
    monkeypatch: pytest.MonkeyPatch, threads: int, optimised: bool
) -> None:
    """ONNX Runtime cannot be told which processor to compute for; it can be told these."""
    for metric in loaded(monkeypatch, threads, optimised):
        found = [score.value for score in metric.score(ORDINARY)]
        assert found == [pytest.approx(value, abs=1e-6) for value in usual(metric.name)]


ONE = [Example("Rome is in Italy.", "Rome is the capital of Italy.")]


def test_a_network_that_cannot_be_opened_is_no_fault_of_a_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is opened in the background, and the first batch says so; later it may be mended."""
    def no_memory(*_arguments: object) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        on_onnx.forward_of.cache_clear()
        patch.setattr(on_onnx, "open_network", no_memory)
        (scale,) = load_metrics(["scale"], "bundled-small")
        with pytest.raises(MachineFault, match="entailment network cannot be opened: out of"):
            score_rows([scale], ONE, on_fault=lambda *_: None)
    (scale,) = load_metrics(["scale"], "bundled-small")
    assert scale.score(ONE)[0].value is not None
    with monkeypatch.context() as patch:
        patch.setattr(stored, "WEIGHTS", tmp_path)
        on_onnx.forward_of.cache_clear()
        with pytest.raises(ModelError, match="missing"):
            load_metrics(["scale"], "bundled-small")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_opens_networks_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the metrics it inherited, too, where they were not open when it was forked."""
    on_onnx.wait_until_open()  # its thread is in this process
    real, go_on = on_onnx.open_network, threading.Event()

    def opened(*asked: Any) -> Any:
        if os.getpid() == parent:
            go_on.wait(60)
        return real(*asked)

    parent = os.getpid()
    on_onnx.forward_of.cache_clear()
    monkeypatch.setattr(on_onnx, "open_network", opened)
    try:
        (scale,) = load_metrics(["scale"], "bundled-small")
        context = multiprocessing.get_context("fork")
        child = context.Process(target=lambda: scale.score(ONE))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        child.join(60)
        child.kill()
    finally:
        go_on.set()
        on_onnx.forward_of.cache_clear()
    assert child.exitcode == 0
