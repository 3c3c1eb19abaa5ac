"""What a reader of the page does with it: label, save, link, move by keys."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsers import Tab
from test_report_browser import TEXT, row, run
from test_report_groups import answered, report, scored

from q2_metric.evaluation.calibrate import read_labelled
from q2_metric.report.page import write_page
from q2_metric.rows.columns import Columns

PASSAGES = [{"start": 0, "end": 19, "id": "d1"}, {"start": 20, "end": 45, "id": "d2"}]
ROWS = [
    row(f"r{i}", f"{'🎨' * i} {TEXT}", i / 10, question="Where?", history=["Hello."],
        passages=PASSAGES, other={"model": "m"})
    for i in range(4)
]


@pytest.fixture
def page(tab: Tab, tmp_path: Path) -> Any:
    path = tmp_path / "page.html"
    write_page(path, [run("rows.jsonl", ROWS)], ROWS)
    tab.page.goto(path.as_uri() + "#sort=order")
    return tab.page


def test_labels_of_the_reader(tab: Tab, page: Any, tmp_path: Path) -> None:
    """They count at once, stay in the address, and q2 calibrate reads the saved rows."""
    cards = page.locator("#list > li")
    assert page.locator(".confusion").count() == 0
    cards.nth(1).get_by_role("button", name="your label: supported", exact=True).click()
    cards.nth(3).get_by_role("button", name="your label: not supported").click()
    assert page.locator(".confusion caption").inner_text().endswith(
        "agrees with people about 1 of 2 responses (50 %)")
    tab.wait("location.hash.includes('mine=1y3n')")
    page.reload()
    pressed = page.locator(".label [aria-pressed=true]")
    assert pressed.all_inner_texts() == ["✓", "✗"]
    page.get_by_role("button", name="Clear").click()
    assert pressed.count() == 2
    page.get_by_label("Show").select_option("with a label (2)")
    assert tab.ids() == ["r1", "r3"]
    with page.expect_download() as download:
        page.get_by_role("button", name="Save rows").click()
    saved = tmp_path / "saved.jsonl"
    download.value.save_as(saved)
    first, second = map(json.loads, saved.read_text(encoding="utf-8").splitlines())
    assert first == {
        "id": "r1", "question": "Where?", "history": ["Hello."], "response": f"🎨 {TEXT}",
        "knowledge": [{"id": "d1", "text": "Rome lies in Italy."},
                     {"id": "d2", "text": "It has 7 hills, they say."}],
        "label": 1, "model": "m"}
    assert (second["id"], second["label"]) == ("r3", 0)
    labels = [one.consistent for one in read_labelled(saved, Columns())]
    assert labels == [True, False]
    # A second click takes the label away.
    cards.nth(0).get_by_role("button", name="your label: supported", exact=True).click()
    tab.wait("location.hash.includes('mine=3n')")


def test_keys_move_and_label(tab: Tab, page: Any) -> None:
    page.locator("#list summary").first.focus()
    for key in "jjky":  # to the third, back to the second
        page.keyboard.press(key)
    tab.wait("location.hash.includes('mine=1y')")
    page.keyboard.press("n")
    tab.wait("location.hash.includes('mine=1n')")
    # They belong to the list: elsewhere they are letters.
    page.get_by_label("Search").focus()
    page.keyboard.type("jny")
    assert page.get_by_label("Search").input_value() == "jny"
    tab.wait("document.querySelectorAll('#list > li.empty').length === 1")
    assert "mine=1n" in page.url


def test_a_link_to_a_response(tab: Tab, page: Any) -> None:
    page.get_by_role("link", name="r2").click()
    tab.wait("location.hash.includes('text=r2')")
    kept = page.url
    page.goto("about:blank")
    page.goto(kept)
    assert tab.ids() == ["r2"]
    assert page.locator("#list details[open] .body").count() == 1


def test_labels_of_two_systems(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "two.html"
    second = [one | {"response": "It has 7 hills."} for one in ROWS]
    write_page(path, [run("a", ROWS), run("b", second)], [*ROWS, *second])
    page = tab.page
    page.goto(path.as_uri() + "#sort=order")
    sides = page.locator("#list > li").first.locator(".side")
    sides.nth(1).get_by_role("button", name="your label: supported", exact=True).click()
    tab.wait("location.hash.includes('mine=4y')")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save rows").click()
    rows = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert [(one["system"], one.get("label")) for one in rows[:2]] == [("a", None), ("b", 1)]


def test_a_failed_row_has_no_label(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "failed.html"
    rows = [ROWS[0], dict.fromkeys(ROWS[0]) | {"id": "bad", "error": "line 2: no response"}]
    write_page(path, [replace(run("f", rows), failed=1)], rows)
    tab.page.goto(path.as_uri())
    assert tab.page.locator(".label").count() == 1


def test_systems_of_a_column_are_named_once(tab: Tab, tmp_path: Path) -> None:
    rows = [answered(f"{model}-{n}", verdict, model=model, topic="t" if n else "u")
            | {"question": f"What about {n}?"}
            for n in range(3) for model, verdict in (("old", "supported"), ("new", "not found"))]
    out = str(tmp_path / "page.html")
    assert report(scored(tmp_path / "s.jsonl", rows), "--systems", "model", "-o",
                  out).returncode == 0
    tab.page.goto(Path(out).as_uri())
    # The columns that tell the same as the systems are neither groups nor on the cards.
    assert "model:" not in tab.page.locator("#list").inner_text()
    assert tab.page.locator("[name=group] option").all_text_contents() == ["nothing", "topic"]
    assert "topic: u" in tab.page.locator("#list .side").first.inner_text()


def test_many_dated_runs_leave_room_for_the_first_response(browser: Any, tmp_path: Path) -> None:
    paths = [
        scored(tmp_path / f"release-{'abcdef'[i]}-of-the-service.jsonl", [
            answered(f"r{n}", "not found" if n < i else "supported", model="mn"[n % 2])
            for n in range(8)], f"2026-11-{10 + i}")
        for i in range(6)]
    out = str(tmp_path / "page.html")
    assert report(*paths, "-o", out).returncode == 0
    made = Tab(browser, viewport={"width": 1280, "height": 900})
    made.page.goto(Path(out).as_uri())
    verdicts = [one.inner_text() for one in made.page.locator(".verdict:visible").all()]
    assert len(verdicts) == 5  # the first is that of the comparison
    assert verdicts[1].split("\n")[0] == paths[-1]  # the newest
    top = made.page.locator("#list > li").first.bounding_box()
    assert top is not None
    assert top["y"] < 900
    made.page.get_by_text("2 more systems").click()
    assert made.page.locator(".verdict:visible").count() == 7
    made.page.close()
