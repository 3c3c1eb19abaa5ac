"""Updates the figures that README, metric card and docs quote from the results.

    python -m tools.benchmarks quoted

Run this command after new results. It also runs the first command in the README and updates its
output there. ``tests/docs/test_figures.py`` fails if a page quotes another figure.

A quoted figure is followed by a mark, an HTML comment. The mark contains the file in
``docs/results``, the keys that lead to the value, and the format of the number::

    25.4<!-- figure: speed/bundled.json/responses_per_second .1f --> responses a second

If the value at a key is a list of objects, the next key chooses the object that has this key as one
of its values, such as the name of a metric. ``readings.json`` contains the figures that no
benchmark writes.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
# A figure and its mark. The figure is a number or a date. An interval may follow the number.
MARKED = re.compile(r"\d[\d.,e-]*%?(?: [\[(][^\])]+[\])])?(?P<mark><!-- figure: "
                    r"(?P<file>[\w/-]+\.json)/(?P<keys>[^>]+?)(?: (?P<format>\.\d[f%]))? -->)")
MARK = re.compile(r"<!-- figure: ")
# The README's first result: its rows, the command, and the start of its output.
RESULT = re.compile(r"^\$ cat (?P<file>\S+)\n(?P<rows>.*?)^\$ q2 (?P<words>score .*?[^\\])\n"
                    r"(?P<printed>.*?)(?=^```)", re.M | re.S)
COLUMNS = "80"


def pages() -> list[Path]:
    """The pages that may quote figures. Other pages in ``docs/results`` are not among them: they
    are made from the results themselves."""
    return [ROOT / "README.md", ROOT / "hf_metric_card" / "README.md", RESULTS / "agreement.md",
            *sorted((ROOT / "docs").glob("*.md"))]


@functools.cache
def read(file: str) -> Any:
    """Reads a JSON file of ``docs/results``.

    If it has tables, each is added under its name, as a list of dicts (cell by column title).
    """
    found = json.loads((RESULTS / file).read_text(encoding="utf-8"))
    for table in found.get("tables", ()):
        titles = [column["title"] for column in table["columns"]]
        found[table["name"]] = [dict(zip(titles, row, strict=True)) for row in table["rows"]]
    return found


def figure(file: str, keys: str, form: str | None) -> str:
    """The text of a figure as a page writes it, such as ``0.766`` or ``73.2 [70.3, 76.1]``.

    Args:
        file: the file in ``docs/results``.
        keys: the keys that lead to the value, separated by "/".
        form: the format of a plain number, such as ".1f".
    """
    found = read(file)
    for key in keys.split("/"):
        if isinstance(found, list):
            chosen = [row for row in found if key in row.values()]
            found = chosen[0] if len(chosen) == 1 else chosen
        elif key in found:
            found = found[key]
        else:
            raise KeyError(f"{file} has no {keys}: nothing is called {key!r}")
    match found:
        case {"value": value, "low": low, "high": high}:
            return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        case {"ratio": ratio, "ratio_least": least, "ratio_greatest": greatest}:
            return f"{ratio:.1f} ({least:.1f}–{greatest:.1f})"
        case str():
            return found
        case int() | float() if form:
            return format(found, form)
    raise ValueError(f"{file} has no figure at {keys}, or the mark lacks a format such as .1f")


def filled(text: str) -> str:
    """The text of a page with each quoted figure replaced by the value in the results."""
    return MARKED.sub(lambda m: figure(m["file"], m["keys"], m["format"]) + m["mark"], text)


def first_result(readme: str) -> re.Match[str]:
    """Finds the first ``q2 score`` in the README, with its rows and its output (the groups of
    :data:`RESULT`)."""
    found = RESULT.search(readme)
    if found is None:
        raise SystemExit("README.md has no block with $ cat and $ q2 score")
    return found


def printed(found: re.Match[str]) -> str:
    """Runs the command on the rows, in a folder of its own. Returns as many lines of its output as
    the README shows."""
    words = shlex.split(found["words"].replace("\\\n", " "))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, found["file"]).write_text(found["rows"], encoding="utf-8", newline="\n")
        done = subprocess.run(
            [sys.executable, "-m", "q2_metric", *words], cwd=folder, check=True, text=True,
            env={**os.environ, "COLUMNS": COLUMNS, "PYTHONPATH": str(ROOT)}, capture_output=True)
    lines = done.stdout.splitlines()[:found["printed"].count("\n")]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def main() -> None:
    for page in pages():
        text = filled(page.read_text(encoding="utf-8"))
        if page == ROOT / "README.md":
            found = first_result(text)
            start, end = found.span("printed")
            text = text[:start] + printed(found) + text[end:]
        page.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
