"""Makes the picture of the report page in the README.

    python -m tools.benchmarks report_shot [docs/report.png]

The picture shows responses of examples/dialogues.jsonl; one is opened. The command needs playwright
and a Chromium on the PATH.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
WIDTH, MOST = 1228, 700
"""Width of the browser window and maximum height of the picture, in pixels."""

SEARCHED = "eddystone lighthouse was designed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path, nargs="?", default=ROOT / "docs" / "report.png")
    picture: Path = parser.parse_args().picture.resolve()
    executable = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        subprocess.run([sys.executable, "-m", "q2_metric", "score", "examples/dialogues.jsonl",
                        "--report", page, "--quiet"], cwd=ROOT, check=True)
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": 1600})
        tab.goto(f"{page.as_uri()}#text={SEARCHED.replace(' ', '+')}&open=6")
        tab.locator("#list .body").wait_for()
        tab.evaluate("scrollTo(0, 0)")  # positions are relative to the page
        top = tab.locator(".bar").bounding_box()
        cards = tab.locator("#list").bounding_box()
        assert top is not None
        assert cards is not None
        height = min(MOST, cards["y"] + cards["height"] - top["y"])
        tab.screenshot(path=picture, full_page=True, clip={
            "x": top["x"] - 24, "y": top["y"] - 16, "width": top["width"] + 48,
            "height": height + 16})
        browser.close()
