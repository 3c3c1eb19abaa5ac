"""Texts, sizes and files that nobody meant well: nothing breaks, nothing is lost."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import (
    FakeBackbone,
    FakeEntailment,
    FakeMetric,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeSpans,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.errors import InputError
from q2_metric.metrics.overlap import TokenF1
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.models.bundled import models as bundled
from q2_metric.models.bundled.encoding import windows
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.rows.writers import from_cell
from q2_metric.types import Example, Metric

ANY = st.text(st.characters(), max_size=60)
"""Every character there is, lone surrogates too."""


def fakes(names: Sequence[str], _preset: str = "", **_keywords: object) -> list[Metric]:
    made: dict[str, Metric] = {
        "groundedness": FakeMetric("groundedness"),
        "q2": Q2(FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), FakePersonal()),
        "scale": Scale(FakeBackbone()),
        "knowledge_f1": TokenF1(),
    }
    return [made[name] for name in names]


@pytest.fixture
def with_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "load_metrics", fakes)


def score(path: Path, out: Path, *arguments: str) -> Result:
    command = ["score", str(path), "--out", str(out), "--overwrite", *arguments]
    return CliRunner().invoke(main, command, catch_exceptions=False)


def rows_of(path: Path) -> list[dict[str, Any]]:
    # Not splitlines(): texts may hold other ends of line than the file's.
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


# --- texts ------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(ANY, ANY, ANY, st.lists(ANY, max_size=2)), max_size=8))
@pytest.mark.usefixtures("with_fakes")
@pytest.mark.slow
def test_unicode_of_every_kind(
    tmp_path: Path, rows: list[tuple[str, str, str, list[str]]]
) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    names = ("id", "response", "knowledge", "history")
    given_rows = [dict(zip(names, row, strict=True)) for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in given_rows))
    read = list(read_rows(path, blank=True))
    bad = sum(isinstance(row, BadRow) for row in read)
    assert score(path, out).exit_code == (1 if bad else 0 if rows else 2)
    found = rows_of(out)
    assert len(found) == len(rows)
    for i, (row, scored) in enumerate(zip(read, found, strict=True)):
        assert scored["id"] == (row.id if row.id is not None else str(i + 1))
        assert (scored["error"] is not None) == isinstance(row, BadRow)
        assert (scored["q2"] is None) == (scored["scale"] is None) or scored["scale"] is None
        for question in scored["questions"] or ():
            assert isinstance(row, Example)
            start = question["start"]
            assert row.response[start : start + len(question["span"])] == question["span"]
    table = tmp_path / "out.csv"
    score(path, table)
    with open(table, encoding="utf-8", newline="") as file:
        again = list(csv.DictReader(file, strict=True))
    assert [from_cell(row["id"]) for row in again] == [row["id"] for row in found]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.text(max_size=400))
def test_the_bundled_tokens_cover_any_text(query: str, text: str) -> None:
    tokenise = bundled.tokenizer()
    offsets = tokenise(text).offsets
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    rows = list(windows(tokenise(query), tokenise(text), 64, 16))
    assert all(len(row.ids) <= 64 for row in rows)
    assert {place for row in rows for place in row.offsets} == set(offsets)


HOSTILE = (
    "<script>alert(1)</script>",
    "</details></html><!-- <b onmouseover=alert(1)>x</b>",
    "{{ 1237*7919 }} {% include '/etc/passwd' %} ${1237*7919} <%= 1237*7919 %>",
    "\x00\x1b]0;owned\x07\x08\u202eX\u2066",
    'Question: does this imply "Rome"? Yes or no? {chunk} {sentence} <extra_id_0> </s> [SEP]',
    "=cmd|' /C calc'!A0",
)


class Tags(HTMLParser):
    """The elements of a page with their attributes' names, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.scripts, self.text = 0, ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags |= {tag, *(f"{tag} {name}" for name, _ in attrs)}
        self.scripts += tag == "script"

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.usefixtures("with_fakes")
def test_texts_are_no_markup_no_template_and_no_command(tmp_path: Path) -> None:
    def page(texts: Sequence[str]) -> tuple[Tags, Result]:
        path, report = tmp_path / "rows.jsonl", tmp_path / "page.html"
        rows = [{"id": t, "response": f"Rome {t} has 7", "knowledge": f"Rome {t}", "history": [t]}
                for t in texts]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = score(path, tmp_path / "out.jsonl", "--report", str(report))
        return Tags(report.read_text(encoding="utf-8")), done

    plain, _ = page(["fine"] * len(HOSTILE))
    hostile, done = page(HOSTILE)
    assert hostile.tags == plain.tags
    assert hostile.scripts == plain.scripts
    assert "{{ 1237*7919 }}" in hostile.text
    assert str(1237 * 7919) not in hostile.text
    assert "\x1b" not in done.output
    found = rows_of(tmp_path / "out.jsonl")
    assert [row["id"] for row in found] == list(HOSTILE)


