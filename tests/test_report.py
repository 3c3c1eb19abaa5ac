from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from q2_metric.engine.results import FileResult
from q2_metric.errors import InputError
from q2_metric.io import BadRow, OutputRow, output_row
from q2_metric.report.page import MEANINGS, Piece, check_page, open_page, pieces, state, write_page
from q2_metric.types import (
    Comparison,
    Evidence,
    Example,
    Question,
    Score,
    Span,
    SystemScore,
    Verdict,
)

VOID = {"meta", "link", "br", "img", "input"}
METRICS = ["q2", "scale"]
SYSTEMS = (
    SystemScore("q2", 0.25, 3, 1, (0.125, 0.5), "q2|model:a|version:1", 0.75, 0.0625, 4),
    SystemScore("scale", None, 0, 0, None, "scale|model:b|version:1"),
)


class Page(HTMLParser):
    """The elements of a page with their classes, and the text in each."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(path.read_bytes().decode("utf-8"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            self.elements.append((tag, dict(attrs), ""))
        else:
            self.open.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        opened, attrs, text = self.open.pop()
        assert opened == tag
        self.elements.append((tag, attrs, "".join(text)))

    def handle_data(self, data: str) -> None:
        for _, _, text in self.open:
            text.append(data)

    def texts(self, tag: str, class_: str = "") -> list[str]:
        """The texts of the elements with this tag and class, in order of their ends."""
        return [
            text
            for name, attrs, text in self.elements
            if name == tag and (not class_ or class_ in (attrs.get("class") or "").split())
        ]


def page_of(
    path: Path, *rows: tuple[Example | BadRow, dict[str, Score]], file: str = "rows.jsonl"
) -> Page:
    found = [output_row(i, row, scores, METRICS) for i, (row, scores) in enumerate(rows)]
    failed = sum(isinstance(row, BadRow) for row, _ in rows)
    results: list[FileResult] = []
    with open_page(path, results) as spool:
        spool.write([row for row, _ in rows], found)
        results.append(FileResult(file, len(rows), failed, 1.0, SYSTEMS, {}))
    return Page(path)


def comparison(example: Example, span: str, answer: str | None, verdict: Verdict) -> Comparison:
    place = Span(example, span, example.response.index(span))
    score = 0.0 if answer is None or verdict.label == "contradiction" else 1.0
    how: Any = "no_answer" if answer is None else "nli"
    judged = None if answer is None else verdict
    return Comparison(Question(place, f"What is {span}?"), span, answer, 0.0, judged, how, score)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.html"


def test_everything_is_on_the_page(path: Path) -> None:
    example = Example("Rome has 9 old hills.", "Rome has 7 hills.", ("Where?", "There."), "x1")
    because = (
        comparison(example, "Rome", "the city", Verdict(0.875, 0.125)),
        comparison(example, "9", "7", Verdict(0.0, 0.25, 0.75)),
        comparison(example, "old hills", None, Verdict(1.0, 0.0)),
    )
    sentence = Evidence(example.response, 0, 0.5, "Support.", 0, 0.3125)
    scores = {
        "q2": Score(example, 0.375, because, no_nli=0.0),
        "scale": Score(example, 0.4375, (sentence,)),
    }
    fell_back = Example("Ciao.", "k")
    other = {"q2": Score(fell_back, 1.0, fallback=True), "scale": Score(fell_back, None)}
    bad = BadRow(2, None, "rows.jsonl, line 3: is not JSON")
    page = page_of(path, (example, scores), (fell_back, other), (bad, {}))

    cells = page.texts("td")
    system = ["Q²", "0.250", "0.125 … 0.500", "75.0%", "6.2%", "3"]
    assert cells[:12] == [*system, "SCALE", "–", "–", "–", "–", "0"]
    assert page.texts("code") == [system.signature for system in SYSTEMS]
    first, second, third = page.texts("details")
    for text in ("x1", "0.375", "0.438", "Where?", "There.", "Rome has 7 hills.", "Support."):
        assert text in first
    assert cells[12:] == [
        *("Rome✓", "What is Rome?", "Rome", "the city", "NLI, entailment 0.875", "1.000"),
        *("9✗", "What is 9?", "9", "7", "NLI, contradiction 0.750", "0.000"),
        *("old hills?", "What is old hills?", "old hills", "–", "no answer", "0.000"),
        *("Rome has 9 old hills.", "0.500", "Support.", "0.312"),
    ]
    assert page.texts("mark") == ["Rome✓", "9✗", "old hills?"]
    assert page.texts("div", "response") == ["Rome✓ has 9✗ old hills?.", "Ciao."]
    assert "the whole response was judged by end-to-end NLI" in second
    assert "rows.jsonl, line 3: is not JSON" in third
    assert "2 of 3 rows scored" in page.texts("section")[0]


def test_the_page_needs_nothing_else_and_fits_its_reader(path: Path) -> None:
    page = page_of(path)
    elements = {(tag, *attrs.items()) for tag, attrs, _ in page.elements}
    assert ("html", ("lang", "en")) in elements
    assert any(attrs.get("name") == "viewport" for tag, attrs, _ in page.elements if tag == "meta")
    (style,) = page.texts("style")
    for wanted in ("color-scheme: light dark", "prefers-color-scheme: dark", "@media print"):
        assert wanted in style
    text = path.read_text(encoding="utf-8")
    assert "http" not in text
    assert not page.texts("script")


HOSTILE = (
    "<script>alert(1)</script>",
    "</div></details><img src=x onerror=alert(1)>",
    """both " and ' and `""",
    "{{ 7*7 }} {% for x in y %} {# no #}",
    "&lt;b&gt; &amp;amp;",
    "שלום \u202eעולם (abc) مرحبا",
    "two\n  lines\tand a tab",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_users_are_text(path: Path, text: str) -> None:
    example = Example(text, text, (text,), id=text)
    because = (comparison(example, text, text, Verdict(1.0, 0.0)),)
    evidence = (Evidence(text, 0, 1.0, text, 0, 1.0),)
    scores = {"q2": Score(example, 1.0, because), "scale": Score(example, 1.0, evidence)}
    page = page_of(path, (example, scores), (BadRow(1, text, text), {}), file=text)
    assert page.texts("div", "response") == [text + "✓"]
    assert page.texts("p", "knowledge") == [text]
    assert page.texts("p", "error") == [text]
    assert page.texts("h2")[0] == text
    assert page.texts("bdi") == [text, text]
    assert [t for t in page.texts("span", "text") if t != "–"] == [
        *(text, f"What is {text}?", text, text),
        *(text, text),
    ]
    assert not page.texts("script")
    assert "img" not in {tag for tag, _, _ in page.elements}
    of_users = [a for _, a, _ in page.elements if "text" in (a.get("class") or "").split()]
    assert {attrs.get("dir") for attrs in of_users} == {"auto"}


