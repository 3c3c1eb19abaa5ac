"""The examples in docstrings give what they show."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import q2_metric

PACKAGE = Path(q2_metric.__file__).parent
# The modules of evaluate are loaded by its own loader (tests/plugins/test_hf_modules.py).
FILES = [path for path in sorted(PACKAGE.rglob("*.py"))
         if ">>>" in path.read_text(encoding="utf-8") and "evaluate" not in path.parts]


@pytest.mark.parametrize("path", [
    pytest.param(path, marks=pytest.mark.plugins if "integrations" in path.parts else ())
    for path in FILES
], ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    module = import_module(name.removesuffix(".__init__"))
    tried: dict[str, int] = {}
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        if test.docstring is not None and test.docstring not in tried:
            tried[test.docstring] = doctest.DocTestRunner().run(test).failed
    assert not any(tried.values())
