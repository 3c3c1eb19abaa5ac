"""Files as ragas, LangChain, LlamaIndex, chats, pandas and datasets write them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from fakes import judged

from q2_metric.errors import InputError, MissingExtra
from q2_metric.rows.columns import Columns
from q2_metric.rows.fields import Layout, output_row
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.rows.record import passages_of, unfolded
from q2_metric.types import Example, Score

FIRST, SECOND = "The inn is old.", "It opened in 1889.\nIt has 12 rooms."
KNOWLEDGE = f"{FIRST}\n{SECOND}"
ASKED, SAID = "When did it open?", "1889."


def one(tmp_path: Path, row: object, notes: list[str] | None = None) -> Example:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    [found] = read_rows(path, on_read=(notes if notes is not None else []).append)
    assert isinstance(found, Example), found
    return found


def passages(row: Example) -> list[tuple[str, str | None]]:
    return [(row.knowledge[one.start : one.end], one.id) for one in row.passages]


RAGAS = {"question": ASKED, "contexts": [FIRST, SECOND], "answer": SAID, "ground_truth": "In 1889"}
DEEPEVAL = {"input": ASKED, "actualOutput": SAID, "retrievalContext": [FIRST, SECOND],
            "context": ["The inn opened in 1900."]}
RAGAS_NOW = {"user_input": ASKED, "retrieved_contexts": [FIRST, SECOND], "response": SAID,
             "reference": "In 1889"}
DOCUMENTS = [{"id": None, "metadata": {"source": "inn.md"}, "page_content": FIRST,
              "type": "Document"},
             {"id": "b7", "metadata": {"source": "inn.md"}, "page_content": SECOND,
              "type": "Document"}]
LANGCHAIN = {"query": ASKED, "source_documents": DOCUMENTS, "result": "x", "answer": SAID}
RETRIEVAL_QA = {"query": ASKED, "source_documents": DOCUMENTS, "result": SAID}
DUMPED = {"question": ASKED, "answer": SAID, "context": [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "document", "Document"],
     "kwargs": {"metadata": {"source": name}, "page_content": text, "type": "Document"}}
    for name, text in (("inn.md", FIRST), ("b7", SECOND))]}
NODES = {"query": ASKED, "response": SAID, "source_nodes": [
    {"node": {"id_": name, "embedding": None, "metadata": {"file_name": "inn.md"},
              "text": text, "class_name": "TextNode"}, "score": 0.8, "class_name": "NodeWithScore"}
    for name, text in (("n1", FIRST), ("n2", SECOND))]}
STORED = {"query": ASKED, "response": SAID, "nodes": [
    {"__data__": {"id_": name, "metadata": {}, "text_resource": {"text": text}}, "__type__": "1"}
    for name, text in (("n1", FIRST), ("n2", SECOND))]}


@pytest.mark.parametrize(("row", "ids"), [
    (DEEPEVAL, [None, None]), (RAGAS, [None, None]), (RAGAS_NOW, [None, None]),
    (LANGCHAIN, ["inn.md", "b7"]), (RETRIEVAL_QA, ["inn.md", "b7"]),
    (DUMPED, ["inn.md", "b7"]), (NODES, ["n1", "n2"]), (STORED, ["n1", "n2"]),
])
def test_rows_of_rag_libraries(tmp_path: Path, row: dict[str, Any], ids: list[object]) -> None:
    found = one(tmp_path, row)
    assert found == Example(SAID, KNOWLEDGE, question=ASKED)
    assert passages(found) == list(zip((FIRST, SECOND), ids, strict=True))


def test_what_is_read_is_said_in_one_line(tmp_path: Path) -> None:
    notes: list[str] = []
    one(tmp_path, RAGAS | {"model": "a"}, notes)
    assert notes == [
        f"{tmp_path / 'rows.jsonl'}: read response from 'answer', knowledge from 'contexts' "
        "(passages), question from 'question'; kept: 'ground_truth', 'model'"]
    one(tmp_path, {"response": "r", "knowledge": "k"}, notes := [])
    assert notes == []


def test_the_evidence_names_the_passage(tmp_path: Path) -> None:
    row = one(tmp_path, LANGCHAIN)
    start = row.knowledge.index("It has")
    claim = judged(SAID, 0, 0.9, "It has 12 rooms.", start, 0.9)
    out = output_row(0, row, {"scale": Score(row, 0.9, (claim,))}, Layout(["scale"], texts=True))
    assert (out["claims"][0]["passage_number"], out["claims"][0]["passage_id"]) == (2, "b7")
    assert out["passages"] == [{"start": 0, "end": 15, "id": "inn.md"},
                               {"start": 16, "end": 51, "id": "b7"}]
    assert out["question"] == ASKED
    assert out["other"] == {"result": "x"}


CHAT = [
    {"role": "system", "content": "Answer from the documents."},
    {"role": "user", "content": [{"type": "text", "text": ASKED},
                                 {"type": "image_url", "image_url": {"url": "data:"}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps([FIRST, SECOND])},
    {"role": "assistant", "content": SAID},
]
LANGCHAIN_CHAT = [
    {"type": "human", "data": {"content": ASKED}},
    {"type": "tool", "data": {"content": json.dumps(DOCUMENTS)}},
    {"type": "ai", "data": {"content": SAID}},
]
PARTS_CHAT = [
    {"role": "user", "content": ASKED},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
                                  "content": [{"type": "text", "text": FIRST}]},
                                 {"type": "tool_result", "content": SECOND}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"},
                                      {"type": "text", "text": SAID}]},
    {"role": "user", "content": "Thanks."},
]
SHAREGPT = [{"from": "human", "value": ASKED}, {"from": "gpt", "value": SAID}]


@pytest.mark.parametrize(("row", "knowledge"), [
    ({"messages": CHAT}, KNOWLEDGE), ({"messages": LANGCHAIN_CHAT}, KNOWLEDGE),
    ({"messages": PARTS_CHAT}, KNOWLEDGE), ({"user_input": CHAT, "reference": "k"}, "k"),
    ({"conversations": SHAREGPT, "knowledge": "k"}, "k"),
    ({"messages": json.dumps(SHAREGPT), "knowledge": "k"}, "k"),
    # The response stands in its own column too, or in the place of the one in the chat.
    ({"messages": CHAT, "response": SAID, "knowledge": "k"}, "k"),
])
def test_the_last_turn_of_the_assistant_is_the_response(
    tmp_path: Path, row: dict[str, Any], knowledge: str
) -> None:
    assert one(tmp_path, row) == Example(SAID, knowledge, (ASKED,))


def test_a_history_keeps_what_the_assistant_said_before(tmp_path: Path) -> None:
    row = {"history": SHAREGPT, "response": "And 12 rooms.", "knowledge": "k"}
    assert one(tmp_path, row).history == (ASKED, SAID)


def test_a_chat_without_an_answer_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"messages": one, "knowledge": "k"}) + "\n"
                            for one in (SHAREGPT[:1], SHAREGPT)))
    bad, good = read_rows(path)
    assert isinstance(good, Example)
    assert isinstance(bad, BadRow)
    assert bad.error == (f"{path}, line 1: the response (field 'messages') is a chat without a "
                         "turn of the assistant")


@pytest.mark.parametrize(("cell", "found"), [
    (json.dumps([FIRST, "b"]), [FIRST, "b"]), (repr([FIRST, "it's", None]), [FIRST, "it's", None]),
    ("['a' 'b'\n 'c']", ["a", "b", "c"]),  # as numpy prints an array
    (repr(DOCUMENTS), DOCUMENTS), ("[]", []),
    ("[1] a note", "[1] a note"), ("[1, 2]", "[1, 2]"), ("[laughs]", "[laughs]"),
    ("['a', __import__('os')]", "['a', __import__('os')]"), ("[" * 9999 + "]", "[" * 9999 + "]"),
])
def test_cells_that_hold_a_list(cell: str, found: object) -> None:
    assert unfolded(cell) == found


def test_a_json_text_is_knowledge() -> None:
    text = '{"rooms": 12}'
    assert passages_of(text, "k") == passages_of([text], "k") == [(text, None)]


def test_a_table_of_pandas(tmp_path: Path) -> None:
    path, notes = tmp_path / "rows.csv", list[str]()
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["answer", "contexts"], [SAID, repr([FIRST, SECOND])],
                                    [SAID, "[Document(metadata={}, page_content='x')]"]])
    first, second = read_rows(path, on_note=notes.append)
    assert isinstance(first, Example)
    assert isinstance(second, Example)
    assert [text for text, _ in passages(first)] == [FIRST, SECOND]
    assert second.passages == ()
    assert "looks like a list, but it is neither JSON nor a Python list" in notes[0]


COLUMNS = {key: [value, value] for key, value in RAGAS.items()}


@pytest.mark.parametrize("document", [
    [RAGAS, RAGAS], {"data": [RAGAS, RAGAS]}, {"version": 1, "examples": [RAGAS, RAGAS]},
    {"mine": [RAGAS, RAGAS]}, {"0": [RAGAS, RAGAS]}, {"0": RAGAS, "1": RAGAS}, COLUMNS,
    {key: dict(enumerate(values)) for key, values in COLUMNS.items()},
    {"columns": list(RAGAS), "index": [0, 1], "data": [list(RAGAS.values())] * 2},
])
@pytest.mark.parametrize("indent", [None, 1])
def test_json_documents(tmp_path: Path, document: object, indent: int | None) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(document, indent=indent) + "\n")
    assert list(read_rows(path)) == [Example(SAID, KNOWLEDGE, question=ASKED)] * 2


def test_jsonl_that_is_called_json_and_documents_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(f"{json.dumps(RAGAS)}\n{json.dumps(RAGAS)}\n")
    assert len(list(read_rows(path))) == 2
    path.write_text(json.dumps([RAGAS, 3]))
    _, bad = read_rows(path)
    assert isinstance(bad, BadRow)
    assert bad.error == f"{path}, row 2: is not a JSON object but a number"
    for text, words in (("{", "is not JSON"), ("3", "holds a number, not a list of rows")):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            list(read_rows(path))


def test_columns_of_objects_and_groups(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"inputs": {"q": ASKED}, "outputs": {"a": SAID, "docs": [FIRST]},
                                "run": {"model": "m"}, "vector": [0.5] * 9000}) + "\n")
    columns = Columns("outputs.a", "outputs.docs", question="inputs.q")
    [row] = read_rows(path, columns, group_by=["run.model"])
    assert row == Example(SAID, FIRST, question=ASKED)
    assert isinstance(row, Example)
    assert row.other["run.model"] == "m"
    assert "vector" not in row.other
    with pytest.raises(InputError, match="there is no column 'system' for --group-by"):
        list(read_rows(path, columns, group_by=["system"]))


def test_folders_of_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_list([RAGAS, RAGAS | {"answer": "No."}])
    made.save_to_disk(tmp_path / "plain", num_shards=2)
    first, second = read_rows(tmp_path / "plain")
    assert first == Example(SAID, KNOWLEDGE, question=ASKED)
    assert isinstance(second, Example)
    assert second.response == "No."
    datasets.DatasetDict(test=made).save_to_disk(tmp_path / "one")
    assert len(list(read_rows(tmp_path / "one"))) == 2
    datasets.DatasetDict(test=made, train=made).save_to_disk(tmp_path / "two")
    with pytest.raises(InputError, match=r"has the splits test, train; name one of .*two/test"):
        list(read_rows(tmp_path / "two"))
    assert len(list(read_rows(tmp_path / "two" / "test"))) == 2
    [part, *_] = sorted((tmp_path / "plain").glob("*.arrow"))
    part.write_bytes(part.read_bytes()[:200])
    with pytest.raises(InputError, match="is not a readable Arrow file"):
        list(read_rows(tmp_path / "plain"))


def test_a_folder_of_datasets_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "a.arrow"}]}')
    (tmp_path / "a.arrow").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r'pip install "q2-metric\[parquet\]"'):
        list(read_rows(tmp_path))


def test_an_id_that_is_not_unicode(tmp_path: Path) -> None:
    row = one(tmp_path, {"response": SAID, "knowledge": [{"id": "\ud800", "text": FIRST}]})
    assert passages(row) == [(FIRST, "?")]


def test_messages_of_opentelemetry(tmp_path: Path) -> None:
    row = one(tmp_path, {"messages": [
        {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": FIRST},
                                   {"type": "tool_call_response", "id": "2", "response": {"a": 1}},
                                   {"type": "tool_call_response", "id": "3", "result": SECOND}]},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."},
                                        {"type": "text", "content": SAID}]}]})
    assert (row.response, row.history) == (SAID, (ASKED,))
    assert passages(row) == [(FIRST, None), ('{"a": 1}', None), (SECOND, None)]
