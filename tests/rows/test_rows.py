from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import judged
from limits import fill, small_disk

from q2_metric.errors import InputError, MissingExtra, WriteError
from q2_metric.files import replacing
from q2_metric.rows import formats
from q2_metric.rows.columns import ALIASES, Columns
from q2_metric.rows.fields import (
    CLAIMS,
    QUESTIONS,
    TEXTS,
    Layout,
    OutputRow,
    output_row,
    with_texts,
)
from q2_metric.rows.formats import read_fields
from q2_metric.rows.read import PEEKED, BadRow, read_rows
from q2_metric.rows.writers import check_output, write_rows
from q2_metric.types import Comparison, Example, Question, Score, Span, Verdict

GOOD = {"response": "r", "knowledge": "k"}


def write_jsonl(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path, **columns: str) -> list[Example | BadRow]:
    return list(read_rows(path, Columns(**columns)))


def read_one(path: Path, row: object, **columns: str) -> Example | BadRow:
    """The first of two rows; the second is good and shows which columns there are."""
    first, second = read(write_jsonl(path, row, {**GOOD, "history": []}), **columns)
    assert second == Example("r", "k")
    return first


# --- jsonl -----------------------------------------------------------------------------


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_jsonl_keeps_texts_as_they_are(jsonl: Path) -> None:
    row = {"response": " nan ", "knowledge": "None\u2028é", "history": ["null"], "id": 7}
    (example,) = read(write_jsonl(jsonl, row))
    assert example == Example(" nan ", "None\u2028é", ("null",))
    assert example.id == "7"


def test_bom_blank_lines_and_windows_line_ends(jsonl: Path) -> None:
    jsonl.write_bytes(
        b'\xef\xbb\xbf{"response": "a", "knowledge": "k"}\r\n\r\n'
        b'{"response": "b", "knowledge": "k"}'
    )
    assert read(jsonl) == [Example("a", "k"), Example("b", "k")]


KNOWLEDGE = "the knowledge (field 'knowledge')"
KNOWLEDGE_IS, HISTORY_IS = f"{KNOWLEDGE} is", "the history (field 'history') is"
BLANK = "has no visible character"
WANTED = ", not a string or a list of strings"


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"knowledge": "k"}, "the response is missing: the row has no field 'response'"),
        ({"response": "r"}, "the knowledge is missing: the row has no field 'knowledge'"),
        ({**GOOD, "response": ""}, "the response (field 'response') is empty"),
        ({**GOOD, "response": " \n\t"}, "the response (field 'response') is empty"),
        ({**GOOD, "knowledge": "\u3000"}, "the knowledge (field 'knowledge') is empty"),
        ({**GOOD, "response": "\u200b"}, f"the response (field 'response') {BLANK}"),
        ({**GOOD, "knowledge": " \u200b\ufeff\x00\n"}, f"{KNOWLEDGE} {BLANK}"),
        ({**GOOD, "knowledge": []}, "the knowledge (field 'knowledge') is empty"),
        ({**GOOD, "knowledge": ["", " "]}, "the knowledge (field 'knowledge') is empty"),
        ({**GOOD, "response": None}, "the response (field 'response') is empty"),
        ({**GOOD, "response": 3}, "the response (field 'response') is a number, not a string"),
        ({**GOOD, "response": True},
         "the response (field 'response') is true or false, not a string"),
        ({**GOOD, "response": ["r"]},
         "the response (field 'response') is a list of strings, not a string"),
        ({**GOOD, "knowledge": {"a": 1}},
         f"{KNOWLEDGE_IS} an object without a text: its fields are 'a', and none of them is "
         "page_content, text, content, passage, chunk, document, snippet, body"),
        ({**GOOD, "knowledge": ["a", {"url": "u"}]},
         f"{KNOWLEDGE}, item 2 is an object without a text: its fields are 'url', and none of "
         "them is "
         "page_content, text, content, passage, chunk, document, snippet, body"),
        ({**GOOD, "knowledge": [None]}, "the knowledge (field 'knowledge') is empty"),
        ({**GOOD, "knowledge": ["a", ["b"]]}, f"{KNOWLEDGE_IS} a list with a list in it{WANTED}"),
        ({**GOOD, "history": 3}, f"{HISTORY_IS} a number{WANTED}"),
        ({**GOOD, "history": {}}, f"{HISTORY_IS} an object{WANTED}"),
        ({**GOOD, "history": ["a", 3]}, f"{HISTORY_IS} a list with a number in it{WANTED}"),
        ({**GOOD, "response": "a\ud800"},
         "the response (field 'response') is not valid Unicode at character 2"),
        ([1], "is not a JSON object but a list with a number in it"),
        ("text", "is not a JSON object but a string"),
        ([], "is not a JSON object but an empty list"),
        (1.5, "is not a JSON object but a number"),
        (None, "is not a JSON object but null"),
    ],
)
def test_a_row_that_cannot_be_scored_keeps_its_place(jsonl: Path, row: object, error: str) -> None:
    bad = read_one(jsonl, row)
    assert isinstance(bad, BadRow)
    assert bad == BadRow(0, None, f"{jsonl}, line 1: {error}")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"{", "is not JSON"),
        (b'{"response": "r", "knowledge": "k"} x', "is not JSON (Extra data at character 37)"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"response": "\xff"}', "(field 'response') is not valid Unicode at character 1"),
        (b"nan", "is not JSON"),
        (b"[", "for a single JSON document, name the file .json or use --format json"),
    ],
)
def test_lines_that_cannot_be_read(jsonl: Path, line: bytes, error: str) -> None:
    jsonl.write_bytes(b'{"response": "r", "knowledge": "k"}\n\n' + line + b"\n")
    good, bad = read(jsonl)
    assert isinstance(good, Example)
    assert isinstance(bad, BadRow)
    assert bad.index == 1
    assert bad.error.startswith(f"{jsonl}, line 3: ")  # blank lines count as lines
    assert error in bad.error


