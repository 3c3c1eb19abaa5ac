"""The page in Chromium, as its reader meets it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from browsers import Tab

from q2_metric.engine.result import SystemRun
from q2_metric.metrics.registry import METRICS, Entry
from q2_metric.report.findings import shipped
from q2_metric.report.page import explanation, write_page
from q2_metric.rows.fields import Layout, OutputRow, output_row
from q2_metric.rows.plain import plain
from q2_metric.types import Evidence, Example, Score, SystemScore

HOSTILE = (
    "</script><script>document.title = 'broken'</script><!-- <script> "
    "<img src=x onerror=\"document.title = 'broken'\"> \" ' ` &amp; {{ 7*7 }} {% raw %}"
)
KNOWLEDGE = "Rome lies in Italy. It has 7 hills, they say."


def question(text: str, span: str, knowledge: str, answer: str | None, **fields: Any) -> OutputRow:
    how = str(fields.get("how", "no_answer" if answer is None else "equal"))
    return {
        "plain": plain(span, answer, how, fields.get("verdict")),
        "span": span, "start": text.index(span), "question": f"What about {span}?",
        "response_answer": span, "knowledge_answer": answer,
        "knowledge_start": None if answer is None else knowledge.index(answer),
        "how": how, "verdict": None, "verdict_p": None, "f1": float(answer is not None),
        "score": float(answer is not None), **fields,
    }


DIFFERS = {"how": "nli", "verdict": "contradiction", "verdict_p": 0.75, "f1": 0.0, "score": 0.0}


def row(
    id_: str, response: str, q2: float, *questions: OutputRow, scale: float | None = 0.5,
    **fields: Any,
) -> OutputRow:
    return {
        "id": id_, "q2": q2, "q2_no_nli": q2, "scale": scale, "fallback": False, "error": None,
        "response": response, "knowledge": KNOWLEDGE, "history": [], "questions": list(questions),
        "claims": [{"text": response, "start": 0, "end": len(response), "support": scale,
                    "verdict": "not checked" if scale is None
                    else "supported" if scale >= 0.5 else "not found",
                    "passage": "It has 7 hills, they say.", "passage_start": 20,
                    "passage_support": scale}],
        **fields,
    }


TEXT = "Rome has 9 hills in Spain."
FIRST = row(
    "first", TEXT, 0.25,
    question(TEXT, "Rome", KNOWLEDGE, "Rome"),
    question(TEXT, "9 hills", KNOWLEDGE, "7 hills", **DIFFERS),
    question(TEXT, "hills in Spain", KNOWLEDGE, None),
    history=["Where is it?", "Guess!"], scale=0.125,
)
EMOJI = "🎨🎨 Rome is \U0001f3db️ old, 𝒪ld."
RIGHT_TO_LEFT = "רומא \u202eRome מרחיקה (7)"
ROWS = [
    FIRST,
    row("emoji", EMOJI, 1.0, question(EMOJI, "Rome", KNOWLEDGE, "Rome"),
        question(EMOJI, "𝒪ld", KNOWLEDGE, None), scale=0.75),
    row("rtl", RIGHT_TO_LEFT, 0.5, question(RIGHT_TO_LEFT, "Rome", KNOWLEDGE, "Rome")),
    row(HOSTILE, HOSTILE, 0.0, history=[HOSTILE], fallback=True, knowledge=f"{HOSTILE} More.",
        questions=[question(HOSTILE, "<img src=x", HOSTILE, "<script>")], claims=[
            {"text": HOSTILE, "start": 0, "end": len(HOSTILE), "support": 0.5,
             "verdict": "supported",
             "passage": HOSTILE, "passage_start": 0, "passage_support": 0.5}]),
    row("none", "hm .", 1.0, fallback=True, scale=None),
    dict.fromkeys(FIRST) | {"id": "bad", "error": f"line 6: {HOSTILE}"},
]


def run(name: str, rows: list[OutputRow]) -> SystemRun:
    scores = [SystemScore(metric, 0.5, len(rows), 1, (0.25, 0.75), f"{metric}|a:b", 0.5, 0.25, 9)
              for metric in ("q2", "q2_no_nli", "scale")]
    return SystemRun(name, len(rows), sum(row["error"] is not None for row in rows), tuple(scores))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a page with the few rows above."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, [run("rows.jsonl", ROWS)], ROWS)
    return path.as_uri()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a page that compares two systems: 60 turns, of which 59 are shared."""
    path = tmp_path_factory.mktemp("page") / "compare.html"
    texts = [f"Rome has {i} hills." for i in range(60)]
    first = [row(f"turn-{i}", text, (i % 5) / 4, question(text, "Rome", KNOWLEDGE, "Rome"))
             for i, text in enumerate(texts)]
    second = [row(f"turn-{i}", f"It has {i}.", (i % 4) / 4) for i in range(1, 61)]
    write_page(path, [run("one.jsonl", first), run("two <b>.jsonl", second)], [*first, *second])
    return path.as_uri()


