"""Runs a benchmark by name.

    python -m benchmarks [CASE [OPTION]...]

Without a case, lists them.
"""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def cases() -> dict[str, str]:
    """The benchmarks by name, with the first line of what each says of itself."""
    found = {}
    for path in sorted(HERE.glob("[!_]*.py")):
        if "__main__" in (text := path.read_text(encoding="utf-8")):
            found[path.stem] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return found


def main() -> None:
    known = cases()
    if len(sys.argv) < 2:
        for name, about in known.items():
            print(f"{name:14} {about}")
    elif sys.argv[1] not in known:
        sys.exit(f"there is no benchmark {sys.argv[1]!r}; there are {', '.join(known)}")
    else:
        # As "python benchmarks/CASE.py" would: scripts import their neighbours.
        script = HERE / f"{sys.argv[1]}.py"
        sys.path.insert(0, str(HERE))
        sys.argv[:2] = [str(script.relative_to(HERE.parent))]
        runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