def test_a_bad_row_keeps_its_id(jsonl: Path) -> None:
    write_jsonl(jsonl, {**GOOD, "id": "x1"}, {"response": "", "knowledge": "k", "id": "x2"})
    _, bad = read(jsonl)
    assert isinstance(bad, BadRow)
    assert (bad.index, bad.id) == (1, "x2")


def test_only_bad_rows(jsonl: Path) -> None:
    jsonl.write_text("{\n[]\n{}\n")
    assert [row.index for row in read(jsonl) if isinstance(row, BadRow)] == [0, 1, 2]


def test_empty_file(jsonl: Path) -> None:
    jsonl.write_text("")
    assert read(jsonl) == []


def test_passages_are_joined(jsonl: Path) -> None:
    assert read_one(jsonl, {**GOOD, "knowledge": ["a", "b"]}) == Example("r", "a\nb")


@pytest.mark.parametrize(
    ("history", "turns"),
    [
        ("hi\n\nhello", ("hi", "hello")),
        ("hi", ("hi",)),
        ("", ()),
        (None, ()),
        (["hi", "", "hello"], ("hi", "hello")),
        ([{"role": "user", "content": "hi"}, "hello"], ("hi", "hello")),
    ],
)
def test_history(jsonl: Path, history: object, turns: tuple[str, ...]) -> None:
    assert read_one(jsonl, {**GOOD, "history": history}) == Example("r", "k", turns)


def test_reading_streams(jsonl: Path) -> None:
    write_jsonl(jsonl, *[GOOD] * (PEEKED + 1))
    with jsonl.open("ab") as file:
        file.write(b"\xff\n")
    rows = read_rows(jsonl)
    assert isinstance(next(rows), Example)
    assert sum(isinstance(row, BadRow) for row in rows) == 1


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(b'{"response": "r", "knowledge": "k"}\n{\n'))
    monkeypatch.setattr(sys, "stdin", stdin)
    good, bad = read_rows("-")
    assert good == Example("r", "k")
    assert isinstance(bad, BadRow)
    assert bad.error.startswith("standard input, line 2: ")


