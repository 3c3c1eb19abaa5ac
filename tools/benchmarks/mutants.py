"""Measures how many small changes of the code the fast tests catch (mutmut, set up in setup.cfg).

    python -m tools.benchmarks mutants [--sample N] [--seed S]

The benchmark prints the changes that no test caught, and for each folder how many changes were
caught. ``mutmut show NAME`` shows a change. Without ``--sample``, all changes are tried, which
takes hours. With it, N random changes are tried; they depend only on the code and the seed. The
changes are written to the folder ``mutants``.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

OUTCOMES = {1: "caught", 0: "survived", 5: "no tests", 33: "no tests",
            **dict.fromkeys((24, -24, 36, 152, 255), "out of time")}
"""By exit code of mutmut for a change, what happened to the change.

For example, the code 1 means that a test failed, so the change was caught. Codes that are missing
here (such as pytest's 2 to 4: interrupted, internal error, wrong use) say nothing about the tests.
"""
UNDECIDED = "undecided"

FOLDER = Path("mutants")
SMALLEST = "q2_metric.memory*"
"""A small module of the package. Before mutmut tries the requested changes, it makes all changes.
So a run on this module is a quick way to get the list of all changes."""


def outcomes() -> Iterator[tuple[str, int | None]]:
    """Yields (name, exit code) of each change. The code is ``None`` if the change was not tried."""
    for path in sorted(FOLDER.glob("**/*.meta")):
        yield from json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"].items()


def outcome(code: int) -> str:
    """What happened to a change, such as "caught", by mutmut's exit code for it."""
    return OUTCOMES.get(code, f"{UNDECIDED} (exit code {code})")


def mutmut(*names: str) -> None:
    subprocess.run(["mutmut", "run", "--max-children", "1", *names], check=True)


def room(name: str) -> str:
    return name.split(".")[1]


def report(found: dict[str, str]) -> Iterator[str]:
    """Yields the lines to print: the changes that no test caught, then the counts for each folder.

    ``found`` says what happened to each change, by its name.
    """
    for name, words in found.items():
        if words != "caught":
            yield f"{words}: {name}"
    for place in [*sorted({room(name) for name in found}), "all"]:
        counts = Counter(words.split(" (")[0] for name, words in found.items()
                         if place in ("all", room(name)))
        caught = counts["caught"] + counts["out of time"]  # a change that hangs is caught too
        others = ", ".join(f"{counts[words]} {words}"
                           for words in ("survived", "no tests", "out of time", UNDECIDED))
        share = caught / counts.total()
        yield f"{place}: {caught} of {counts.total()} caught ({share:.0%}); {others}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="Number of changes to try.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)  # it may belong to other code
    if given.sample is None:
        mutmut()
        tried = dict(outcomes())
    else:
        mutmut(SMALLEST)
        names = [name for name, _ in outcomes()]
        chosen = set(random.Random(given.seed).sample(names, min(given.sample, len(names))))
        mutmut(*sorted(chosen))
        tried = {name: code for name, code in outcomes() if name in chosen}
    found = {name: outcome(code) for name, code in tried.items() if code is not None}
    print("\n".join(report(found)))
    if missing := len(tried) - len(found):
        sys.exit(f"{missing} changes were not tried")
