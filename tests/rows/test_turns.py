"""Each turn of a chat is scored by what tools had returned until then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from q2_metric.engine.job import Job
from q2_metric.rows.columns import Columns
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.rows.record import Record
from q2_metric.types import Example

CHAT = [
    {"role": "user", "content": "Hello, I need help."},
    {"role": "assistant", "content": "How can I help?"},
    {"role": "user", "content": "When did it open?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    {"role": "tool", "content": "The tower opened in 1889."},
    {"role": "assistant", "content": "It opened in 1889."},
    {"role": "user", "content": "And how tall is it?"},
    {"role": "tool", "content": '[{"page_content": "It is 330 metres tall.", "id": "b7"}]'},
    {"role": "assistant", "content": "It is 330 metres tall."},
]


def read(*rows: Any, **options: Any) -> list[Any]:
    given = [Record(f"row {place}", row) for place, row in enumerate(rows, start=1)]
    return list(read_rows("chats", given=given, turns="all", blank=True, **options))


def test_each_turn_is_a_row() -> None:
    lines: list[str] = []
    first, second, third = read({"id": "c", "messages": CHAT, "model": "m"}, on_read=lines.append)
    assert "read response from 'messages' (each turn of the assistant)" in lines[0]
    assert [row.response for row in (first, second, third)] == [
        "How can I help?", "It opened in 1889.", "It is 330 metres tall."]
    assert [row.knowledge for row in (first, second, third)] == [
        "", "The tower opened in 1889.", "The tower opened in 1889.\nIt is 330 metres tall."]
    assert second.history == ("Hello, I need help.", "How can I help?", "When did it open?")
    assert [row.id for row in (first, second, third)] == ["c:1", "c:2", "c:3"]
    assert [row.other for row in (first, third)] == [
        {"model": "m", "turn": 1}, {"model": "m", "turn": 3}]
    assert [passage.id for passage in third.passages] == [None, "b7"]


def test_the_last_turn_is_the_default() -> None:
    [last] = read_rows("chats", given=[Record("row 1", {"id": "c", "messages": CHAT})])
    assert isinstance(last, Example)
    assert (last.id, last.response, last.other) == ("c", "It is 330 metres tall.", {})


def test_no_row_is_lost() -> None:
    rows = read({"messages": CHAT}, {"messages": CHAT[:1]}, {"messages": "plain text"},
                {"messages": [{"role": "tool", "content": 3}, *CHAT[1:2]]}, {"messages": CHAT[:2]})
    assert [row.response if isinstance(row, Example) else None for row in rows] == [
        "How can I help?", "It opened in 1889.", "It is 330 metres tall.", None, None, None,
        "How can I help?"]
    silent, text, broken = (row.error for row in rows if isinstance(row, BadRow))
    assert silent == text.replace("row 3", "row 2") == (
        "row 2: --turns all needs a chat with a turn of the assistant (the response is read from "
        "the field 'messages')")
    assert "row 4, turn 1: the response (field 'messages') has a message whose content" in broken


def test_a_file_without_chats() -> None:
    [row] = read({"response": "It opened.", "knowledge": "It opened."})
    assert "(the response is read from the field 'response')" in row.error


def test_a_job_of_turns(tmp_path: Path) -> None:
    """A turn before any tool has no knowledge: it has no score, and is no error."""
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({"messages": CHAT}) + "\n")
    job = Job((str(path),), Columns(), ("knowledge_f1",), turns="all")
    assert job.settings["turns"] == "all"
    assert "turns" not in Job((str(path),), Columns(), ("knowledge_f1",)).settings
    [block] = job.blocks(str(path))
    rows, _ = job.score(job.load(), str(path), 0, block)
    assert [row["reason"] for row in rows] == ["no_knowledge", None, None]
    assert [row["error"] for row in rows] == [None, None, None]
    assert [row["knowledge_f1"] for row in rows] == [
        None, pytest.approx(2 / 3), pytest.approx(10 / 13)]


def test_results_of_tools_may_be_json() -> None:
    chat = [{"role": "tool", "content": '{"opened": 1889}'}, *CHAT[5:6]]
    [row] = read({"messages": chat})
    assert row.knowledge == '{"opened": 1889}'
