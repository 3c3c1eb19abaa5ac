"""Measures the size and the speed of report pages of the annotated WoW responses.

    python -m tools.benchmarks report_page FOLDER

Scores the 1,088 responses (``Q2_DATA_DIR`` or ``q2 data download wow_q2``) of the two systems and
saves the scores in FOLDER. If FOLDER already contains scores, or ``--scores`` names a file of
scores, these are used. Then the benchmark makes a page of these responses, and a page of 10,000
repeated responses. It opens and filters both pages in Chromium, and takes screenshots of the first.
It needs playwright and a Chromium on the PATH.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, sync_playwright

from q2_metric.data.readers import SYSTEMS, read_annotated

MANY = 10_000
RUNS = 5
"""Number of times that each page is opened. The printed times are medians."""

SHOTS = {"wide": (1280, "light"), "narrow": (360, "light"), "dark": (1280, "dark")}

ACT = """() => {
  const timed = (name, value) => {
    const start = performance.now();
    const control = document.querySelector(`[name=${name}]`);
    control.value = value;
    control.dispatchEvent(new Event("change", {bubbles: true}));
    document.body.offsetHeight;
    return performance.now() - start;
  };
  const found = {};
  document.querySelector("[name=text]").value = "paris";
  found["first search"] = timed("view", "all");
  found["sort"] = timed("sort", "low");
  document.querySelector("[name=text]").value = "";
  found["filter"] = timed("show", "differs");
  found["all on one page"] = timed("size", "all");
  return found;
}"""


def q2(folder: Path, *args: str) -> None:
    subprocess.run([sys.executable, "-m", "q2_metric", *args], cwd=folder, check=True)


def write_responses(folder: Path) -> None:
    """Writes a file for each system with its responses. The id of a row is that of its dialogue
    turn."""
    for system in SYSTEMS:
        with open(folder / f"{system}.jsonl", "w", encoding="utf-8") as file:
            for annotated in read_annotated():
                example = annotated.example
                if annotated.system == system and example.id:
                    turn = example.id.removesuffix(f"-{system}")
                    row = {"id": turn, "response": example.response,
                           "knowledge": example.knowledge, "history": example.history}
                    file.write(json.dumps(row) + "\n")


def measure(browser: Browser, page: Path) -> dict[str, float]:
    """The median milliseconds until the page is loaded, and until the result of each action
    (search, sort, filter, …) is laid out."""
    found: dict[str, list[float]] = {}
    for _ in range(RUNS):
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.set_default_timeout(300_000)
        session = tab.context.new_cdp_session(tab)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = 1000 * counted(session)["TaskDuration"]
        tab.goto(page.as_uri())
        loaded = tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        busy = 1000 * counted(session)["TaskDuration"] - before
        for name, took in {"load": loaded, "load, main thread": busy, **tab.evaluate(ACT)}.items():
            found.setdefault(name, []).append(took)
        tab.close()
    return {name: statistics.median(values) for name, values in found.items()}


def counted(session: CDPSession) -> dict[str, float]:
    """Chromium's performance counters, by name. Its times are processor times of the main thread,
    so other processes on the machine change them little."""
    found = session.send("Performance.getMetrics")["metrics"]
    return {measure["name"]: measure["value"] for measure in found}


def photograph(browser: Browser, page: Path) -> None:
    for name, (width, scheme) in SHOTS.items():
        tab = browser.new_page(viewport={"width": width, "height": 1600}, color_scheme=scheme)
        tab.goto(page.as_uri())
        tab.locator("#list summary").first.click()
        tab.screenshot(path=page.with_name(f"{page.stem}-{name}.png"))
        if name == "wide":
            tab.pdf(path=page.with_suffix(".pdf"), format="A4")
        tab.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scores", type=Path,
                        help="a file of q2 score --out, in place of the WoW responses")
    given = parser.parse_args()
    folder: Path = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    scores, many = folder / "scores.jsonl", folder / "many.jsonl"
    if given.scores:
        shutil.copy(given.scores, scores)
    if not scores.exists():
        write_responses(folder)
        q2(folder, "score", *(f"{system}.jsonl" for system in SYSTEMS), "--out", scores.name)
    with open(scores, encoding="utf-8") as lines, open(many, "w", encoding="utf-8") as out:
        rows = [json.loads(line) for line in lines]
        for number, row in enumerate(islice(cycle(rows), MANY)):
            alone = {field: value for field, value in row.items() if field != "file"}
            out.write(json.dumps({**alone, "id": f"{row['id']}-{number}"}) + "\n")
    executable = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox"])
        for source in (scores, many):
            page = source.with_suffix(".html")
            started = time.perf_counter()
            q2(folder, "report", source.name, "-o", page.name)
            print(f"{page}: {page.stat().st_size / 1e6:.1f} MB, "
                  f"written in {time.perf_counter() - started:.1f} s")
            for name, took in measure(browser, page).items():
                print(f"  {name}: {took:.0f} ms")
        photograph(browser, scores.with_suffix(".html"))
        browser.close()
