"""The three changes of CONTRIBUTING, made as printed in a copy of the checkout."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILE = re.compile(r"^```python\n# (\S+)\n(.*?)^```", re.M | re.S)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
LIST = re.compile(r"^    for \w+ in \(\n", re.M)


def section(title: str) -> str:
    """The text under one heading."""
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
    return str(found)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Links to every file, compiled ones too; one that is changed becomes a file."""
    for name in ("q2_metric", "tests", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, copy_function=os.symlink)
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    (tmp_path / "setup.cfg").symlink_to(ROOT / "setup.cfg")
    return tmp_path


def change(checkout: Path, text: str) -> list[Path]:
    """Writes the files that are printed, or adds the printed entry to a list of the file."""
    changed = []
    for name, body in FILE.findall(text):
        path = checkout / name
        if path.exists():
            old = path.read_text(encoding="utf-8")
            body, n = LIST.subn(lambda found, entry=body: found[0] + entry, old)  # type: ignore[misc]
            assert n == 1, f"{name} has {n} lists"
            path.unlink()
        path.parent.mkdir(exist_ok=True)
        path.write_text(body.strip() + "\n", encoding="utf-8")
        changed.append(path.relative_to(checkout))
    return changed


def run(checkout: Path, text: str) -> list[str]:
    """The printed commands, in the checkout; what they wrote."""
    said = []
    # Before the folder that the package is installed from, wherever that is.
    settings = {**os.environ, "PYTHONPATH": str(checkout), "Q2_NO_REGISTER": "1"}
    for block in CONSOLE.findall(text):
        for line in block.splitlines():
            words = shlex.split(line.removeprefix("$ "))
            start = [] if words[0] == "python" else ["-m", "q2_metric"]
            done = subprocess.run([sys.executable, *start, *words[1:]], cwd=checkout,
                                  env=settings, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
            said.append(done.stdout)
    return said


def test_a_metric_is_one_file_and_one_entry(checkout: Path) -> None:
    text = section("Add a metric")
    assert [path.name for path in change(checkout, text)] == [
        "chrf.py", "registry.py", "test_chrf.py"]
    table, tested = run(checkout, text)
    assert "chrf|order:6|version:" in table
    assert "passed" in tested
    assert '"chrf": 0.' in (checkout / "scores.jsonl").read_text(encoding="utf-8")
    assert "chrF" in (checkout / "report.html").read_text(encoding="utf-8")
    assert "chrf" in run(checkout, "```console\n$ q2 score --help\n```\n")[0]


def test_a_preset_is_one_entry(checkout: Path) -> None:
    text = section("Add a preset")
    assert [path.name for path in change(checkout, text)] == ["presets.py"]
    listed, table = run(checkout, text)
    assert "short-chunks" in listed
    assert "preset:short-chunks" in table
    assert "chunk:60" in table


def test_a_framework_is_one_file(checkout: Path) -> None:
    text = section("Add a framework")
    assert [str(path) for path in change(checkout, text)] == [
        "q2_metric/integrations/demo.py", "tests/plugins/test_demo.py"]
    assert "1 passed" in run(checkout, text)[0]