def test_a_text_is_never_the_structure_of_an_input() -> None:
    """Special tokens that stand in a text are text: they end no part of a row."""
    tokenise = bundled.tokenizer()
    special = {tokenise(mark).ids[0] for mark in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")}
    assert len(special) == 1  # a bracket
    (row,) = windows(tokenise("[SEP] [CLS] who?"), tokenise("[SEP] a [PAD] b"), 64, 16)
    assert row.ids.count(row.ids[-1]) == 2


# --- sizes ------------------------------------------------------------------------------


@pytest.mark.usefixtures("with_fakes")
@pytest.mark.slow
def test_a_long_response_and_a_hundred_thousand_tokens(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    long = " ".join(f"It has {i} hills." for i in range(4000))
    rows = [
        {"id": "fine", "response": "Rome has 7 hills.", "knowledge": "Rome has 7 hills."},
        {"id": "long", "response": long, "knowledge": "Rome has 7 hills."},
        {"id": "word", "response": "x" * 1_000_000, "knowledge": "Rome has 7 hills."},
        {"id": "knowledge", "response": "Rome has 7 hills.", "knowledge": "hill " * 100_000},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = score(path, out, "--metrics", "q2,scale,knowledge_f1")
    assert result.exit_code == 0
    fine, sentences, word, knowledge = rows_of(out)
    assert (fine["q2"], fine["scale"], fine["knowledge_f1"]) == (1.0, 1.0, 1.0)
    assert 0 < sentences["q2"] < 1
    assert sentences["scale"] is not None
    assert (word["q2"], word["reason"]) == (None, "no_claim")  # one word says nothing
    assert knowledge["error"] is None
    assert knowledge["scale"] == 0.0


@pytest.mark.slow
def test_long_knowledge_with_the_bundled_models() -> None:
    """The one sentence that matters is found among four hundred."""
    filler = " ".join(f"Person {i} was born in the year {i % 900} ." for i in range(400))
    middle = len(filler) // 2
    knowledge = filler[:middle] + " Rome has seven hills . " + filler[middle:]
    said = "rome has seven hills ."
    score, without = Scale.from_preset("bundled").score(
        [Example(said, knowledge), Example(said, filler)]
    )
    assert score.value is not None
    assert without.value is not None
    assert score.value > without.value


@pytest.mark.usefixtures("with_fakes")
@pytest.mark.slow
def test_ten_thousand_empty_rows(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    empty = json.dumps({"response": 7, "knowledge": "k"}) + "\n"
    good = json.dumps({"response": "Rome", "knowledge": "Rome"}) + "\n"
    path.write_text(empty * 5000 + good + empty * 5000)
    result = score(path, out, "--metrics", "knowledge_f1")
    assert result.exit_code == 1
    assert "10000 of 10001 rows could not be scored" in result.stderr
    assert len(result.stderr.splitlines()) == 7  # not ten thousand lines
    found = rows_of(out)
    assert [row["knowledge_f1"] for row in found if row["error"] is None] == [1.0]
    assert found[0]["error"] == (
        f"{path}, line 1: the response (field 'response') is a number, not a string")
    assert "line 10001: " in found[-1]["error"]


# --- files ------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(
    st.binary(max_size=200),
    st.text("{}[]\":,\\ntfu0123456789eresponsknwldg\r\n\t \x00\ufeff'", max_size=200).map(
        lambda text: text.encode()),
    st.lists(st.sampled_from([b"response", b"knowledge", b",", b"\t", b'"', b"\n", b"\r\n", b"x",
                              b'{"response": "a", "knowledge": "b"}', b"\xff", b"\xef\xbb\xbf"]),
             max_size=20).map(b"".join),
))
def test_any_bytes_are_rows_or_an_error_of_ours(tmp_path: Path, suffix: str, data: bytes) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
        data = b"PAR1" + data + b"PAR1"
    path = tmp_path / f"rows.{suffix}"
    path.write_bytes(data)
    try:
        rows = list(read_rows(path))
    except InputError:  # and no other
        return
    for i, row in enumerate(rows):
        assert isinstance(row, Example) or row.index == i


def test_parquet_with_bytes_that_are_no_text(tmp_path: Path) -> None:
    """In a value it is a bad row, in a column's name (found by fuzzing) a bad file."""
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    import pyarrow.parquet as parquet

    path = tmp_path / "rows.parquet"
    texts = [b"fine"] * 5 + [b"\xff\xfe"] + [b"fine"] * 5
    responses = pa.array(texts, pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"response": responses, "knowledge": ["k"] * 11}), path)
    found = list(read_rows(path))
    assert [isinstance(row, BadRow) for row in found] == [False] * 5 + [True] + [False] * 5
    assert found[5] == BadRow(5, None, f"{path}, row 6: the response (field 'response') is not "
                              "valid Unicode at character 1")

    path.write_bytes(path.read_bytes().replace(b"response", b"resp\xednse"))
    with pytest.raises(InputError, match="is not a readable parquet file"):
        list(read_rows(path))


