from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fakes import judged

from q2_metric.engine.result import SystemRun
from q2_metric.errors import InputError
from q2_metric.metrics.registry import of_column
from q2_metric.models.bundled import on_onnx
from q2_metric.report import findings
from q2_metric.report.findings import DROPPED
from q2_metric.report.page import Flag, explanation, write_page
from q2_metric.rows.fields import Layout, output_row
from q2_metric.rows.plain import REASONS
from q2_metric.rows.read import BadRow
from q2_metric.types import (
    Comparison,
    Example,
    Question,
    Score,
    Span,
    SystemScore,
    Verdict,
)

VOID = {"meta", "link", "br", "img", "input", "wbr"}
METRICS = ["q2", "scale"]
SYSTEMS = (
    SystemScore("q2", 0.25, 3, 1, (0.125, 0.5), "q2|model:a|version:1", 0.75, 0.0625, 4,
                fallback=0.25),
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
    found = [
        output_row(i, row, scores, Layout(METRICS, texts=True))
        for i, (row, scores) in enumerate(rows)
    ]
    failed = sum(isinstance(row, BadRow) for row, _ in rows)
    write_page(path, [SystemRun(file, len(rows), failed, SYSTEMS)], found)
    return Page(path)


def data(page: Page, id_: str = "rows") -> Any:
    """What the page's script reads."""
    (text,) = [text for tag, attrs, text in page.elements
               if tag == "script" and attrs.get("id") == id_]
    found = json.loads(text)
    return [row for _, row in found] if id_ == "rows" else found


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
    evidence = (
        comparison(example, "Rome", "the city", Verdict(0.875, 0.125)),
        comparison(example, "9", "7", Verdict(0.0, 0.25, 0.75)),
        comparison(example, "old hills", None, Verdict(1.0, 0.0)),
    )
    sentence = judged(example.response, 0, 0.5, "Support.", 0, 0.3125)
    scores = {
        "q2": Score(example, 0.375, evidence, no_nli=0.0),
        "scale": Score(example, 0.4375, (sentence,)),
    }
    bad = BadRow(1, None, "rows.jsonl, line 2: is not JSON")
    page = page_of(path, (example, scores), (bad, {}))

    cells = page.texts("td")
    system = ["0.250", "0.125 – 0.500", "", "75.0%", "6.2%", "25.0%", "3"]
    assert [cell.strip() for cell in cells] == [*system, *("–", "–", "", "–", "–", "–", "0")]
    assert page.texts("code") == [system.signature for system in SYSTEMS]
    assert "1 of 2 rows scored" in page.texts("section")[1]
    first, second = data(page)
    wanted = output_row(0, example, scores, Layout(METRICS, texts=True))
    states = [item.pop("state") for item in first["questions"]]
    assert states == ["supported", "differs", "open"]
    assert [item.pop("kind") for item in first["questions"]] == [
        "entailment, from 0.80", "contradiction, 0.60 to 0.80", "no answer"]
    (evidence,) = first["claims"]
    form = evidence.pop("form")
    assert (evidence.pop("kind"), evidence.pop("state")) == (
        "sentence, 0.50 to 0.80", "supported")
    evidence["kind"] = form
    assert first.pop("plain") == [
        "Says 9; the knowledge says 7.", "Says old hills; the knowledge does not say.",
        "No support found for “Rome has 9 old hills.”."]
    assert first.pop("unasked") == []
    wanted["questions"] = [  # nulls, and sentences that "plain" has, are left out
        {name: value for name, value in one.items() if value is not None and name != "plain"}
        for one in wanted["questions"]]
    wanted["claims"] = [{name: value for name, value in one.items() if value is not None}
                        for one in wanted["claims"]]
    assert first == {**wanted, "system": 0}
    assert second["error"] == "rows.jsonl, line 2: is not JSON"
    facts = data(page, "facts")
    assert facts["words"] == {
        "signs": findings.SIGNS, "meanings": findings.MEANINGS, "dropped": DROPPED,
        "no_support": findings.NO_SUPPORT, "reasons": REASONS}
    assert facts["glosses"] == {name: of_column(name)[1].gloss for name in METRICS}
    (numbers,) = [[one for one, _ in json.loads(text)] for tag, attrs, text in page.elements
                  if tag == "script" and attrs.get("id") == "rows"]
    asked = (Flag.ASKED | Flag.DIFFERS | Flag.UNANSWERED | Flag.CLAIMED | Flag.UNSUPPORTED)
    assert numbers == [[0, asked, None, 0.5, 0.375, 0.4375],
                       [0, Flag.ERROR, None, None, None, None]]
    assert [bool(facts.pop(name)) for name in ("glosses", "words")] == [True, True]
    assert facts == {
        "systems": ["rows.jsonl"],
        "titles": {"q2": "Q²", "scale": "SCALE"},
        "metrics": [{"columns": ["q2"], "details": "questions"},
                    {"columns": ["scale"], "details": "sentences"}],
        "measured": [False], "findings": {}, "ranked": {},
        "pairs": [], "series": None, "groups": [], "grouped": "",
        "zero": [["q2", "scale"]],
    }


def test_the_page_needs_nothing_else_and_fits_its_reader(path: Path) -> None:
    page = page_of(path)
    elements = {(tag, *attrs.items()) for tag, attrs, _ in page.elements}
    assert ("html", ("lang", "en")) in elements
    assert any(attrs.get("name") == "viewport" for tag, attrs, _ in page.elements if tag == "meta")
    (style,) = page.texts("style")
    for wanted in ("color-scheme: light dark", "prefers-color-scheme: dark", "@media print"):
        assert wanted in style
    (policy,) = [attrs["content"] for _, attrs, _ in page.elements if "http-equiv" in attrs]
    assert policy is not None
    assert {"default-src 'none'", "base-uri 'none'"} < {part.strip() for part in policy.split(";")}
    assert "script-src 'sha256-" in policy
    assert "unsafe" not in policy
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in text
    assert "https:" not in text
    assert "JavaScript" in page.texts("noscript")[0]


def luminance(colour: str) -> float:
    """Relative luminance of #rgb or #rrggbb (WCAG 2.2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    linear = []
    for place in (0, 2, 4):
        value = int(digits[place : place + 2], 16) / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrast(path: Path, place: int) -> None:
    (style,) = page_of(path).texts("style")
    palettes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", block))
                for block in re.findall(r":root {(.*?)}", style, re.DOTALL)]
    assert len(palettes) == 3
    colours = palettes[0] | palettes[place]
    text = ("text", "dim", "accent", "supported", "differs", "open")
    pairs = [(name, ground) for name in text for ground in ("page", "raised")]
    pairs += [(name, f"{name}-back") for name in ("supported", "differs", "open")]
    pairs += [("text", f"{name}-back") for name in ("supported", "differs", "open", "support")]
    pairs.append(("lit-text", "lit"))
    low = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: value for pair, value in low.items() if value < 4.5} == {}
    # Borders of controls, and what is drawn (WCAG 1.4.11).
    for name in ("line-strong", "bar"):
        assert contrast(colours[name], colours["page"]) >= 3, name


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
    questions = (comparison(example, text, text, Verdict(1.0, 0.0)),)
    claims = (judged(text, 0, 1.0, text, 0, 1.0),)
    scores = {"q2": Score(example, 1.0, questions), "scale": Score(example, 1.0, claims)}
    page = page_of(path, (example, scores), (BadRow(1, text, text), {}), file=text)
    first, second = data(page)
    assert (first["response"], first["knowledge"], first["history"]) == (text, text, [text])
    assert (first["id"], first["questions"][0]["span"]) == (text, text)
    assert second["error"] == text
    assert page.texts("bdi")[0] == text
    # The two blocks of data and the page's own scripts: nothing of the texts ran into markup.
    assert len(page.texts("script")) == 9
    assert "img" not in {tag for tag, _, _ in page.elements}
    assert "<!--" not in path.read_text(encoding="utf-8")


def test_what_html_and_utf8_do_not_allow(path: Path) -> None:
    text = "a\ud800b\x00c\x1b[2Jd\udcff\x85"
    page = page_of(path, (Example(text, text, (text,)), {}), file=text)
    (row,) = data(page)
    assert row["response"] == row["knowledge"] == "a�b�c�[2Jd��"  # each by one: places stay
    assert page.texts("bdi")[0] == "a�b�c�[2Jd��"


def item(**fields: Any) -> dict[str, Any]:
    return {"how": "nli", "verdict": None, "score": 1.0, **fields}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"how": "equal", "score": 1.0}, "supported"),
        ({"verdict": "entailment", "verdict_p": 0.7, "score": 1.0}, "supported"),
        ({"verdict": "contradiction", "verdict_p": 0.7, "score": 0.0}, "differs"),
        ({"how": "token_f1", "verdict": "neutral", "score": 0.75}, "open"),
        ({"how": "token_f1", "score": 0.75}, "supported"),
        ({"how": "token_f1", "score": 0.25}, "differs"),
        ({"how": "token_f1", "score": 0.5}, "supported"),
        ({"how": "token_f1", "score": 0.499}, "differs"),
        ({"how": "token_f1", "score": 0.01}, "differs"),
        ({"how": "token_f1", "score": 0.99}, "supported"),
        ({"how": "no_answer", "score": 0.0}, "open"),
        ({"score": None}, "open"),
        ({"verdict": "contradiction", "verdict_p": None}, "differs"),
    ],
)
def test_states(fields: dict[str, Any], wanted: str) -> None:
    assert findings.state_of(findings.of_question(item(**fields))) == wanted


def test_a_band_around_one_half_is_open() -> None:
    assert findings.state_of("sentence, 0.40 to 0.60") == "open"
    assert findings.state_of("sentence") == "open"


def results_of(rows: int) -> Sequence[SystemRun]:
    return [SystemRun("rows.jsonl", rows, 0, SYSTEMS)]


class Many:
    """Rows that can be asked for several times, as those of a spool."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        row = output_row(0, Example("r", "k" * 5000), {}, Layout(METRICS, texts=True))
        for i in range(self.count):  # each with texts of its own
            yield {**row, "id": str(i + 1), "response": f"r{i} " + "x" * 5000,
                   "knowledge": "k" * 5000}


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(path: Path) -> None:
    write_page(path, results_of(1), Many(1))  # the template is compiled once
    on_onnx.wait_until_open()  # what other tests asked for
    tracemalloc.start()
    try:
        write_page(path, results_of(1600), Many(1600))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 16_000_000
    assert peak < 6_000_000


def test_a_page_is_replaced_only_when_complete(path: Path) -> None:
    path.write_text("earlier")

    def rows() -> Iterator[dict[str, Any]]:
        yield from Many(3)
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        write_page(path, results_of(9), rows())
    assert path.read_text() == "earlier"
    assert list(path.parent.iterdir()) == [path]
    write_page(path, results_of(3), Many(3))
    assert len(data(Page(path))) == 3
    assert list(path.parent.iterdir()) == [path]


def test_pages_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_page(tmp_path / "none" / "report.html", [], [])


def test_one_response_alone(path: Path) -> None:
    example = Example("</script> a", "k", id="x")
    row = output_row(0, example, {"scale": Score(example, 0.5)}, Layout(["scale"], texts=True))
    path.write_text(explanation(row, ["scale|<b>"]), encoding="utf-8")
    page = Page(path)
    assert data(page)[0]["response"] == "</script> a"
    facts = data(page, "facts")
    assert (facts["alone"], facts["titles"]) == (True, {"scale": "SCALE"})
    assert facts["metrics"] == [{"columns": ["scale"], "details": "sentences"}]
    assert page.texts("code") == ["scale|<b>"]
    assert page.texts("table") == page.texts("form") == []


def test_scores_of_different_settings_are_not_comparable(path: Path) -> None:
    def run(name: str, signature: str) -> SystemRun:
        score = SystemScore("knowledge_f1", 0.5, 1, 0, (0.5, 0.5), signature)
        return SystemRun(name, 1, 0, (score,))

    rows = [output_row(0, Example("r", "k"), {}, Layout(["knowledge_f1"], texts=True))] * 2
    warning = "computed with different models or settings"
    for other, warned in (("knowledge_f1|a:2", True), ("knowledge_f1|a:1", False), ("", False)):
        write_page(path, [run("a", "knowledge_f1|a:1"), run("b", other)], rows)
        assert any(warning in text for text in Page(path).texts("li")) is warned
    assert "token F1: not recorded" in Page(path).texts("details", "signatures")[0]
    write_page(path, [run("a", "")], rows[:1])
    assert "not recorded" in Page(path).texts("ul")[0]
    assert Page(path).texts("details", "signatures") == []
