"""Runs a benchmark by its name.

    python -m tools.benchmarks NAME [OPTION]...
    python -m tools.benchmarks NAME --help          # the options of this benchmark
    python -m tools.benchmarks --list               # all benchmarks
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

CASES = {
    "Speed, both sides in turns (docs/results/speed.md)":
        ("bundled", "cpu", "q2", "scale", "long_knowledge", "typical"),
    "What holds, and for how long":
        ("answers", "determinism", "pairs", "spans", "scale_parity", "gaming",
         "gaming_grpo", "killed", "growth", "mutants", "rules", "serve"),
    "Pages and pictures":
        ("speed_page", "gaming_page", "quoted", "report_page", "report_shot"),
}
"""Names of the benchmarks, by purpose. Each benchmark is a module of this folder."""


def about(case: str) -> str:
    """The first line of a benchmark's docstring. It is read without importing the benchmark."""
    source = (Path(__file__).parent / f"{case}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def listing() -> str:
    """A list of all benchmarks, one line each."""
    parts = [
        "\n".join([f"{kind}:", *(f"  {case:14}  {about(case)}" for case in cases)])
        for kind, cases in CASES.items()
    ]
    return "\n\n".join(parts)


def main(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0] in ("--list", "-l", "--help", "-h"):
        print(listing())
        return
    case, *options = arguments
    known = [name for cases in CASES.values() for name in cases]
    if case not in known:
        sys.exit(f"there is no benchmark {case!r}; there are {', '.join(known)}")
    sys.argv = [f"-m tools.benchmarks {case}", *options]  # name for usage messages and records
    importlib.import_module(f"tools.benchmarks.{case}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
