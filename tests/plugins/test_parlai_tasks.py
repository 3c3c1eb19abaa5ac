"""Where each ParlAI task keeps its knowledge: its own teacher over a miniature of its files."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from parlai_wow import FACTS, command, miniature, write

pytest.importorskip("parlai", reason='ParlAI is not installed: pip install "q2-metric[parlai]"')

from parlai_plugin.knowledge import SOURCES, knowledge_of, pieces

FACT, OTHER = FACTS[0][1], FACTS[1][1]
REPLY = "it aired until 1991 ."


def save(folder: Path, name: str, content: object, version: str = "1.0") -> None:
    """Writes a file of a task and marks its folder as downloaded."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    (folder / ".built").write_text(f"2026-01-01\n{version}\n")


def wow(data: Path) -> None:
    write(data, miniature(), miniature())


def cmu_dog(data: Path) -> None:
    section = {"cast": [FACT], "director": OTHER, "other": "not shown"}
    save(data / "cmu_dog", "wiki_data.json", {"0": {"0": {"movieName": "M"}, "1": section}}, "1.2")
    turn = {"docIdx": 1, "uid": "user2", "text": "hi there"}
    talk = {
        "rating": 3,
        "wikiDocumentIdx": 0,
        "whoSawDoc": ["user1"],
        "history": [turn, {**turn, "uid": "user1", "text": REPLY}],
    }
    for fold in ("train", "valid", "test"):
        save(data / "cmu_dog", f"conversations/{fold}_deduped.json", {"a": talk}, "1.2")


def wizard_of_internet(data: Path) -> None:
    def said(selected: list[list[bool]]) -> dict[str, Any]:
        document = {"title": "t", "url": "u", "content": [FACT, OTHER]}
        context = {"contents": [document], "selected_contents": selected}
        return {"action": "Wizard => Apprentice", "text": REPLY, "context": context}

    asked = {"action": "Apprentice => Wizard", "text": "hi there", "context": {}}
    history = [asked, said([[False], [True, False]]), asked, said([[True], [False, False]])]
    episode = {"1": {"apprentice_persona": "i paint .", "dialog_history": history}}
    save(data / "wizard_of_interent", "valid.jsonl", json.dumps(episode) + "\n")


def holl_e(data: Path) -> None:
    rows = []
    for chat, document in enumerate([FACT + "EOD", OTHER, OTHER, OTHER]):
        row = {"chat_id": chat, "query": "and then ?", "response": REPLY, "full": document}
        rows += [row] * 4
    save(data / "holl_e", "raw_test_data.json", rows)


def natural_questions(data: Path) -> None:
    answer = FACT.index("1983")
    row = {
        "question_text": "when did it air",
        "document_html": FACT,
        "annotations": [{"short_answers": [{"start_byte": answer, "end_byte": answer + 4}]}],
    }
    folder = data / "NaturalQuestions_sample"
    save(folder, "valid/nq-valid-sample.jsonl", json.dumps(row) + "\n", "v1.0")


def natural_questions_open(data: Path) -> None:
    row = {"question": "when", "short_answers": ["1983"], "title": "t", "context": FACT}
    save(data / "NaturalQuestionsOpen", "valid_with_gold.json", {"data": [row]}, "1")


def funpedia(data: Path) -> None:
    lines = f"1 passage title: T\n2 personality: P\n3 {FACT}\t{REPLY}\n"
    save(data / "rephrase_sentences", "rephrase_sentences_valid_0703.txt", lines, "v6.0")


Case = tuple[str, Callable[[Path], None], Sequence[str], set[str]]
WOW_FACTS = {fact for _, fact in FACTS}
CASES: dict[str, Case] = {
    "wow generator": ("wizard_of_wikipedia:generator", wow, [], WOW_FACTS),
    "wow dialogue": ("wizard_of_wikipedia", wow, [], WOW_FACTS),
    "wow, all": (
        "wizard_of_wikipedia:generator",
        wow,
        ["--q2-knowledge", "all"],
        # Each topic's passage; that of Coffee has one sentence.
        {OTHER} | {f"{fact}\n{fact}" for fact in WOW_FACTS - {OTHER}},
    ),
    "cmu_dog": ("cmu_dog", cmu_dog, [], {f"cast:{FACT};director:{OTHER};other:not shown"}),
    "cmu_dog, all": (
        "cmu_dog",
        cmu_dog,
        ["--q2-knowledge", "all"],
        {f"cast:{FACT};director:{OTHER}"},
    ),
    "wizard_of_internet": ("wizard_of_internet", wizard_of_internet, [], {FACT}),
    "wizard_of_internet, all": (
        "wizard_of_internet",
        wizard_of_internet,
        ["--q2-knowledge", "all"],
        {f"{FACT}\n{OTHER}"},
    ),
    "holl_e": ("holl_e", holl_e, [], {FACT}),
    "natural_questions": (
        "natural_questions:NaturalQuestionsSample",
        natural_questions,
        ["--use-html", "true"],
        {FACT},
    ),
    "natural_questions open": (
        "natural_questions:NaturalQuestionsOpen",
        natural_questions_open,
        [],
        {FACT},
    ),
    "funpedia": ("funpedia", funpedia, [], {FACT}),
}


@pytest.mark.parametrize("name", CASES)
def test_knowledge_of_the_task(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARLAI_DATAPATH", raising=False)
    task, make, options, expected = CASES[name]
    needs_jsonlines = ("wizard_of_internet", "natural_questions")
    if task.partition(":")[0] in needs_jsonlines and not importlib.util.find_spec("jsonlines"):
        pytest.skip("this ParlAI task needs the package jsonlines")
    data = tmp_path / "data"
    make(data)
    out = tmp_path / "out.jsonl"
    command(
        *["q2_export", "-t", task, "-dp", str(data), "-m", "repeat_label", "--out", str(out)],
        *options,
    )
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["knowledge"] for row in rows} == expected
    assert all(row["knowledge"] not in turn for row in rows for turn in row["history"])


def test_fields() -> None:
    assert pieces("a") == ["a"]
    assert pieces(["a", None, "b"]) == ["a", "b"]
    assert pieces({"title_0": "a"}) == ["a"]
    assert pieces(None) == []
    assert pieces(3) == []


@pytest.mark.parametrize("nothing", ["no_passages_used", "__no_passages_used__", " ", "\ud800"])
def test_no_knowledge(nothing: str) -> None:
    assert knowledge_of(object(), {"checked_sentence": nothing}) == ""
    assert knowledge_of(object(), {"mine": [nothing, "a"]}, field="mine") == "a"


def test_a_task_that_is_not_in_the_table() -> None:
    act = {"checked_sentence": "gold", "knowledge": "all"}
    assert knowledge_of(object(), act) == "gold"
    assert knowledge_of(object(), act, which="all") == "all"
    assert knowledge_of(object(), {"text": "hi"}) == ""
    assert "topical_chat" in SOURCES