def test_what_html_and_utf8_do_not_allow(path: Path) -> None:
    text = "a\ud800b\x00c\x1b[2Jd\udcff"
    page = page_of(path, (Example(text, text, (text,)), {}), file=text)
    assert page.texts("div", "response") == ["a�b�c�[2Jd�"]
    assert page.texts("h2")[0] == "a�b�c�[2Jd�"


def item(span: str, start: int, **fields: Any) -> OutputRow:
    return {"span": span, "start": start, "how": "nli", "verdict": None, "score": 1.0, **fields}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"how": "equal", "score": 1.0}, "supported"),
        ({"verdict": "entailment", "score": 1.0}, "supported"),
        ({"verdict": "contradiction", "score": 0.0}, "differs"),
        ({"how": "token_f1", "verdict": "neutral", "score": 0.75}, "open"),
        ({"how": "token_f1", "score": 0.75}, "supported"),
        ({"how": "token_f1", "score": 0.25}, "differs"),
        ({"how": "no_answer", "score": 0.0}, "open"),
    ],
)
def test_states(fields: dict[str, Any], wanted: str) -> None:
    assert state(item("x", 0, **fields)) == wanted
    assert wanted in MEANINGS


def test_spans_that_overlap() -> None:
    text = "the old king of Rome."
    found = pieces(text, [item("the old king of Rome", 0), item("Rome", 16, score=0.0)])
    assert found == [
        Piece("the old king of ", "supported"),
        Piece("Rome", "differs", "differs"),
        Piece("."),
    ]
    crossing = pieces("abcd", [item("abc", 0), item("bcd", 1, how="no_answer", score=0.0)])
    assert crossing == [
        Piece("a", "supported"),
        Piece("bc", "open", "supported"),
        Piece("d", "open", "open"),
    ]


def test_spans_that_are_not_in_the_response() -> None:
    """As with resolved pronouns, where places are those of another text."""
    assert pieces("He left.", [item("John", 0), item("", 3), item("left", 30)]) == [
        Piece("He left.")
    ]
    assert pieces("", []) == []


def results_of(rows: int) -> Sequence[FileResult]:
    return [FileResult("rows.jsonl", rows, 0, 1.0, SYSTEMS, {})]


def many_rows(count: int) -> Iterator[dict[str, Any]]:
    for i in range(count):
        example = Example(f"r{i} " + "x" * 5000, "k" * 5000)
        found = output_row(i, example, {}, METRICS)
        yield {
            "found": found,
            "response": example.response,
            "knowledge": example.knowledge,
            "history": (),
        }


def test_memory_does_not_grow_with_the_rows(path: Path) -> None:
    write_page(path, results_of(1), many_rows(1))  # the template is compiled once
    tracemalloc.start()
    try:
        write_page(path, results_of(800), many_rows(800))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 8_000_000
    assert peak < 4_000_000


def test_a_page_is_replaced_only_when_complete(path: Path) -> None:
    path.write_text("earlier")

    def rows() -> Iterator[dict[str, Any]]:
        yield from many_rows(3)
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        write_page(path, results_of(9), rows())
    assert path.read_text() == "earlier"
    assert list(path.parent.iterdir()) == [path]
    write_page(path, results_of(3), many_rows(3))
    assert len(Page(path).texts("details")) == 3
    assert list(path.parent.iterdir()) == [path]


def test_pages_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        check_page(tmp_path / "none" / "report.html")
    with pytest.raises(InputError, match="it is a folder"):
        check_page(tmp_path)
    data = tmp_path / "rows.jsonl"
    with pytest.raises(InputError, match="is read or written too"):
        check_page(tmp_path / "." / "rows.jsonl", ["-", data])
    check_page(tmp_path / "report.html", ["-", data])
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_page(tmp_path / "none" / "report.html", [], [])