def unfold(card: Any) -> None:
    """Opens a card; a browser tells of it a moment later, and only then is it filled."""
    card.locator("summary").click()
    card.locator(".body").wait_for()


def test_a_response_explains_itself(tab: Tab, address: str) -> None:
    page = tab.page
    page.goto(address + "#sort=order")
    assert tab.count() == "6 responses"
    card = page.locator("#list > li").first
    marks = card.locator(".response mark")
    # Claims are marked before anything is opened.
    assert [(mark.inner_text(), mark.get_attribute("class")) for mark in marks.all()] == [
        (TEXT, "claim differs")]
    signs = card.locator(".response .sign")
    assert signs.all_inner_texts() == ["✗"]
    assert signs.nth(0).get_attribute("aria-label") == (
        "not found; nearest in the knowledge: It has 7 hills, they say.")
    assert card.locator(".question").inner_text() == "Guess!"
    marks.first.focus()
    assert page.get_by_role("tooltip").inner_text() == (
        "not found; nearest in the knowledge: It has 7 hills, they say.")

    none = page.locator("#list > li").nth(4)
    unfold(none)
    assert "judged as a whole: 1.000, speaks for support." in none.inner_text()
    unfold(card)
    assert card.locator(".turns li").all_inner_texts() == ["Where is it?", "Guess!"]
    knowledge = card.locator(".knowledge mark")
    assert [(mark.inner_text(), mark.get_attribute("class")) for mark in knowledge.all()] == [
        ("Rome", "asked supported"), ("It has ", "against"),
        ("7 hills", "asked against differs"), (", they say.", "against")]
    assert card.locator(".plain").inner_text().replace("\n", " ") == (
        "Says 9 hills; the knowledge says 7 hills. "
        "Says hills in Spain; the knowledge does not say.")
    assert card.locator(".knowledge .sign").all_inner_texts() == ["✓1", "✗2", "a"]
    questions = card.locator(".questions > li")
    assert questions.locator(".how").all_inner_texts() == [
        "equal", "contradiction 0.75", "no answer"]
    assert questions.nth(1).locator("dd").all_inner_texts() == ["9 hills", "7 hills"]
    sentences = card.locator(".sentences")
    assert "0.125" in sentences.inner_text()
    assert "Contradicted by: It has 7 hills, they say." in sentences.inner_text()
    # What is no support is not shown as such, and on demand.
    assert "No support found." in sentences.inner_text()
    assert sentences.locator(".n").count() == 1
    sentences.get_by_role("button", name="Show the nearest sentence").click()
    assert "Nearest 0.125: It has 7 hills, they say." in sentences.inner_text()
    questions.nth(1).hover()
    assert card.locator(".knowledge mark.lit").all_inner_texts() == ["7 hills"]


def test_texts_are_shown_as_text(tab: Tab, address: str) -> None:
    page = tab.page
    page.goto(address + "#sort=order")
    page.get_by_role("button", name="Open all").click()
    assert page.locator("#list details[open]").count() == 6
    assert page.locator("#list script, #list img").count() == 0
    assert page.title() == "rows.jsonl – Q² report"
    card = page.locator("#list > li").nth(3)
    for part in (".question", ".sentences .asking .text", ".sentences bdi"):
        assert card.locator(part).text_content() == HOSTILE, part
    assert card.locator(".response").text_content() == f"{HOSTILE}✓"
    assert page.locator("#list > li").nth(5).locator(".error").text_content().endswith(HOSTILE)
    # Signs beyond the first 65,536 count once in Python and twice here.
    emoji = page.locator("#list > li").nth(1)
    assert emoji.locator(".response mark").all_inner_texts() == [EMOJI]
    rtl = page.locator("#list > li").nth(2).locator(".response")
    assert rtl.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert page.evaluate("document.querySelectorAll('.text:not([dir=auto]):not(bdi)').length") == 0


