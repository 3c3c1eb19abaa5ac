"""Patterns of regular expressions that every supported Python matches correctly."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from q2_metric import report, rows, text

MODULES = [module.name for package in (text, rows, report)
           for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
WRONG = {_constants.POSSESSIVE_REPEAT, _constants.ATOMIC_GROUP}
"""Before Python 3.11.5, some patterns with these operators match wrongly. Debian 12 has 3.11.2."""


def patterns(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from patterns(item)
    elif isinstance(value, dict):
        yield from patterns([*value, *value.values()])


def operators(parsed: Iterable[Any]) -> Iterator[Any]:
    """All operators of a parsed pattern, also inside groups."""
    for item in parsed:
        if isinstance(item, (_parser.SubPattern, tuple, list)):
            yield from operators(item)
        else:
            yield item


def test_operators_inside_groups_are_found() -> None:
    assert WRONG & set(operators(_parser.parse("(?:a|(?=(?:b)*+c)d)+")))
    assert WRONG & set(operators(_parser.parse("x(?:(?>ab)|c)")))
    assert not WRONG & set(operators(_parser.parse("(?:a|(?=(?:b)*c)d)+")))


@pytest.mark.parametrize("name", MODULES)
def test_patterns_match_the_same_on_every_python(name: str) -> None:
    module = importlib.import_module(name)
    for pattern in patterns(list(vars(module).values())):
        parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
        assert not WRONG & set(operators(parsed)), pattern.pattern
