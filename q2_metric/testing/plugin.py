"""The pytest plug-in of this package: the fixture ``grounded`` and the marker ``groundedness``.

pytest imports this module each time it starts, so heavy imports are in the fixture.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

MARKER = "groundedness"


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker, so that pytest does not warn that it is unknown."""
    config.addinivalue_line(
        "markers", f"{MARKER}(threshold=0.5, metric='groundedness', **settings): checks that "
        "sources support an answer; deselect with -m 'not groundedness'")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Adds the marker to each test that uses the fixture, so that ``-m`` can deselect the test."""
    for item in items:
        if "grounded" in getattr(item, "fixturenames", ()):
            item.add_marker(MARKER)


@pytest.fixture
def grounded(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A fixture: the function :func:`q2_metric.testing.assert_grounded`.

    Keywords of the test's marker, such as ``threshold``, are passed on to the function.
    """
    from q2_metric.testing import assert_grounded

    keywords: dict[str, object] = {}
    for mark in reversed(list(request.node.iter_markers(MARKER))):
        keywords |= mark.kwargs
    return partial(assert_grounded, **keywords)  # type: ignore[arg-type]
