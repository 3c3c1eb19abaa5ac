"""Writes each tutorial of ``docs/`` as a notebook too: ``python -m tools.notebooks``. A file that
the page says to save becomes a cell that writes it, and a command becomes a cell that runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode, v4, write

DOCS = Path(__file__).resolve().parents[1] / "docs"
TUTORIALS = sorted(DOCS.glob("tutorial-*.md"))
BLOCK = re.compile(r"(?:(?<=Save this as )`([\w.]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)


def notebook(page: str) -> NotebookNode:
    """The notebook of a page in Markdown."""
    return v4.new_notebook(cells=list(_cells(page)), metadata={
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})


def _cells(page: str) -> Iterator[NotebookNode]:
    prose = 0
    for number, block in enumerate(BLOCK.finditer(page)):
        name, language, text = block.groups()
        if name:
            code = f"%%writefile {name}\n{text.rstrip()}"
        elif language == "console":
            commands = re.findall(r"^\$ (.*)", text, re.M)
            code = "\n".join(f"{'%' if one.startswith('pip ') else '!'}{one}" for one in commands)
        else:
            continue  # an excerpt, which is not run
        end = block.start() + (len(f"`{name}`:") if name else 0)
        if words := page[prose:end].strip():
            yield v4.new_markdown_cell(words, id=f"text-{number}")
        yield v4.new_code_cell(code, id=f"code-{number}")
        prose = block.end()
    yield v4.new_markdown_cell(page[prose:].strip(), id="end")


if __name__ == "__main__":
    for tutorial in TUTORIALS:
        page = tutorial.read_text(encoding="utf-8")
        write(notebook(page), tutorial.with_suffix(".ipynb"))
