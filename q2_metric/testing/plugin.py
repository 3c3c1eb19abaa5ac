"""The pytest plug-in: a fixture and a marker.

pytest imports this module at each start, so the module imports little.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

MARKER = "groundedness"


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker, so that pytest does not warn about it."""
    config.addinivalue_line(
        "markers", f"{MARKER}(threshold=0.5, metric='groundedness', **settings): judges answers by "
        "their sources; deselect with -m 'not groundedness'")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Adds the marker to each test that uses the fixture, so that such tests can be deselected."""
    for item in items:
        if "grounded" in getattr(item, "fixturenames", ()):
            item.add_marker(MARKER)


@pytest.fixture
def grounded(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Calls :func:`q2_metric.testing.assert_grounded` with the keywords of the test's marker.

    The models are loaded once per process.
    """
    from q2_metric.testing import assert_grounded

    keywords: dict[str, object] = {}
    for mark in reversed(list(request.node.iter_markers(MARKER))):
        keywords |= mark.kwargs
    return partial(assert_grounded, **keywords)  # type: ignore[arg-type]