def test_filter_and_sort(tab: Tab, address: str) -> None:
    page = tab.page
    page.goto(address)
    page.get_by_label("Search").fill("GUESS!")
    tab.wait("document.querySelectorAll('#list > li').length === 1")
    assert (tab.ids(), tab.count()) == (["first"], "1 of 6 responses")
    page.get_by_role("button", name="Clear").click()
    assert tab.count() == "6 responses"

    page.get_by_label("Sort").select_option("lowest first")
    assert tab.ids() == [HOSTILE, "first", "rtl", "emoji", "none", "bad"]  # no score: last
    page.get_by_label("Sort").select_option("highest first")
    assert tab.ids()[:3] == ["emoji", "none", "rtl"]
    page.get_by_text("More filters").click()
    page.locator("[name=metric]").select_option("SCALE")
    assert tab.ids()[0] == "emoji"
    page.get_by_label("lowest score").fill("0.2")
    page.get_by_label("highest score").fill("0.6")
    tab.wait("document.querySelectorAll('#list > li').length === 2")
    assert tab.ids() == ["rtl", HOSTILE]
    page.get_by_role("button", name="Clear").click()

    wanted = {
        "with an answer that speaks against support (1)": ["first"],
        "with an unanswered question (2)": ["first", "emoji"],
        "with every answer supported (2)": ["rtl", HOSTILE],
        "without a valid question (1)": ["none"],
        "without a score (1)": ["bad"],
    }
    page.get_by_label("Sort").select_option("as in the file")
    show = page.get_by_label("Show")
    for option, ids in wanted.items():
        show.select_option(option)
        assert tab.ids() == ids, option
    show.select_option("all (6)")
    # A bar of the distribution is the range of scores that it counts.
    page.locator("figure").first.locator(".hit").nth(19).click()
    assert (tab.ids(), tab.count()) == (["emoji", "none"], "2 of 6 responses")
    page.locator("figure").first.locator(".hit").nth(9).click()  # 0.45 up to 0.5
    assert tab.count() == "0 of 6 responses"
    page.locator("figure").first.locator(".hit").nth(10).click()
    assert tab.ids() == ["rtl"]


def test_the_address_keeps_what_is_shown(tab: Tab, address: str) -> None:
    page = tab.page
    page.goto(address)
    page.get_by_label("Sort").select_option("highest first")
    page.get_by_label("Show").select_option("with an unanswered question (2)")
    page.locator("#list summary").nth(1).click()
    tab.wait("location.hash.includes('open=0')")
    kept = page.url
    assert tab.ids() == ["emoji", "first"]
    page.go_back()
    tab.wait("document.querySelectorAll('#list > li').length === 6")
    assert page.get_by_label("Show").input_value() == "any"
    assert page.get_by_label("Sort").input_value() == "high"
    page.go_back()
    tab.wait("document.querySelector('[name=sort]').value === ''")

    page.goto("about:blank")
    page.goto(kept)
    assert tab.ids() == ["emoji", "first"]
    assert page.locator("#list details").nth(1).get_attribute("open") is not None
    page.goto("about:blank")
    # What a page does not know is left out.
    page.goto(address + "#sort=x&metric=constructor&page=-7&min=NaN&size=1e9&view=9&a=b&show=y")
    assert tab.count() == "6 responses"


def test_pages(tab: Tab, two: str) -> None:
    page = tab.page
    page.goto(two + "#view=0&sort=order&size=25")
    place = page.locator("#place")
    assert (place.inner_text(), tab.ids()[0], len(tab.ids())) == ("1–25 of 60", "turn-0", 25)
    page.get_by_role("button", name="Previous").click(force=True)  # there is none
    assert place.inner_text() == "1–25 of 60"
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    assert (place.inner_text(), tab.ids()[-1]) == ("51–60 of 60", "turn-59")
    assert page.evaluate("document.activeElement.id") == "count"
    page.go_back()
    tab.wait("document.querySelector('#place').textContent === '26–50 of 60'")
    page.get_by_label("On a page").select_option("100")
    assert len(tab.ids()) == 60
    assert not page.get_by_role("button", name="Next").is_visible()


def test_two_systems_side_by_side(tab: Tab, two: str) -> None:
    page = tab.page
    page.goto(two)
    assert tab.count() == "59 pairs"
    assert page.get_by_label("System").input_value() == "pair-0-1"
    first = page.locator("#list > li").first
    assert tab.ids()[0] == "turn-4"  # 1.0, then 0.0
    cells = first.locator(".line > *").all_inner_texts()
    assert cells[:2] == ["fail", "turn-4"]
    assert cells[3:] == ["1.000 → 0.000", "▼ −1.000", "The knowledge supports it."]
    unfold(first)
    assert first.locator(".score b").all_inner_texts() == ["▼ −1.000", "±0.000"]
    assert first.locator(".top .side .system").all_inner_texts() == ["one.jsonl", "two <b>.jsonl"]
    assert [side.split("\n")[0] for side in first.locator(".side .response").all_inner_texts()] == [
        "Rome has 4 hills.✓", "It has 4.✓"]
    assert first.locator(".body .side").count() == 2
    assert first.locator(".body .questions").count() == 1
    assert first.locator(".body .knowledge").count() == 1  # of both: it is the same
    page.get_by_label("Sort").select_option("largest gain")
    assert page.locator("#list .change").first.inner_text() == "▲ +0.750"
    better, worse = (
        int(page.locator("[name=show] option", has_text=name).inner_text().split("(")[1][:-1])
        for name in ("better", "worse"))
    changes = [(i % 4) / 4 - (i % 5) / 4 for i in range(1, 60)]
    assert better == sum(change > 0 for change in changes)
    assert worse == sum(change < 0 for change in changes)
    page.get_by_label("Show").select_option(f"better ({better})")
    assert tab.count() == f"{better} of 59 pairs"
    page.get_by_label("System").select_option("two <b>.jsonl")
    assert tab.count() == "60 responses"  # a filter of pairs is none of responses
    table = page.locator("table").nth(1).inner_text()
    for wanted in (str(better), str(worse), "59"):
        assert wanted in re.split(r"\s+", table)


