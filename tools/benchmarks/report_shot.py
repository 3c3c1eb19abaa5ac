"""Makes the picture of the report page in the README.

    python -m tools.benchmarks report_shot [docs/report.png]

The picture shows answers of examples/rag.jsonl; one is opened. The command needs playwright and a
Chromium on the PATH.
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
SIZE = {"width": 1280, "height": 845}
OPENED = "dog-v2"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path, nargs="?", default=ROOT / "docs" / "report.png")
    picture: Path = parser.parse_args().picture.resolve()
    executable = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        subprocess.run([sys.executable, "-m", "q2_metric", "score", "examples/rag.jsonl",
                        "--metrics", "groundedness", "--report", page, "--quiet"],
                       cwd=ROOT, check=True)
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        tab.goto(page.as_uri())
        tab.locator("#groups > summary").click()  # which hides the systems side by side
        tab.get_by_text(OPENED, exact=True).click()
        tab.evaluate("document.activeElement.blur()")
        tab.mouse.move(0, 0)
        tab.screenshot(path=picture)
        browser.close()
