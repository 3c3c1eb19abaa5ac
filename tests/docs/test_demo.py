"""What ``make demo`` leaves in a checkout."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = re.compile(r"--(?:out|report) (\S+)")


def test_its_files_are_in_the_way_of_no_printed_command() -> None:
    """``q2 score`` refuses an output that another command wrote."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\ndemo:")[1].split("\n\n")[0]
    written = {name.strip('"') for name in OUT.findall(recipe)}
    assert written
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        assert not written & set(OUT.findall(page.read_text(encoding="utf-8"))), page.name
