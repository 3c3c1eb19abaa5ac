"""The pytest plug-in of this package: the fixture ``grounded`` and the marker ``groundedness``.

pytest imports this module each time it starts, so heavy imports are in the fixture.
"""

from collections.abc import Callable
from functools import partial

import pytest

MARKER = "groundedness"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(threshold=0.5, metric='groundedness', **settings): checks that "
        "sources support an answer; deselect with -m 'not groundedness'")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks each test that uses the fixture, so that ``-m`` can deselect it. UsageError: a test has
    the marker with a value, but not the fixture, so the value would have no effect."""
    for item in items:
        if "grounded" in getattr(item, "fixturenames", ()):
            item.add_marker(MARKER)
        elif any(mark.name == MARKER and mark.kwargs for mark in item.own_markers):
            raise pytest.UsageError(
                f"{item.nodeid}: the marker {MARKER} has no effect without the fixture: write "
                f"def {item.name}(grounded): and call grounded(answer, sources)")


@pytest.fixture
def grounded(request: pytest.FixtureRequest) -> Callable[..., None]:
    """:func:`q2_metric.testing.assert_grounded`, with the keywords of the test's marker."""
    from q2_metric.errors import InputError
    from q2_metric.testing import assert_grounded

    keywords: dict[str, object] = {}
    for mark in reversed(list(request.node.iter_markers(MARKER))):
        if mark.args:
            raise InputError(f"the marker {MARKER} has a value without a name: write "
                             f"{MARKER}(threshold={mark.args[0]!r})")
        keywords |= mark.kwargs
    return partial(assert_grounded, **keywords)  # type: ignore[arg-type]
