"""Chromium of this machine, for tests that open a page as a reader would."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """A Playwright browser; skips, saying why, where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"needs a Chromium: none of {', '.join(NAMES)} is on the PATH")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A page with what went wrong on it, and where it asked for something."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.page = browser.new_page(**{"viewport": {"width": 1200, "height": 900}} | options)
        self.page.set_default_timeout(240_000)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def ids(self) -> list[str]:
        return self.page.locator("#list .id").all_inner_texts()

    def wait(self, condition: str) -> None:
        """Until the expression is true (the page's policy forbids Playwright's own waiting)."""
        for _ in range(4800):
            if self.page.evaluate(condition):
                return
            time.sleep(0.05)
        raise AssertionError(condition)

    def count(self) -> str:
        return str(self.page.locator("#count").inner_text())