# --- columns ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "example"),
    [
        ({"prediction": "r", "reference": "k"}, Example("r", "k")),
        ({"generated_text": "r", "grounding": "k", "label": "1"}, Example("r", "k")),
        ({"output": "r", "context": "k", "dialogue": "h"}, Example("r", "k", ("h",))),
        ({"question": "q", "answer": "r", "evidence": "k"}, Example("r", "k", question="q")),
        # A context may be the dialogue: what can only be knowledge comes before it.
        ({"context": ["h"], "response": "r", "evidence": "k"}, Example("r", "k")),
        ({"context": "h", "reference": "x", "response": "r", "document": "k"}, Example("r", "k")),
        ({"context": "h", "response": "r", "passages": ["k", "l"]}, Example("r", "k\nl")),
        ({"context": "h", "response": "r", "grounding": "k"}, Example("r", "k")),
        ({"reference": "gold", "response": "r", "context": "k"}, Example("r", "k")),
        ({"reference": "gold", "response": "r", "retrieved_contexts": ["k", "l"]},
         Example("r", "k\nl")),
        ({"reference": "k", "response": "r"}, Example("r", "k")),
        ({" Response ": "r", "KNOWLEDGE": "k", "Message": "h"}, Example("r", "k", ("h",))),
        # The better name wins, wherever it stands.
        ({"context": "x", "answer": "y", "knowledge": "k", "response": "r"}, Example("r", "k")),
    ],
)
def test_usual_names_are_found(jsonl: Path, fields: object, example: Example) -> None:
    assert read(write_jsonl(jsonl, fields)) == [example]


def test_names_can_be_given(jsonl: Path) -> None:
    row = {"response": "x", "mine": "r", "knowledge": "y", "src": "k", "history": "h", "n": "9"}
    write_jsonl(jsonl, row)
    (example,) = read(jsonl, response="mine", knowledge="src", history="", id="n")
    assert example == Example("r", "k")
    assert example.id == "9"


def test_the_columns_are_told(jsonl: Path) -> None:
    told: list[Columns] = []
    write_jsonl(jsonl, {"context": ["h"], "output": "r", "Evidence": "k", "uid": 1})
    list(read_rows(jsonl, on_columns=told.append))
    assert told == [Columns("output", "Evidence", None, "uid")]
    jsonl.write_text("")
    list(read_rows(jsonl, on_columns=told.append))
    assert len(told) == 1


def test_no_column_for_the_knowledge(jsonl: Path) -> None:
    write_jsonl(jsonl, {"response": "r", "foo": 1, "bar": 2})
    with pytest.raises(InputError) as caught:
        read(jsonl)
    assert str(caught.value) == (
        f"{jsonl}: no column looks like the knowledge; the columns are 'response', 'foo', 'bar'; "
        "name it with --knowledge (in Python: Columns(knowledge=...))"
    )


def test_a_response_that_is_not_needed(jsonl: Path) -> None:
    jsonl.write_text('{"knowledge": "k", "prediction": "p", "gold": "g"}\n')
    own = {**ALIASES, "response": ("target",)}
    assert list(read_rows(jsonl, aliases=own, need_response=False)) == [Example("", "k")]
    own["response"] = ("gold",)
    assert list(read_rows(jsonl, aliases=own, need_response=False)) == [Example("g", "k")]
    write_jsonl(jsonl, {"knowledge": "k", "gold": "g"}, {"knowledge": "k", "gold": " "},
                {"knowledge": "k", "gold": None}, {"knowledge": "k"}, {"knowledge": "k", "gold": 3})
    *rows, last = read_rows(jsonl, aliases=own, need_response=False)
    assert rows == [Example(gold, "k") for gold in ("g", "", "", "")]
    assert isinstance(last, BadRow)
    assert "is a number" in last.error


def test_a_given_name_that_is_not_there(jsonl: Path) -> None:
    write_jsonl(jsonl, GOOD)
    with pytest.raises(InputError, match=r"no column 'x' for the response; .* 'response', 'kn"):
        read(jsonl, response="x")


# --- csv and tsv -----------------------------------------------------------------------