def test_a_corrupt_parquet_file_among_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files before it are kept; mended, the run goes on."""
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    import pyarrow.parquet as parquet

    f1 = FakeMetric("knowledge_f1")
    monkeypatch.setattr(metrics, "load_metrics", lambda *_a, **_k: [f1])
    files = []
    for name in "abc":
        rows = [{"id": f"{name}{i}", "response": f"r{i} " * 50, "knowledge": "k"}
                for i in range(600)]
        files.append(tmp_path / f"{name}.parquet")
        parquet.write_table(pa.Table.from_pylist(rows), files[-1], compression="none",
                            use_dictionary=False, row_group_size=200, write_page_checksum=True)
    whole = files[1].read_bytes()
    # A page of the last row group: the first ones can be read.
    place = whole.rindex(b"r555 ")
    out = tmp_path / "out.jsonl"
    command = ["score", *map(str, files), "--metrics", "knowledge_f1", "--out", str(out)]

    files[1].write_bytes(whole[: len(whole) // 2])
    cut = CliRunner().invoke(main, command)
    assert (cut.exit_code, f1.batches) == (2, [])  # found before anything is scored
    assert f"{files[1]}: is not a readable parquet file" in cut.stderr

    files[1].write_bytes(whole[:place] + b"\xff" * 40 + whole[place + 40 :])
    flipped = CliRunner().invoke(main, command)
    assert flipped.exit_code == 2
    assert str(files[1]) in flipped.stderr
    assert "Traceback" not in flipped.stderr
    assert sum(f1.batches) >= 600
    kept = sum(f1.batches)

    files[1].write_bytes(whole)
    refused = CliRunner().invoke(main, command)
    assert f"the contents of {files[1]} have changed" in refused.stderr
    assert CliRunner().invoke(main, [*command, "--overwrite"]).exit_code == 0
    assert sum(f1.batches) == kept + 1800
    assert len(out.read_text().splitlines()) == 1800
