"""The tutorials do what they say, and the site's hook changes only what leaves docs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tools.docs_hook import inside

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs").glob("tutorial-*.md"))
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
NUMBER = re.compile(r"\d+\.\d+")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_is_its_page(page: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    from tools.notebooks import notebook

    written = nbformat.read(page.with_suffix(".ipynb"), as_version=4)
    assert written == notebook(page.read_text(encoding="utf-8")), "python -m tools.notebooks"


def run(name: str, folder: Path, codes: list[int], changes: dict[str, str]) -> list[str]:
    """What the commands of a tutorial's notebook print, after checks of their exit codes."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    found = nbformat.read(ROOT / "docs" / f"tutorial-{name}.ipynb", as_version=4)
    cells = [cell for cell in found.cells if cell.cell_type == "code"]
    assert cells.pop(0).source.startswith("%pip install ")
    expected = iter(codes)
    changes |= {"!q2 ": f"!{sys.executable} -m q2_metric ", "!python ": f"!{sys.executable} "}
    for cell in cells:
        for old, new in changes.items():
            cell.source = cell.source.replace(old, new)
        cell.source = re.sub(
            "^!.*", lambda command: f"{command[0]}\nassert _exit_code == {next(expected)}",
            cell.source, flags=re.M)
    assert not list(expected)
    found.cells = cells
    nbclient.NotebookClient(found, timeout=900, kernel_name="python3").execute(
        cwd=str(folder), env=os.environ | {"PYTHONPATH": str(ROOT)})
    return ["".join(out.get("text", "") for out in cell.outputs) for cell in cells]


@pytest.mark.slow
def test_the_notebook_on_the_gate_prints_what_the_page_shows(tmp_path: Path) -> None:
    printed = NUMBER.sub("#", "\n".join(run("gate", tmp_path, [0, 0, 0, 4, 0], {})))
    page = (ROOT / "docs" / "tutorial-gate.md").read_text(encoding="utf-8")
    shown = [line for block in CONSOLE.findall(page) for line in block.splitlines()
             if not line.startswith("$ ")]
    assert len(shown) > 9
    for line in shown:
        assert NUMBER.sub("#", line) in printed.splitlines()
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_the_notebook_on_training_runs(tmp_path: Path) -> None:
    """With two steps in place of four hundred."""
    printed = run("training", tmp_path, [0, 0, 0], {
        "max_steps=400": "max_steps=2", "eval_steps=50": "eval_steps=1",
        "step-50.jsonl": "step-1.jsonl", "step-400.jsonl": "step-2.jsonl"})
    assert "eval_groundedness" in printed[1]
    assert "groundedness" in printed[-1]
    assert (tmp_path / "runs.html").exists()


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
