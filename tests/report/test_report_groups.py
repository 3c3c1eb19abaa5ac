"""The page by the values of a column, over dated runs, and with a threshold that is dragged."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from browsers import Tab
from test_report_browser import TEXT, claim, row, run

from q2_metric.engine.result import SystemRun
from q2_metric.report.page import write_page
from q2_metric.report.systems import MOST_VALUES, groupings, in_order
from q2_metric.rows.fields import OutputRow


def answered(id_: str, verdict: str, **other: Any) -> OutputRow:
    claims = [claim("Rome has 9 hills", TEXT, verdict)]
    return row(id_, TEXT, 1.0 if verdict == "supported" else 0.0, claims=claims, other=other)


ROWS = [
    answered("a1", "supported", model="a", topic="hills", tags=["x"]),
    answered("a2", "contradicted", model="a", topic="rivers", tags=["x", "y"]),
    answered("a3", "supported", model="a", topic="hills", tags=[]),
    answered("b1", "not found", model="b", topic="rivers", tags=["y"], note="n" * 90),
    answered("b2", "not found", model="b", topic="hills"),
]


def test_what_rows_can_be_grouped_by() -> None:
    many = [{**ROWS[0], "other": {"n": i, "text": "t" * 61, "one": "same", "half": i % 2}}
            for i in range(MOST_VALUES + 1)]
    assert [one.column for one in groupings([run("m", many)], many)] == ["half"]
    ids = [{**one, "other": {"id": one["id"]}} for one in ROWS]  # each its own
    assert groupings([run("i", ids)], ids) == []
    model, *rest = groupings([run("r", ROWS)], ROWS)
    assert [one.column for one in (model, *rest)] == ["model", "topic", "tags"]
    assert model.values == ("a", "b")
    tags = rest[1]
    assert (tags.values, [tags.bits(one) for one in ROWS]) == (
        ("(none)", "x", "y"), [2, 6, 1, 4, 0])


def test_a_response_that_claims_nothing_counts_in_the_mean_as_in_the_terminal(
    tab: Tab, tmp_path: Path
) -> None:
    silent = ROWS[0] | {"q2": None, "q2_no_nli": None, "reason": "no_claim", "claims": []}
    rows = [ROWS[0], silent]
    signed = run("r", rows)
    for no_claim, mean in (("zero", "0.500"), ("exclude", "1.000")):
        scores = tuple(replace(one, signature=f"{one.name}|version:1|no_claim:{no_claim}")
                       for one in signed.scores)
        path = tmp_path / f"{no_claim}.html"
        write_page(path, [SystemRun("r", 2, 0, scores, group_by=("model",))], rows)
        tab.page.goto(path.as_uri())
        [line] = tab.page.locator("#grouped tbody tr").all()
        assert line.inner_text().split()[:8] == ["a", "2", "0", "of", "1", "0", "%", mean]


def test_a_group_filters_the_rows(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "groups.html"
    write_page(path, [run("groups.jsonl", ROWS)], ROWS)
    page = tab.page
    page.goto(path.as_uri() + "#sort=order")
    table = page.locator("#grouped table")
    lines = [line.inner_text().split() for line in table.locator("tbody tr").all()]
    assert [line[:8] for line in lines] == [
        ["a", "3", "1", "of", "3", "33", "%", "0.667"],
        ["b", "2", "2", "of", "2", "100", "%", "0.000"]]
    assert [cell.get_attribute("title") for cell in table.locator("tbody td.wide").all()] == [
        "1 of 3 responses with claims (1 contradicted)", "2 of 2 responses with claims"]
    table.get_by_role("button", name="b").click()
    assert (tab.ids(), tab.count()) == (["b1", "b2"], "2 of 5 responses, model: b")
    # The rows keep their other columns, and the other filters hold beside the group.
    assert "topic: rivers" in page.locator("#list > li").first.locator(".heading").inner_text()
    options = page.locator("[name=show] option").all_inner_texts()
    assert "with an unsupported claim (2)" in options
    assert "with a contradicted claim (0)" in options
    tab.wait("location.hash.includes('value=1')")
    page.reload()
    assert tab.ids() == ["b1", "b2"]
    page.get_by_label("Group by").select_option("tags")
    assert tab.count() == "5 responses"
    page.locator("#grouped").get_by_role("button", name="x").click()
    assert tab.ids() == ["a1", "a2"]
    page.get_by_label("Search").fill("rivers")
    tab.wait("document.querySelectorAll('#list > li').length === 1")
    assert tab.ids() == ["a2"]
    page.get_by_role("button", name="Clear").click()
    assert tab.count() == "5 responses"
    card = page.locator("#list > li", has=page.get_by_text("b1", exact=True))
    card.locator("summary").click()
    assert "n" * 90 in card.locator(".others").inner_text()
    page.get_by_label("Group by").select_option("nothing")
    assert page.locator("#grouped table").count() == 0


def scored(path: Path, rows: list[OutputRow], date: str | None = None) -> str:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    if date is not None:
        recorded = {"complete": True, "date": f"{date}T12:00:00+00:00"}
        Path(f"{path}.manifest.json").write_text(json.dumps(recorded), encoding="utf-8")
    return str(path)


def report(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "q2_metric", "report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_systems_of_a_column_are_compared(tab: Tab, tmp_path: Path) -> None:
    """Rows of one file that answer the same question are pairs."""
    rows = [answered(f"{model}-{n}", verdict, model=model) | {"question": f"What about {n}?"}
            for n in (1, 2, 3)
            for model, verdict in (("old", "supported"),
                                   ("new", "not found" if n == 2 else "supported"))]
    given = scored(tmp_path / "scores.jsonl", rows)
    page = str(tmp_path / "page.html")
    assert report(given, "--systems", "model", "-o", page).returncode == 0
    tab.page.goto(Path(page).as_uri() + "#metric=q2")
    assert tab.count() == "3 pairs"
    assert tab.page.locator(".verdict .systems").all_inner_texts() == ["old", "new"]
    assert tab.page.locator("#list .score b").first.inner_text() == "▼ −1.000"
    assert tab.page.locator("#list .question").first.inner_text() == "What about 2?"
    wrong = report(given, "--systems", "modell", "-o", page)
    assert wrong.returncode == 2
    assert wrong.stderr == ("q2: error: no row contains the column 'modell'; "
                            "they contain: 'model'\n")


def test_all_runs_are_shown_by_group(tab: Tab, tmp_path: Path) -> None:
    """Also those that the list does not compare at the moment."""
    path = tmp_path / "runs.html"
    rows = [[answered(f"r{i}", "supported", model="ab"[i % 2]) for i in range(4)]
            for _ in range(3)]
    names = ["one.jsonl", "two.jsonl", "three.jsonl"]
    write_page(path, [run(*one) for one in zip(names, rows, strict=True)],
               [one for some in rows for one in some])
    tab.page.goto(path.as_uri())
    assert tab.page.get_by_label("System").input_value() == "pair-0-1"
    lines = tab.page.locator("#grouped tbody tr")
    assert [line.locator("td").first.inner_text() for line in lines.all()] == [*names, *names]


def test_dated_runs_are_a_trend(tab: Tab, tmp_path: Path) -> None:
    days = {"main": "2026-11-02", "hotfix": "2026-11-16", "baseline": "2026-10-05"}
    paths = {name: scored(
        tmp_path / f"{name}.jsonl",
        [answered(f"r{i}", "not found" if i < bad else "supported") for i in range(4)], day)
        for (name, day), bad in zip(days.items(), (1, 3, 2), strict=True)}
    page = str(tmp_path / "page.html")
    assert report(*paths.values(), "-o", page).returncode == 0
    tab.page.goto(Path(page).as_uri())
    assert tab.page.get_by_role("heading", name="Over time").count() == 1
    curve = tab.page.locator(".curve").first
    assert curve.locator("svg").get_attribute("aria-label") == (
        "with an unsupported claim by date: "
        "2026-10-05: 50 %; 2026-11-02: 25 %; 2026-11-16: 75 %")
    assert curve.locator("circle").count() == 3
    means = tab.page.locator(".curve", has_text="Q²").first
    assert "2026-11-16 0.250" in means.locator(".steps").inner_text()
    curve.get_by_role("button", name="2026-11-16").click()
    assert tab.page.get_by_label("System").input_value() == "pair-1-2"
    assert tab.count() == "4 pairs"


def test_runs_of_one_day_are_no_trend_and_keep_their_order() -> None:
    names = ["c", "a", "b"]
    assert in_order(names, ["2026-11-02", "2026-11-02", "2026-11-03"]) == names
    assert in_order(names, ["2026-11-02", "2026-11-03", ""]) == names
    assert in_order(names, ["2026-11-02", "2026-11-03", "2026-11-01"]) == ["b", "c", "a"]
    assert in_order(["b2", "a1"], ["2026-11-02", "2026-11-01"]) == ["b2", "a1"]  # before, after


def test_the_threshold_is_dragged_on_the_curve(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "labels.html"
    said = [(0.95, True), (0.8, True), (0.6, False), (0.4, True), (0.1, False)]
    rows = [row(f"r{i}", TEXT, score, label=label) for i, (score, label) in enumerate(said)]
    write_page(path, [run("labels.jsonl", rows)], rows)
    page = tab.page
    page.goto(path.as_uri() + "#metric=q2")
    curve = page.locator(".pr")
    curve.scroll_into_view_if_needed()
    caption = page.locator(".agreed figcaption")
    assert caption.inner_text().startswith("at 0.50: precision 67 %, recall 67 %")

    def point() -> tuple[float, float]:
        box = page.locator(".pr .here").bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    start = point()
    page.mouse.move(*start)
    page.mouse.down()
    # To the upper left: the strictest threshold of the curve.
    box = curve.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 40, box["y"] + 8, steps=8)
    tab.wait("location.hash.includes('threshold=0.8')")
    assert caption.inner_text().startswith("at 0.80: precision 100 %, recall 33 %")
    assert page.locator(".confusion caption").inner_text() == (
        "Q² above 0.80 agrees with people about 3 of 5 responses (60 %)")
    assert page.get_by_label("Threshold").input_value() == "0.8"
    # On to the right end, with the button still down: all that people call supported.
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + 40, steps=8)
    tab.wait("location.hash.includes('threshold=0.1')")
    assert caption.inner_text().startswith("at 0.10: precision 75 %, recall 100 %")
    page.mouse.up()
    page.mouse.move(box["x"] + 40, box["y"] + 8)
    assert caption.inner_text().startswith("at 0.10")
    assert point()[0] > start[0]
