"""The tutorial on the gate does what it says, and the site's hook changes only what leaves docs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tools.docs_hook import inside

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial-gate.md").read_text(encoding="utf-8")
FILE = re.compile(r"Save this as `([\w.]+)`:\n\n```\w+\n(.*?)^```", re.M | re.S)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
NUMBER = re.compile(r"\d+\.\d+")


def commands() -> list[tuple[str, list[str]]]:
    """Each ``q2`` command, and the lines that the page shows below it."""
    blocks = "".join(CONSOLE.findall(TUTORIAL)).split("$ ")[1:]
    found = [(block.splitlines()[0], block.splitlines()[1:]) for block in blocks]
    return [one for one in found if one[0].startswith("q2 ")]


@pytest.mark.slow
def test_the_gate_tutorial(tmp_path: Path) -> None:
    for name, text in FILE.findall(TUTORIAL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    codes = []
    for command, shown in commands():
        done = subprocess.run(
            [sys.executable, "-m", "q2_metric", *shlex.split(command)[1:]], cwd=tmp_path,
            env=environment, capture_output=True, text=True, check=False)
        codes.append(done.returncode)
        printed = [NUMBER.sub("#", line) for line in done.stdout.splitlines()]
        if shown:
            assert printed == [NUMBER.sub("#", line) for line in shown], done.stderr
    assert codes == [0, 0, 0, 4, 0]
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(("page", "markdown", "expected"), [
    ("docs/ci.md", "[rules](../CONTRIBUTING.md#add)", "rules (`CONTRIBUTING.md`)"),
    ("docs/ci.md", "[tools/docs_hook.py](../tools/docs_hook.py)", "tools/docs_hook.py"),
    ("docs/ci.md", "[a](claims.md#b) [c](#d) [e](https://f.example/g)", None),
    ("docs/results/speed.md", "[all](speed)", "all (`docs/results/speed`)"),
    ("docs/results/speed.md", "[how](../trl.md)", None),
    ("README.md", "![a page](docs/report.png)", "![a page](report.png)"),
])
def test_links_that_leave_the_docs_become_text(
    page: str, markdown: str, expected: str | None,
) -> None:
    assert inside(markdown, page) == (markdown if expected is None else expected)
