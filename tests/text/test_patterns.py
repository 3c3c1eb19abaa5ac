"""Patterns of regular expressions: every supported Python matches them correctly, in linear time.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from growth import LIMIT, growth
from patterns import Use, inside_functions, longer, parsed, sources, texts, uses

WRONG = {_constants.POSSESSIVE_REPEAT, _constants.ATOMIC_GROUP}
"""Before Python 3.11.5, some patterns with these operators match wrongly. Debian 12 has 3.11.2."""
MADE_INSIDE = {"q2_metric.text.markup._around",
               "q2_metric.models.chat._answer"}  # the latter is an escaped text
"""Functions that make a pattern of their arguments. The results are kept by their modules."""


def by_module() -> dict[str, list[Use]]:
    modules: dict[str, list[Use]] = defaultdict(list)
    for use in uses():
        modules[re.split(r":|\.(?=\w+$)", use.where)[0]].append(use)
    return modules


MODULES = by_module()


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


@pytest.mark.parametrize("module", MODULES)
def test_patterns_match_the_same_on_every_python(module: str) -> None:
    for use in MODULES[module]:
        assert not WRONG & set(operators(parsed(use.pattern))), use


def test_each_pattern_is_seen() -> None:
    """A pattern inside a function is a literal, or it is made by a function that is known."""
    unseen = set()
    for module, tree in sources().items():
        unseen |= {f"{module}.{function}" for function, call, method in inside_functions(tree)
                   if method == "compile" or not isinstance(call.args[0], ast.Constant)}
    assert unseen == MADE_INSIDE


def calling(use: Use) -> Callable[[str], object]:
    """A function that uses a pattern on a whole text, as the package does."""
    def run(text: str) -> object:
        given = text.encode() if isinstance(use.pattern.pattern, bytes) else text
        found = getattr(use.pattern, "finditer" if use.method == "search" else use.method)(given)
        return list(found) if use.method == "search" else found
    return run


def slowest(use: Use) -> tuple[float, str]:
    """How the time of a pattern grows at double length, and the text, if it grows too fast."""
    for text in texts(use.pattern):
        factor = growth(calling(use), lambda size, text=text: longer(text, size))  # type: ignore[misc]
        if factor >= LIMIT:
            return factor, longer(text, 60)
    return 0.0, ""


@pytest.mark.parametrize(("pattern", "method"), [
    (r"<+3+", "search"),
    (r"\S*(?:://|www\.|@)\S*", "search"),
    (r"\s+([,;:])", "search"),
    (r"[\s,.]+$", "search"),
    (r"__a__.*?__b__", "search"),
    (r"\|?\s*--\s*(?:\|\s*--)*\|?\s*", "fullmatch"),
    (r".+ (?:is|was)(?: not|n't) (?:said|known)\b.* (?:in|by|from) (?:the|this) text", "fullmatch"),
    (r"(?:so |very )*(?:very )*good", "match"),
])
def test_quadratic_patterns_are_noticed(pattern: str, method: str) -> None:
    use = Use("here", re.compile(pattern), method)
    assert any(slowest(use)[0] >= LIMIT for _ in range(3)), "each try beside other work"


@pytest.mark.parametrize("module", MODULES)
def test_time_grows_with_the_text(module: str) -> None:
    for use in MODULES[module]:
        factor, text = slowest(use)
        assert factor < LIMIT, f"{use.where} ({use.method}) on {text!r}"
