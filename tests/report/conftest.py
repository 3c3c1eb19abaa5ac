"""A browser for the module and a page for each test, which must make no error and no request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browsers import Tab, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    made = Tab(browser)
    yield made
    made.page.close()
    assert made.wrong == []
    assert [url for url in made.asked if not url.startswith(("file:", "data:"))] == []