def test_keyboard_alone(tab: Tab, address: str) -> None:
    page = tab.page
    page.goto(address)

    def on(selector: str) -> bool:
        return bool(page.evaluate("s => document.activeElement.matches(s)", selector))

    def tab_to(selector: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if on(selector):
                return
        raise AssertionError(f"{selector} cannot be reached")

    tab_to("[name=text]")
    page.keyboard.type("hills")
    tab.wait("document.querySelector('#count').textContent.startsWith('4 of')")
    assert on("[name=text]")  # typing goes on while the list changes
    tab_to("[name=sort]")
    page.keyboard.press("ArrowDown")
    assert on("[name=sort]")
    tab.wait("location.hash.includes('sort=order')")
    tab_to("#open-all")
    tab_to("#list summary")
    style = "getComputedStyle(document.activeElement)"
    assert page.evaluate(f"{style}.outlineStyle + {style}.outlineWidth") == "solid2px"
    page.keyboard.press("Enter")
    page.locator("#list details[open] .explained").wait_for()
    page.keyboard.press("Enter")
    assert page.locator("#list details[open]").count() == 0


NAMELESS = """() => [...document.querySelectorAll("input, select, button, summary, [role]")]
  .filter((e) => e.offsetParent !== null && !(e.getAttribute("aria-label") || e.labels?.length
    || e.textContent.trim() || e.getAttribute("aria-labelledby")))
  .map((e) => e.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_looks(
    browser: Any, tmp_path: Path, address: str, two: str, width: int, scheme: str
) -> None:
    """Nothing is cut off or without a name, in any width and either scheme."""
    made = Tab(browser, viewport={"width": width, "height": 800}, color_scheme=scheme)
    for number, where in enumerate((address, two)):
        made.page.goto(where)
        made.page.get_by_role("button", name="Open all").click()
        assert made.page.evaluate("document.documentElement.scrollWidth") <= width
        assert made.page.evaluate(NAMELESS) == []
        shot = tmp_path / f"{number}.png"
        made.page.screenshot(path=shot)
        assert shot.read_bytes().startswith(b"\x89PNG")
        ground = made.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground))) > 384) is (scheme == "light")
    made.page.close()
    assert made.wrong == []


def test_paper(tab: Tab, address: str) -> None:
    page = tab.page
    page.goto(address)
    seen = "document.querySelectorAll('#list details[open]').length"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.opened = {seen}; }})")
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("window.opened") == 0
    page.emulate_media(media="print")
    assert not page.locator("#controls").is_visible()


def test_without_javascript(browser: Any, address: str) -> None:
    made = Tab(browser, java_script_enabled=False)
    made.page.goto(address)
    assert "needs JavaScript" in made.page.locator("noscript").inner_text()
    assert made.page.locator("table td.mean").all_inner_texts() == ["0.500"] * 3
    assert not made.page.locator("#browser").is_visible()
    made.page.close()


def test_one_response_in_a_frame(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "one.html"
    path.write_text(explanation(FIRST, ["q2|a:b"]), encoding="utf-8")
    tab.page.goto(path.as_uri())
    assert tab.page.locator(".questions > li").count() == 3
    assert tab.page.locator("form, nav, h1").count() == 0


def test_of_ten_thousand_responses_one_page_is_made(tab: Tab, tmp_path: Path) -> None:
    """What a list costs does not grow with the responses (docs/results/report.md has times)."""
    path = tmp_path / "many.html"
    many = [{**FIRST, "id": f"r{i}", "q2": (i * 7 % 1001) / 1000} for i in range(10_000)]
    write_page(path, [run("many.jsonl", many)], many)
    tab.page.goto(path.as_uri())
    assert tab.count() == "10,000 responses"
    tab.page.locator("[name=sort]").select_option("lowest first")
    tab.wait("document.querySelector('#list .id').innerText === 'r0'")
    assert tab.page.locator("#list > li").count() == 50
    assert tab.page.locator("*").count() < 2000
    tab.page.get_by_label("Search").fill("r9999")
    tab.wait("document.querySelectorAll('#list > li').length === 1")


def test_what_a_combined_score_rests_on(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "alone.html"
    parts = [{"name": "weakest", "value": 2.5, "contribution": 1.25},
             {"name": "numbers", "value": 0.0, "contribution": -0.5}]
    path.write_text(explanation({
        "id": "x", "groundedness": 0.75, "reason": None, "error": None, "response": TEXT,
        "knowledge": KNOWLEDGE, "history": [], "parts": parts,
    }), encoding="utf-8")
    tab.page.goto(path.as_uri())
    items = tab.page.locator(".sentences > li")
    assert [re.sub(r"\s+", " ", item.inner_text()) for item in items.all()] == [
        "▲ support of the weakest claim: raises the score a lot",
        "▼ share of a claim's numbers found in the knowledge: lowers the score somewhat"]


@dataclass(frozen=True)
class Quote(Evidence):
    text: str

    def __str__(self) -> str:
        return f"quotes {self.text}"


def test_evidence_of_another_kind_is_listed_in_its_words(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METRICS, "quoted", Entry(
        "quoted", "quoted words", "", details=f"{__name__}:Quote"))
    example = Example(TEXT, KNOWLEDGE)
    score = Score(example, 0.75, (Quote("<b>Rome</b>"),))
    path = tmp_path / "alone.html"
    path.write_text(explanation(output_row(0, example, {"quoted": score}, Layout(
        ["quoted"], texts=True))), encoding="utf-8")
    tab.page.goto(path.as_uri())
    listed = tab.page.locator(".part", has_text="quoted words").locator("li")
    assert listed.all_inner_texts() == ["quotes <b>Rome</b>"]


def test_why_there_is_no_score(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "alone.html"
    silent = row("x", "hm .", 0.0) | {"q2": None, "q2_no_nli": None, "reason": "no_claim"}
    path.write_text(explanation(silent), encoding="utf-8")
    tab.page.goto(path.as_uri())
    assert "the response claims nothing that could be checked" in tab.page.locator(
        ".badge").all_inner_texts()
    # Where no metric has a score, a sentence says it, and the badge does not say it again.
    path.write_text(explanation(silent | {"scale": None}), encoding="utf-8")
    tab.page.reload()
    assert tab.page.locator("#list").inner_text().count("laims nothing that could be checked") == 1


def test_labels_and_the_threshold(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "labels.html"
    said = {"a": (0.9, 0.9, True), "b": (0.6, 0.2, False), "c": (0.2, 0.8, True),
            "d": (0.5, 0.1, False), "e": (1.0, 0.7, None)}
    rows = [row(id_, TEXT, q2, scale=scale, label=label)
            for id_, (q2, scale, label) in said.items()]
    write_page(path, [run("labels.jsonl", rows)], rows)
    page = tab.page
    page.goto(path.as_uri() + "#sort=order")
    assert page.locator(".badge").all_inner_texts() == [
        f"people: {word}supported" for word in ("", "not ", "", "not ")]
    precision = page.locator(".precision")
    assert precision.nth(0).inner_text() == "above 0.50: precision 50 % (1 of 2), recall 50 %"
    assert precision.nth(2).inner_text() == "above 0.50: precision 100 % (2 of 2), recall 100 %"
    page.get_by_label("Show").select_option("metric and label disagree (2)")
    assert tab.ids() == ["b", "c"]
    page.get_by_label("Show").select_option("Q² and SCALE disagree (2)")
    assert tab.ids() == ["b", "c"]
    page.get_by_label("Show").select_option("all (5)")
    page.get_by_text("More filters").click()
    slider = page.get_by_label("Threshold")
    slider.focus()
    for _ in range(20):  # 0.5 to 0.7 in steps of 0.01
        page.keyboard.press("ArrowRight")
    tab.wait("location.hash.includes('threshold=0.7')")
    assert precision.nth(0).inner_text() == "above 0.70: precision 100 % (1 of 1), recall 50 %"
    page.get_by_label("Show").select_option("metric and label disagree (1)")
    assert tab.ids() == ["c"]


def test_the_checkpoints_of_a_run(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "runs.html"
    names = [f"runs/step-{step}.jsonl" for step in (500, 1000, 2000)]
    rows = [[row(f"t{i}", TEXT, value + i / 100) for i in range(3)] for value in (0.1, 0.6, 0.2)]
    runs = [run(*one) for one in zip(names, rows, strict=True)]
    write_page(path, runs, [one for some in rows for one in some])
    page = tab.page
    page.goto(path.as_uri())
    curve = page.locator(".curve", has_text="Q²").first
    label = curve.locator("svg").get_attribute("aria-label")
    assert label.startswith("Q² by checkpoint: 500: 0.500 (0.250 to 0.750); 1,000: 0.500")
    assert page.get_by_label("System").input_value() == "pair-0-2"  # the last beside the first
    curve.get_by_role("button", name="2,000").click()
    assert page.get_by_label("System").input_value() == "pair-1-2"
    assert page.locator("#list .score b").first.inner_text() == "▼ −0.400"
    assert page.evaluate("document.activeElement.id") == "count"
    page.get_by_label("Show").select_option("that crossed the threshold (3)")
    assert tab.count() == "3 pairs"


def test_all_on_one_page_are_made_as_they_come_into_view(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    many = [{**FIRST, "id": f"r{i}"} for i in range(2000)]
    write_page(path, [run("many.jsonl", many)], many)
    page = tab.page
    page.goto(path.as_uri())
    page.get_by_text("More filters").click()
    page.get_by_label("On a page").select_option("all")
    for least in (50, 100):  # each time that the end comes into view, as many more are made
        tab.wait(f"document.querySelectorAll('#list > li').length >= {least}")
        assert page.locator("#list > li").count() < 200
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    tab.wait("document.querySelectorAll('#list > li').length > 100")
    # The row with the id stands before those that have it in their texts or ids.
    page.get_by_label("Search").fill("r12")
    tab.wait("document.querySelector('#list .id').innerText === 'r12'")
    assert tab.count().startswith("111 of 2,000")


def test_how_sure_a_finding_is(tab: Tab, tmp_path: Path) -> None:
    """Of the shipped models' findings; the others' were not measured."""
    path = tmp_path / "measured.html"
    signed = [SystemScore(name, 0.5, 1, 0, None, text)
              for name, text in shipped().signatures.items() if name in ("q2", "scale")]
    write_page(path, [SystemRun("ours", 1, 0, tuple(signed))], [FIRST])
    page = tab.page
    page.goto(path.as_uri())
    unfold(page.locator("#list > li").first)
    share, shown = shipped().findings, page.locator(".questions .chance")
    kinds = ["equal", "contradiction, 0.60 to 0.80"]
    assert shown.all_inner_texts() == [
        f"{math.floor(100 * share[kind].share + 0.5)} of 100 such findings were judged supported"
        for kind in kinds]
    signs = {"supported": "✓", "differs": "✗", "open": "?"}
    assert page.locator(".questions .sign").all_inner_texts() == [
        *(f"{signs[share[kind].state]}{i}" for i, kind in enumerate(kinds, start=1)), "?3"]
    words = page.locator("details.words").nth(1)
    assert "neutral" in words.text_content()


def test_how_sure_is_not_said_of_other_models(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    legend = tab.page.locator("#legend")
    assert "not measured" not in legend.inner_text()
    unfold(tab.page.locator("#list > li").first)
    assert "not measured for these models" in legend.inner_text()
    assert tab.page.locator(".chance").count() == 0


@pytest.mark.parametrize("which", ["address", "two"])
def test_axe(tab: Tab, which: str, request: pytest.FixtureRequest) -> None:
    """Deque's checks of WCAG 2.2 A and AA, with everything open."""
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    page = tab.page
    page.goto(request.getfixturevalue(which))
    page.get_by_role("button", name="Open all").click()
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    page.evaluate(script)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    assert {one["id"]: [node["html"][:120] for node in one["nodes"][:3]]
            for one in found["violations"]} == {}


def claim(text: str, whole: str, verdict: str, **fields: Any) -> OutputRow:
    start = whole.index(text)
    support = 0.9 if verdict == "supported" else 0.1
    return {"start": start, "end": start + len(text), "text": text, "verdict": verdict,
            "support": support, "passage": "It has 7 hills, they say.", "passage_start": 20,
            "passage_number": 2, "passage_support": support, **fields}


MARKDOWN = ("Rome has **9 hills** [1].\n\n| city | hills |\n|---|---:|\n| <b>Rome</b> | `7` |\n\n"
            "It is <i>old</i>.")
CLAIMED = row(
    "claimed", MARKDOWN, 0.5, knowledge="Rome lies in Italy.\n\nIt has 7 hills, they say.", claims=[
        claim("Rome has **9 hills**", MARKDOWN, "contradicted", citation="unsupported",
              cites=["1"]),
        claim("<b>Rome</b> | `7`", MARKDOWN, "supported", citation="none"),
        claim("It is <i>old</i>", MARKDOWN, "not found", citation="none")])


def test_claims_are_marked_in_place(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "claims.html"
    fine = row("fine", "Rome lies in Italy.", 1.0, claims=[
        claim("Rome lies in Italy.", "Rome lies in Italy.", "supported")])
    write_page(path, [run("claims.jsonl", [fine, CLAIMED])], [fine, CLAIMED])
    page = tab.page
    page.goto(path.as_uri())
    verdict = page.locator(".verdict").inner_text()
    assert verdict.startswith(
        "1 of 2 responses with claims has an unsupported claim (1 contradicted).")
    assert "0 of 1 claims with a citation cite a passage that supports them." in verdict
    assert tab.ids() == ["claimed", "fine"]  # the worst first
    response = page.locator("#list > li").first.locator(".response")
    # Markdown's signs are hidden, its table is one, and markup of users stays text.
    assert response.locator("table th").all_inner_texts() == ["city", "hills"]
    assert [one.text_content() for one in response.locator("table td").all()] == [
        "<b>Rome</b>", "7✓"]
    assert response.locator("i, script, b").count() == 0
    assert response.locator(".bold").inner_text() == "9 hills"
    assert "**" not in response.inner_text()
    assert "It is <i>old</i>✗." in response.inner_text()
    wrong = response.locator("mark.contradicted").first
    wrong.hover()
    assert page.get_by_role("tooltip").inner_text() == (
        "contradicted by passage 2: It has 7 hills, they say. "
        "(cites a passage, but no passage supports it)")
    page.get_by_label("Show").select_option("with a contradicted claim (1)")
    assert tab.ids() == ["claimed"]
    unfold(page.locator("#list > li").first)
    assert page.locator(".knowledge .number").all_inner_texts() == ["1", "2"]


def test_the_page_has_one_mean(tab: Tab, tmp_path: Path) -> None:
    """A response without a claim counts as 0 in the table, over the histogram and in a pair."""
    path, fine = tmp_path / "means.html", row("a", "Rome has 7 hills.", 1.0)
    silent = {**row("b", "lol", 0.0, scale=None), "q2": None, "q2_no_nli": None,
              "reason": "no_claim", "claims": []}
    before = [fine, {**fine, "id": "b"}]
    runs = [SystemRun(name, 2, 0, (SystemScore("q2", mean, 2, 0, None, "q2|a:b|no_claim:zero"),))
            for name, mean in (("before", 1.0), ("after", 0.5))]
    write_page(path, runs, [*before, fine, silent])
    tab.page.goto(f"{path.as_uri()}#view=1")
    words = tab.page.locator("#histograms figcaption").inner_text()
    assert "1 score and 1 without a claim, which count as 0, mean 0.500" in words
    assert tab.page.locator("td.mean").all_inner_texts() == ["1.000", "0.500", "−0.500"]
    tab.page.goto(path.as_uri())
    assert "2 changes, mean −0.500" in tab.page.locator("#histograms figcaption").inner_text()
    tab.page.get_by_label("Show").select_option("worse (1)")
    assert tab.ids() == ["b"]


def test_paper_has_thirty_responses_on_eight_pages(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "thirty.html"
    rows = [{**CLAIMED, "id": f"r{i}", "label": i % 2 == 0} for i in range(30)]
    write_page(path, [run("thirty.jsonl", rows)], rows)
    tab.page.goto(path.as_uri())
    printed = tab.page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 8


def test_on_a_phone_the_first_response_is_near(browser: Any, address: str) -> None:
    made = Tab(browser, viewport={"width": 390, "height": 844})
    made.page.goto(address)
    assert made.page.locator("#list > li").first.bounding_box()["y"] < 2 * 844
    made.page.close()


def test_forty_responses_are_two_screens_and_the_lowest_come_first(
    browser: Any, tmp_path: Path,
) -> None:
    path = tmp_path / "forty.html"
    rows = [row(f"r{i}", TEXT, (i * 7 % 40) / 40, question=f"What is it? {HOSTILE}")
            for i in range(39)]
    rows.append(dict.fromkeys(FIRST) | {"id": "bad", "error": HOSTILE})
    write_page(path, [run("forty.jsonl", rows)], rows)
    made = Tab(browser, viewport={"width": 1280, "height": 800})
    page = made.page
    page.goto(path.as_uri() + "#metric=q2")
    box = page.locator("#list").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 1600
    lines = page.locator("#list .line")
    assert lines.count() == 40
    assert lines.nth(1).locator("> *").all_inner_texts()[:4] == [
        "fail", "r23", f"What is it? {HOSTILE}", "0.025"]
    assert [line.inner_text() for line in page.locator(".decided").all()].count("pass") == 19
    assert made.ids()[0] == "r0"
    assert made.ids()[-1] == "bad"
    assert page.locator("#list .line script, #list .line img").count() == 0
    assert page.locator("#legend").inner_text() == ""
    lines.first.click()
    page.locator(".body").wait_for()
    assert "not found" not in page.locator("#legend").inner_text()
    assert "✓ supported" in page.locator("#legend").inner_text()
    assert page.locator(".top .response").inner_text().startswith(TEXT)
    page.get_by_role("button", name="Show in full").click()
    assert page.locator("#list > li > .top").count() == 40
    assert "layout=full" in page.url
    page.close()
    assert made.wrong == []


def test_the_first_lines_and_the_headings_lead_to_the_bad_responses(
    tab: Tab, tmp_path: Path,
) -> None:
    page = tab.page
    rows = []
    for i in range(12):
        said = f"It has {i} hills."
        verdict = "not found" if i % 3 == 0 else "supported"
        rows.append(row(f"r{i}", said, i / 20, claims=[claim(said, said, verdict, support=i / 20)],
                        groundedness=i / 12, question="What is it?"))
    path = tmp_path / "lines.html"
    made = run("twelve.jsonl", rows)
    gated = replace(made.scores[0], name="groundedness")
    write_page(path, [replace(made, scores=(*made.scores, gated))], rows)
    page.goto(path.as_uri() + "#metric=groundedness&mine=2n")
    cells = page.locator("#list .line .worst")
    assert cells.all_inner_texts()[:2] == [
        "not found: It has 0 hills.", "supported: It has 1 hills."]
    for words, left in (("6 of 12 responses fail q2 gate", 6),
                        ("4 of 12 responses with claims have", 4)):
        page.get_by_role("link", name=words).click()
        assert tab.count() == f"{left} of 12 responses"
        assert "mine=2n" in page.url
    page.get_by_role("button", name="Clear").click()
    by_score, by_claim = (page.locator("#columns > *").nth(place) for place in (3, 4))
    for heading, first, sort in ((by_score, "r11", "high"), (by_score, "r0", ""),
                                 (by_claim, "r0", "worst"), (by_score, "r0", "")):
        heading.click()
        assert (tab.ids()[0], page.get_by_label("Sort").input_value()) == (first, sort)


def test_keys_from_the_first_press(tab: Tab, two: str) -> None:
    page = tab.page
    page.goto(two)
    place = ("[...document.querySelectorAll('#list > li')]"
             ".indexOf(document.activeElement.closest('li'))")
    page.keyboard.press("j")
    assert page.evaluate(place) == 0
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate(place) == 1
    page.keyboard.press("Enter")
    page.locator("#list .body").wait_for()
    page.locator("#list .label").first.wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "text"
    page.keyboard.type("j/k")
    assert page.get_by_label("Search").input_value() == "j/k"


def test_an_empty_list_says_why_and_offers_a_way_out(tab: Tab, address: str) -> None:
    page = tab.page
    page.goto(address + "#text=nowhere&show=error")
    empty = page.locator("#list .empty")
    assert empty.locator("p").inner_text() == (
        "No response passes all of these filters: the search “nowhere”; “without a score”.")
    page.get_by_role("button", name="Show all responses").click()
    assert tab.count() == "6 responses"


@pytest.mark.parametrize(("change", "words"), [
    (-0.3, "after.jsonl is worse than before.jsonl by 0.300 [0.300, 0.300]. "
           "Q²; of 9 pairs, 9 are worse, 0 better, 0 the same."),
    (0.3, "after.jsonl is better than before.jsonl by 0.300 [0.300, 0.300]. "
          "Q²; of 9 pairs, 0 are worse, 9 better, 0 the same."),
    (0.0, "after.jsonl is neither better nor worse than before.jsonl beyond chance: "
          "±0.000 [±0.000, ±0.000]. Q²; of 9 pairs, 0 are worse, 0 better, 9 the same."),
])
def test_the_verdict_of_the_comparison_comes_first(
    tab: Tab, tmp_path: Path, change: float, words: str,
) -> None:
    path = tmp_path / "compared.html"
    before, after = ([row(f"r{i}", TEXT, 0.5 + one) for i in range(9)] for one in (0, change))
    write_page(path, [run("before.jsonl", before), run("after.jsonl", after)], [*before, *after])
    tab.page.goto(path.as_uri())
    assert tab.page.locator(".verdict").first.inner_text() == words


def test_a_block_of_code_is_boxed(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "code.html"
    said = "Run this:\n```sh\nrm **old** <b>\n\nls | wc\n```\nThen wait.\n```\nopen end"
    path.write_text(explanation(row("x", said, 0.5, claims=[
        claim("rm **old**", said, "supported"), claim("Then wait", said, "not found")])),
        encoding="utf-8")
    tab.page.goto(path.as_uri())
    response = tab.page.locator(".response")
    assert [one.text_content() for one in response.locator("pre").all()] == [
        "rm **old**✓ <b>\n\nls | wc", "open end"]
    assert response.locator("b").count() == 0
    assert "Then wait✗." in response.inner_text()
    assert "```" not in response.inner_text()


def test_a_supported_claim_takes_one_line(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "one.html"
    said = "It has 7 hills. It is big."
    path.write_text(explanation(row("x", said, 0.5, claims=[
        claim("It has 7 hills.", said, "supported", citation="none"),
        claim("It is big.", said, "not found", citation="none")])), encoding="utf-8")
    tab.page.goto(path.as_uri())
    first = tab.page.locator(".sentences > li").first
    assert first.inner_text().split("\n")[-1] == "why"
    first.get_by_role("button", name="why claim a is supported").click()
    assert "Support 0.900: It has 7 hills, they say." in first.inner_text()
