"""The papers' figures: none is lost, and each stands in the text of its paper."""

from __future__ import annotations

import os
import re
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from q2_metric import evaluation
from q2_metric.data.readers import SYSTEMS
from q2_metric.evaluation.agreement import SETS
from q2_metric.evaluation.reproduce.table import Key, published

FILES = Path(evaluation.__file__).with_name("papers")
TEXTS = {"q2-emnlp": "q2-emnlp-2021.txt", "q2-v1": "q2-arxiv-v1.txt",
         "scale": "scale-emnlp-2023.txt", "rss-egr": "rss-egr-dstc9.txt"}
COUNTS = {
    "q2-emnlp": {3: 3, 4: 5, 7: 9},
    "q2-v1": {2: 36, 3: 12, 4: 9, 5: 9, 6: 8, 7: 32, 8: 6, 9: 6},
    "scale": {3: 144, 4: 72, 5: 30, 6: 10, 7: 8},
    "rss-egr": {2: 28, 3: 15, 4: 9, 5: 16, 6: 24},
}
RUNNING = {"q2-v1": (["68.46"], ["0.6773", "0.6162"])}
"""Figures that stand in the running text beside a table."""
NEAR = 130
"""How many characters may stand between two figures that follow one another in a table."""


def printed(paper: str) -> list[list[str]]:
    """The cells of each line of a paper's file, without its head."""
    lines = (FILES / f"{paper}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")][1:]


def stands(text: str, figures: list[str]) -> bool:
    """Whether the figures stand in the text one after the other, each near the one before and with
    no other decimal figure between them."""
    first, *rest = [re.compile(rf"(?<![\w.-]){re.escape(one)}(?![\d]|\.\d)") for one in figures]
    for start in first.finditer(text):
        place = start.end()
        for figure in rest:
            found = figure.search(text, place, place + NEAR)
            if not found or re.search(r"\d\.\d", text[place:found.start()]):
                break
            place = found.end()
        else:
            return True
    return False


@pytest.mark.parametrize("paper", COUNTS)
def test_no_figure_is_lost(paper: str) -> None:
    counts = Counter(int(row[0]) for row in printed(paper))
    assert counts == COUNTS[paper]
    keys = {n: len(figures) for n, figures in published(paper).items()}
    assert keys == counts, "no two have one key"


def test_no_figure_changes_unseen() -> None:
    cells = "\n".join("\t".join(row) for paper in COUNTS for row in printed(paper))
    assert sha256(cells.encode()).hexdigest()[:16] == (
        "2fafea7884ac4d16"), "compare the papers, then change this"


@pytest.mark.parametrize(("paper", "table"), [
    (paper, table) for paper, tables in COUNTS.items() for table in tables])
def test_each_table_stands_in_the_text_of_its_paper(paper: str, table: int) -> None:
    folder = os.environ.get("Q2_PAPERS_DIR")
    if not folder:
        pytest.skip(f"set Q2_PAPERS_DIR to the folder with {', '.join(TEXTS.values())}")
    text = (Path(folder) / TEXTS[paper]).read_text(encoding="utf-8")
    running = RUNNING.get(paper, ())
    assert all(stands(text, figures) for figures in running)
    beside = {figure for figures in running for figure in figures}
    assert stands(text, [row[6] for row in printed(paper)
                         if row[0] == str(table) and row[6] not in beside])


@pytest.mark.parametrize(("figures", "expected"), [
    (["84.3", "77.2", "1"], True), (["77.2", "84.3"], False), (["84.3", "1"], False),
    (["4.3"], False), (["84"], False),
])
def test_standing(figures: list[str], expected: bool) -> None:
    assert stands("T5 | BERT | 84.3 | **77.2** | 1.", figures) is expected


def test_a_figure_is_of_one_version_model_size_and_variant() -> None:
    def value(paper: str, table: int, *key: Any) -> float | None:
        return published(paper)[table].get(Key(*key))

    def auc(model: str, data: str, size: str = "") -> float | None:
        return value("scale", 3, model, size, "", data, "ROC-AUC")

    assert [auc("bertscore", name) for name in ("frank", "summeval", "mnbm")] == [.843, .772, .628]
    assert auc("scale", "q2") is None, "without its size"
    assert [auc("scale", "q2", f"flan-t5-{size}") for size in ("large", "xl", "xxl")] == [
        0.843, 0.863, 0.866]
    assert value("q2-emnlp", 4, "q2", "", "", "WoW", "Spearman") == 0.9798
    assert value("q2-v1", 4, "q2", "", "", "WoW", "Spearman") is None
    assert value("q2-v1", 5, "q2", "", "answerable questions only",
                 "DNLI, pairs that are not neutral", "accuracy") == 0.6962
    assert value("scale", 6, "GPT-4", "", "", "ScreenEval", "cost") == 102


def test_the_data_are_named_as_ours() -> None:
    theirs = {key.data for key in published("scale")[3]} - {"average"}
    assert set(SETS) - {"dialfact_a"} <= theirs
    assert {key.data for key in published("q2-v1")[9]} == {
        f"{SYSTEMS[0]} {kind}" for kind in ("consistent", "inconsistent", "random")}