def test_csv_text_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(
        b'\xef\xbb\xbfid,response,knowledge\r\n1,nan,"a, ""b""\nc"\r\n2,None,null\r\n3,NA,01.50\r\n'
    )
    rows = read(path)
    assert rows == [Example("nan", 'a, "b"\nc'), Example("None", "null"), Example("NA", "01.50")]
    assert [row.id for row in rows] == ["1", "2", "3"]


def test_csv_rows_that_cannot_be_scored(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(
        b'response,knowledge\n"two\nlines",k\n\nshort\nr,k,more\n"stray" quote,k\n\xff,k\n,k\nr,k\n'
    )
    errors = [
        row.error.removeprefix(f"{path}, ") if isinstance(row, BadRow) else row.response
        for row in read(path)
    ]
    assert errors == [
        "two\nlines",
        "line 5: the knowledge is missing: the row has no field 'knowledge'",
        "line 6: has 3 fields where the header has 2",
        "line 7: has a misplaced quotation mark (',' expected after '\"')",
        "line 8: the response (field 'response') is not valid Unicode at character 1",
        "line 9: the response (field 'response') is empty",
        "r",
    ]


@pytest.mark.parametrize("header", ["response;knowledge", '"response";"knowledge"'])
def test_csv_with_semicolons(tmp_path: Path, header: str) -> None:
    """As spreadsheets write it where 1,5 is a number."""
    path = tmp_path / "rows.csv"
    path.write_text(f'{header}\nIt costs 1,5.;"A; ""b"""\nonly one\nr;k;more\n')
    first, second, third = read(path)
    assert first == Example("It costs 1,5.", 'A; "b"')
    assert isinstance(second, BadRow)
    assert second.error.startswith(f"{path}, line 3: the knowledge is missing")
    assert isinstance(third, BadRow)
    assert third.error == f"{path}, line 4: has 3 fields where the header has 2"


def test_csv_quote_that_is_never_closed(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('response,knowledge\nr,k\n"open,k\nr,k\n')
    good, bad, after = read(path)
    assert good == after == Example("r", "k")
    assert isinstance(bad, BadRow)
    assert bad.error == (
        f"{path}, line 3: has a misplaced quotation mark (unexpected end of data)"
    )


def shown(rows: Sequence[Example | BadRow]) -> list[str]:
    """The responses; of bad rows the line."""
    return [
        row.error.split(": ")[0].split(", ")[-1] if isinstance(row, BadRow) else row.response
        for row in rows
    ]


@pytest.mark.parametrize(
    "fourth",
    [
        '"so it goes\tk4',  # closes the first quote and goes on: an error of quoting
        "a \"word\" in quotes\tk4",
        'x\tends here"',  # closes it at the end of a line: one row of one field
    ],
)
def test_stray_quotes_take_no_other_rows(tmp_path: Path, fourth: str) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text(
        f'response\tknowledge\nfirst\tk\n"hi there\tk1\nthird\tk\n{fourth}\nfifth\tk\n'
    )
    rows = read(path)
    last = "line 5" if fourth.startswith('"') else fourth.split("\t")[0]
    assert shown(rows) == ["first", "line 3", "third", last, "fifth"]
    assert next(row.index for row in rows if isinstance(row, BadRow)) == 1


def test_rows_of_several_lines_after_a_stray_quote(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('response,knowledge\n"open,k\na,k\n\n"two\nlines",k\nb,k\n"c\n",k\n')
    assert shown(read(path)) == ["line 2", "a", "two\nlines", "b", "c\n"]


def test_a_row_of_several_lines_may_leave_out_its_last_fields(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('response,knowledge,history\na,"k\nl"\nb,k,h\n')
    assert read(path) == [Example("a", "k\nl"), Example("b", "k", ("h",))]


def test_many_stray_quotes_are_read_quickly(tmp_path: Path) -> None:
    """Each line is read a few times at most, whatever the quotes."""
    path = tmp_path / "rows.tsv"
    lines = ['"open\tk', 'x""y\tk', "plain\tk", '"open\t"k', 'a\t"k'] * 4000
    path.write_text("response\tknowledge\n" + '"open\tk\n' + "\n".join(lines))
    rows = read(path)
    assert len(rows) == len(lines) + 1
    assert sum(isinstance(row, BadRow) for row in rows) == 1 + 3 * 4000


def test_csv_long_field(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("response,knowledge\nr," + "k" * 200_000 + "\n")
    (row,) = read(path)
    assert isinstance(row, Example)
    assert len(row.knowledge) == 200_000


def test_tsv(tmp_path: Path) -> None:
    path = tmp_path / "rows.TSV"
    path.write_text('response\tknowledge\na, b\t"k ""q"""\n')
    assert read(path) == [Example("a, b", 'k "q"')]


# --- parquet ---------------------------------------------------------------------------


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    table = pa.table(
        {
            "response": ["nan", None, "r"],
            "knowledge": [["a", "b"], ["k"], []],
            "history": [["h"], None, None],
            "id": [1, 2, 3],
        }
    )
    parquet.write_table(table, path)
    good, null, empty = read(path)
    assert good == Example("nan", "a\nb", ("h",))
    assert good.id == "1"
    assert isinstance(null, BadRow)
    assert null.error == f"{path}, row 2: the response (field 'response') is empty"
    assert isinstance(empty, BadRow)
    assert empty.error == f"{path}, row 3: the knowledge (field 'knowledge') is empty"


def test_parquet_columns_that_nobody_asked_for(tmp_path: Path) -> None:
    """Dates beyond Python's and zones that it does not know do not hide the rows."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    far = pyarrow.array([2**62], pyarrow.timestamp("us"))
    zone = pyarrow.array([0], pyarrow.timestamp("us", tz="Nowhere/Else"))
    parquet.write_table(
        pyarrow.table({"response": ["r"], "knowledge": ["k"], "far": far, "zone": zone}), path
    )
    assert read(path) == [Example("r", "k")]
    (bad,) = read(path, knowledge="far")
    assert isinstance(bad, BadRow)
    assert "the knowledge (field 'far') is empty" in bad.error


def test_parquet_pages_are_verified(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    table = pyarrow.table({"response": ["aaaaaaaa"], "knowledge": ["bbbbbbbb"]})
    parquet.write_table(table, path, write_page_checksum=True, compression="none",
                        use_dictionary=False, write_statistics=False)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"aaaaaaaa", b"aaaXaaaa", 1))
    assert path.read_bytes() != whole
    with pytest.raises(InputError, match=r"CRC checksum verification failed"):
        read(path)


def test_parquet_that_is_none(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"not parquet at all")
    with pytest.raises(InputError, match="is not a readable parquet file"):
        read(path)


def test_parquet_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"")
    with pytest.raises(MissingExtra, match=r'pip install "q2-metric\[parquet\]"'):
        read(path)


# --- files that cannot be read ---------------------------------------------------------


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "rows.txt")
    (tmp_path / "rows.txt").write_text("response")
    with pytest.raises(InputError, match=r"suffix '\.txt'; use one of \.jsonl"):
        read(tmp_path / "rows.txt")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder, but not one that datasets saved"):
        read(tmp_path / "folder.csv")
    utf16 = tmp_path / "rows.csv"
    utf16.write_text("response,knowledge\n", encoding="utf-16")
    with pytest.raises(InputError, match="is UTF-16 or UTF-32; save it as UTF-8"):
        read(utf16)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(formats, "LONGEST_LINE", 100)
    path = tmp_path / f"rows.{form}"
    first = '{"response": "a", "knowledge": "b"}' if form == "jsonl" else "response,knowledge"
    path.write_text(f"{first}\n{'x' * 99}\n{'y' * 1000}", encoding="utf-8")
    with pytest.raises(InputError, match=f"rows.{form}, line 3: is longer than 100 bytes"):
        read(path)


# --- output ----------------------------------------------------------------------------

METRICS = ["q2", "scale", "word_share"]
RESPONSE, KNOWLEDGE = 'Rome, "é"\r[b]x[/b]', "Rome has hills."


def rows_of_output() -> list[OutputRow]:
    """A scored row with everything in it, one without a value, and a bad one."""
    example = Example(RESPONSE, KNOWLEDGE, id="nan")
    span = Span(example, "Rome", 0)
    comparisons = (
        Comparison(
            Question(span, "What\rnow?"), "Rome", "Roma", 0.0, Verdict(0.7, 0.2, 0.1), "nli", 1.0
        ),
        Comparison(Question(span, "Who?"), "Rome", None, 0.0, None, "no_answer", 0.0),
    )
    sentence = judged(RESPONSE, 0, 0.25, KNOWLEDGE, 0, 0.5)
    scores = {
        "q2": Score(example, 0.5, comparisons, no_nli=0.0),
        "scale": Score(example, 0.25, (sentence,)),
        "word_share": Score(example, math.nan),
    }
    empty = Example("r", "k")
    nothing = {
        "q2": Score(empty, None),
        "scale": Score(empty, 1.0, (judged("r", 0, 1.0),)),
        "word_share": Score(empty, 0.0),
    }
    return [
        output_row(0, example, scores, METRICS),
        output_row(1, empty, nothing, METRICS),
        output_row(2, BadRow(2, None, "rows.jsonl, line 3: is not JSON"), {}, METRICS),
    ]


def names(layout: Layout) -> list[str]:
    return [field.name for field in layout.fields]


def test_fields_of_the_output() -> None:
    assert names(Layout(["q2", "scale", "knowledge_f1", "bertscore", "nli"])) == [
        *("id", "q2", "q2_no_nli", "scale", "knowledge_f1", "bertscore", "nli"),
        *("fallback", "reason", "language", "error"),
        *("questions", "dropped", "claims"),
    ]
    assert names(Layout(["word_share"], with_file=True)) == [
        "file", "id", "word_share", "reason", "language", "error"]
    texts = names(Layout(["word_share"], texts=True))
    assert texts == ["id", "word_share", "reason", "language", "error", *TEXTS]


def test_rows_of_the_output() -> None:
    full, nothing, bad = rows_of_output()
    assert list(full) == list(nothing) == list(bad) == names(Layout(METRICS))
    assert [row["id"] for row in (full, nothing, bad)] == ["nan", "2", "3"]
    found = [full[name] for name in ("q2", "q2_no_nli", "scale", "word_share")]
    assert found == [0.5, 0.0, 0.25, None]
    assert full["fallback"] is False
    nli, no_answer = full["questions"]
    assert list(nli) == [field.name for field in QUESTIONS.fields]
    assert (nli["span"], nli["start"], nli["how"]) == ("Rome", 0, "nli")
    assert (nli["verdict"], nli["verdict_p"], nli["score"]) == ("entailment", 0.7, 1.0)
    assert (no_answer["knowledge_answer"], no_answer["verdict"]) == (None, None)
    (evidence,) = full["claims"]
    assert list(evidence) == [field.name for field in CLAIMS.fields]
    assert (evidence["passage"], evidence["passage_start"]) == (KNOWLEDGE, 0)
    assert (nothing["q2"], nothing["questions"], nothing["error"]) == (None, [], None)
    assert (bad["error"], bad["q2"], bad["questions"]) == (
        "rows.jsonl, line 3: is not JSON",
        None,
        None,
    )


def test_several_files_are_named() -> None:
    row = output_row(0, Example("r", "k"), {}, Layout(["word_share"], with_file=True), file="a.csv")
    assert row == {"file": "a.csv", "id": "1", "word_share": None, "reason": None,
                   "language": None, "error": None}


def test_texts_beside_the_scores() -> None:
    example = Example("r", "k", ("h",))
    row = output_row(0, example, {}, Layout(["word_share"], texts=True))
    assert list(row) == names(Layout(["word_share"], texts=True))
    assert (row["response"], row["knowledge"], row["history"]) == ("r", "k", ["h"])
    bad = output_row(0, BadRow(0, None, "no"), {}, Layout(["word_share"], texts=True))
    assert [bad[field] for field in TEXTS] == [None] * len(TEXTS)
    assert with_texts(output_row(0, example, {}, ["word_share"]), example) == row


def write(path: Path, rows: Iterable[OutputRow], layout: Layout | None = None,
          inputs: Sequence[str | Path] = ()) -> None:
    """As an output is written: whole, or not at all."""
    check_output(path, inputs)
    with replacing(path) as unfinished:
        write_rows(path.suffix, unfinished, layout or Layout(METRICS), rows)


def test_jsonl_out(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    write(path, rows_of_output())
    text = path.read_bytes().decode("utf-8")
    assert [json.loads(line) for line in text.splitlines()] == rows_of_output()
    assert "NaN" not in text
    assert "é" in text


def test_csv_out(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    write(path, rows_of_output())
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert len(rows) == 3
    assert (rows[0]["id"], rows[0]["q2"], rows[0]["word_share"]) == ("nan", "0.5", "")
    assert rows[0]["fallback"] == "false"
    assert json.loads(rows[0]["questions"]) == rows_of_output()[0]["questions"]
    assert json.loads(rows[0]["claims"])[0]["text"] == RESPONSE
    assert rows[2]["error"] == "rows.jsonl, line 3: is not JSON"
    assert b"\r" not in path.read_bytes()  # JSON escapes it


def test_csv_keeps_a_lone_carriage_return(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    write(path, [{"id": "a\rb", "word_share": 1.0, "error": None}], Layout(["word_share"]))
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, strict=True))[1] == ["a\rb", "1.0", ""]


def test_parquet_out(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    path = tmp_path / "scores.parquet"
    write(path, rows_of_output())
    table = parquet.read_table(path)
    assert table.to_pylist() == rows_of_output()
    assert str(table.schema.field("q2").type) == "double"
    assert [file.name for file in tmp_path.iterdir()] == ["scores.parquet"]


def test_parquet_of_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    """It stands there with escapes, as in jsonl, and all else as it is."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    path, rows = tmp_path / "scores.parquet", rows_of_output()
    rows[-1]["error"] = "\udc80.jsonl: é"
    write(path, rows)
    found = parquet.read_table(path).to_pylist()
    assert found == [*rows[:-1], {**rows[-1], "error": "\\udc80.jsonl: é"}]


def test_parquet_of_a_chosen_snippet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    layout, path = Layout(["f1"], selected=True), tmp_path / "scores.parquet"
    empty = dict.fromkeys(field.name for field in layout.fields)
    snippet = dict.fromkeys(("domain", "entity_id", "entity_name", "doc_id"))
    rows = [{**empty, "id": "1", "selected": {**snippet, "text": "Rome.", "score": 0.5}},
            {**empty, "id": "2"}]
    write(path, rows, layout)
    assert parquet.read_table(path).to_pylist() == rows


def test_fields_as_they_are(jsonl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl.write_text('{"a": 1}\n\n{"b": [2]}\n{"c"}\n')
    read_of = read_fields(jsonl)
    assert next(read_of) == (f"{jsonl}, line 1", {"a": 1})
    assert next(read_of) == (f"{jsonl}, line 3", {"b": [2]})
    with pytest.raises(InputError, match=r"line 4: is not JSON \("):
        next(read_of)
    stream = SimpleNamespace(buffer=io.BytesIO(b'{"a": 1}\n'))
    monkeypatch.setattr(sys, "stdin", stream)
    assert list(read_fields("-")) == [("standard input, line 1", {"a": 1})]


def test_parquet_out_without_rows(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    write(tmp_path / "scores.parquet", [])
    assert parquet.read_table(tmp_path / "scores.parquet").column_names == names(Layout(METRICS))


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_an_output_is_complete_or_not_there(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    path = tmp_path / f"scores.{suffix}"
    path.write_text("earlier")

    def crash() -> Iterator[OutputRow]:
        yield from rows_of_output()[:2]
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        write(path, crash())
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "earlier"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    with small_disk(tmp_path, 65_536) as disk:
        path = disk / "scores.jsonl"
        path.write_text("earlier")
        filler = fill(disk)
        with pytest.raises(WriteError, match="cannot be written: No space left on device"):
            write(path, rows_of_output())
        assert {*disk.iterdir()} == {path, filler}
        assert path.read_text() == "earlier"
        filler.unlink()
        write(path, rows_of_output())
        assert len(path.read_text().splitlines()) == len(rows_of_output())


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    def refuse(path: Path, **options: Any) -> str:
        with pytest.raises(InputError) as caught:
            write(path, [], **options)
        return str(caught.value)

    assert "use one of .jsonl, .csv, .parquet" in refuse(tmp_path / "scores.txt")
    assert "there is no folder" in refuse(tmp_path / "none" / "scores.csv")
    data = write_jsonl(tmp_path / "rows.jsonl", GOOD)
    again = tmp_path / "." / "rows.jsonl"
    assert "is an input, so it cannot be written" in refuse(again, inputs=["-", data])
    assert read(data) == [Example("r", "k")]  # untouched
    (tmp_path / "folder.csv").mkdir()
    assert "cannot be written: it is a folder" in refuse(tmp_path / "folder.csv")


# --- labels ----------------------------------------------------------------------------


def test_peoples_labels_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"

    def labels(*values: object, **columns: str) -> list[object]:
        path.write_text("".join(
            json.dumps({"response": "r", "knowledge": "k", "label": value}) + "\n"
            for value in values))
        return [row.label if isinstance(row, Example) else row.error
                for row in read(path, **columns)]

    assert labels(1, "no", "Supported", None, False, "") == [True, False, True, None, False, None]
    # A column that is only called like one, unless it is named.
    assert labels("chit-chat", 1) == [None, None]
    assert labels("chit-chat", 1, label="label") == [None, True]
    with pytest.raises(InputError, match="'label' has no human labels: it contains 'faithful'"):
        labels("faithful", "invented", label="label")
    # Scores do not depend on it.
    assert Example("r", "k", label=True) == Example("r", "k", label=False)


@pytest.mark.parametrize(("values", "labels", "note"), [
    ((1, 0, "n/a", 1), [True, False, None, True], "the label 'n/a' (column 'label') is not 0 or 1"),
    ((1, 0, math.nan, 1), [True, False, None, True], ""),
    ((1.0, 0.0, "NaN", 1.0), [True, False, None, True], ""),
    ((1, 1, 1, 5), [None] * 4,
     "the column 'label' is not read as the human label: it contains '5'"),
    (("Paris", "yes", "Rome"), [None] * 3, ""),
])
def test_labels_that_are_not_understood_are_said(
    jsonl: Path, values: tuple[object, ...], labels: list[bool | None], note: str
) -> None:
    notes: list[str] = []
    rows = ({"response": "r", "knowledge": "k", "label": value} for value in values)
    found = list(read_rows(write_jsonl(jsonl, *rows), on_note=notes.append))
    assert [row.label for row in found if isinstance(row, Example)] == labels
    assert len(notes) == bool(note)
    assert note in "".join(notes)


@pytest.mark.parametrize("missing", [None, "", math.nan])
def test_a_row_without_id_takes_no_id_of_another(jsonl: Path, missing: object) -> None:
    """Its number could be one; rows are matched by their ids."""
    rows = [{**GOOD, "id": "2"}, {**GOOD, "id": missing}, {"knowledge": "k"}, "no object"]
    found = list(read_rows(write_jsonl(jsonl, *rows)))
    ids = [output_row(i, row, {}, ["word_share"])["id"] for i, row in enumerate(found)]
    assert ids == ["2", "(row 2)", "(row 3)", "(row 4)"]
    without = list(read_rows(write_jsonl(jsonl, GOOD, "no object", GOOD)))
    ids = [output_row(i, row, {}, ["word_share"])["id"] for i, row in enumerate(without)]
    assert ids == ["1", "2", "3"]


def test_labels_go_out_with_the_texts() -> None:
    row = Example("r", "k", label=False)
    assert output_row(0, row, {}, Layout(["word_share"], texts=True))["label"] is False
    assert "label" not in output_row(0, row, {}, Layout(["word_share"]))
