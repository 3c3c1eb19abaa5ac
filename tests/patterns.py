"""All patterns of the package, how each is used, and texts that could take it quadratic time."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCANNING = {"search", "finditer", "findall", "sub", "subn", "split"}
METHODS = SCANNING | {"match", "fullmatch"}
REPRESENTATIVES = {"DIGIT": "1", "NOT_DIGIT": "a ", "SPACE": " \n", "NOT_SPACE": "a.", "WORD": "a1",
                   "NOT_WORD": " ."}
"""Characters of each class."""
MOST = 8
"""How many marks of a pattern are paired with each other."""
LONG = 20
"""A repetition of at least this many counts as unbounded."""


@dataclasses.dataclass(frozen=True)
class Use:
    """A pattern and a method with which the package calls it; "search" for all that scan a text."""

    where: str
    pattern: re.Pattern[Any]
    method: str


# --- the patterns in the source ---------------------------------------------------------------


@cache
def sources() -> dict[str, ast.Module]:
    """The parsed source of each module that uses regular expressions, by the module's name."""
    found = {}
    for folder in ("q2_metric", "parlai_plugin", "hf_metric_card"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if re.search(r"^import re$|re\.Pattern", text, re.MULTILINE):
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                found[name.removesuffix(".__init__")] = ast.parse(text)
    return found


def compiled(value: object) -> Iterator[re.Pattern[Any]]:
    """The patterns in a value: also in collections, dataclasses and attributes of our classes."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from compiled(item)
    elif isinstance(value, dict):
        yield from compiled([*value, *value.values()])
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from compiled([getattr(value, field.name) for field in dataclasses.fields(value)])
    elif isinstance(value, type) and value.__module__.startswith(("q2_metric", "parlai_plugin")):
        yield from compiled([item for item in vars(value).values() if not isinstance(item, type)])


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str, str]]:
    """Each call of the form ``name.method(…)``: the call, the name and the method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(
                node.func.value, ast.Name):
            yield node, node.func.value.id, node.func.attr


def inside_functions(tree: ast.Module) -> Iterator[tuple[str, ast.Call, str]]:
    """The calls of the module ``re`` inside functions: the function's name, the call, and the
    function of ``re``."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for call, name, method in _calls(function):
                if name == "re" and method in METHODS | {"compile"}:
                    yield function.name, call, method


def _called(trees: dict[str, ast.Module]) -> dict[tuple[str, str], set[str]]:
    """For each (module, name of a pattern), the methods that any module calls."""
    called: dict[tuple[str, str], set[str]] = {}
    for module, tree in trees.items():
        home = {alias.asname or alias.name: (str(node.module), alias.name)
                for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                for alias in node.names}
        turns = {node.target.id: [item.id for item in node.iter.elts if isinstance(item, ast.Name)]
                 for node in ast.walk(tree) if isinstance(node, (ast.For, ast.comprehension))
                 and isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Tuple)}
        for _, name, method in _calls(tree):
            for one in turns.get(name, [name]) if method in METHODS else ():
                called.setdefault(home.get(one, (module, one)), set()).add(
                    "search" if method in SCANNING else method)
    return called


def _named(tree: ast.Module) -> set[str]:
    """The names to which a module itself assigns values, and its classes."""
    return {target.id for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)} | {
        node.name for node in tree.body if isinstance(node, ast.ClassDef)}


@cache
def uses() -> list[Use]:
    """Each pattern of the package with each method that is called on it.

    A pattern whose calls are not seen, because it stands in a tuple, counts as searched for.
    """
    trees = sources()
    called = _called(trees)
    found = []
    for module, tree in trees.items():
        values = vars(importlib.import_module(module))
        for name in sorted(_named(tree)):
            for pattern in compiled(values.get(name)):
                found += [Use(f"{module}.{name}", pattern, method)
                          for method in sorted(called.get((module, name), {"search"}))]
        for _, call, method in inside_functions(tree):
            if method != "compile" and isinstance(call.args[0], ast.Constant):
                found.append(Use(f"{module}:{call.lineno}", re.compile(call.args[0].value),
                                 "search" if method in SCANNING else method))
    return list(dict.fromkeys(found))


# --- texts for a pattern ----------------------------------------------------------------------


def parsed(pattern: re.Pattern[Any]) -> Any:
    return _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)


def texts(pattern: re.Pattern[Any]) -> list[tuple[str, str, str]]:
    """(start, unit, end) of texts that make a pattern read the same characters many times.

    A text is a start, many units and an end. The units are characters of the pattern, pairs of
    them, and what it has inside, before and between its repetitions. The start is nothing or a way
    to a repetition. The end is a character that the pattern does not expect.
    """
    tree = parsed(pattern)
    loops = list({(body, after): (way, body, after) for way, body, after in _loops(tree, "")}
                 .values())
    marks = sorted({sign for item in _flat(tree) for sign in _signs(item)
                    if not sign.isalpha()} | set("a "))
    alone = [*marks, *("".join(pair) for pair in product(marks[:MOST], repeat=2))]
    found = [("", unit) for unit in alone]
    for way, body, after in loops:
        units = {*marks[:MOST], body, after, body + after}
        found += [(way, unit) for unit in units]
        found += [("", unit) for unit in (*body, way, body, after, body + after, way + body,
                                          way + body + after)]
    return [(way, unit, "\x00") for way, unit in dict.fromkeys(found) if unit]


def longer(text: tuple[str, str, str], size: int) -> str:
    """A text of about ``size`` characters from its start, unit and end (:func:`texts`)."""
    start, unit, end = text
    return start + unit * (size // len(unit)) + end


def _flat(tree: Any) -> Iterator[Any]:
    for item in tree:
        yield item
        for part in item[1] if isinstance(item[1], (tuple, list)) else ():
            if isinstance(part, _parser.SubPattern):
                yield from _flat(part)
            elif isinstance(part, list):
                for branch in part:
                    if isinstance(branch, _parser.SubPattern):
                        yield from _flat(branch)


def _signs(item: Any) -> str:
    """Characters that an item of a parsed pattern matches; "" for an item of another kind."""
    kind, value = item
    if kind is _constants.LITERAL:
        return chr(value)
    if kind is _constants.CATEGORY:
        return REPRESENTATIVES[str(value).removeprefix("CATEGORY_")]
    if kind is _constants.RANGE:
        return chr(value[0])
    if kind is _constants.ANY:
        return "a"
    if kind is _constants.NOT_LITERAL:
        return next(sign for sign in "a 1" if ord(sign) != value)
    if kind is _constants.IN:
        if value[0][0] is not _constants.NEGATE:
            return "".join(map(_signs, value))
        excluded = re.compile("[" + "".join(
            re.escape(chr(item[1])) if item[0] is _constants.LITERAL else "" for item in value)
            + "\x01]")
        return "".join(sign for sign in "a1 .\n" if not excluded.match(sign))
    return ""


def _sample(tree: Iterable[Any]) -> str:
    """A short text that a parsed pattern matches, apart from what it asserts about places."""
    made = ""
    for kind, value in tree:
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            made += _sample(value[2]) * min(value[0], LONG)
        elif kind is _constants.BRANCH:
            made += _sample(value[1][0])
        elif kind is _constants.SUBPATTERN:
            made += _sample(value[3])
        else:
            made += _signs((kind, value))[:1]
    return made


def _loops(tree: Any, way: str) -> Iterator[tuple[str, str, str]]:
    """For each unbounded repetition, a text that leads to it, its body, and what follows it."""
    items = list(tree)
    for place, (kind, value) in enumerate(items):
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            if value[1] >= LONG:
                yield way, _sample(value[2]), _sample(items[place + 1 :])
            yield from _loops(value[2], way)
        elif kind is _constants.BRANCH:
            for branch in value[1]:
                yield from _loops(branch, way)
        elif kind is _constants.SUBPATTERN:
            yield from _loops(value[3], way)
        elif kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            yield from _loops(value[1], way)
        way += _sample([(kind, value)])
