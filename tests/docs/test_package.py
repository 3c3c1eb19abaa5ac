"""What is released: the files of wheel and sdist, their metadata, and the GitHub Action."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = """
import json, sys
from setuptools.dist import Distribution
made = Distribution({"script_name": "setup.py"})
made.parse_config_files()
python = made.get_command_obj("build_py")
python.build_lib = ""
python.ensure_finalized()
info = made.get_command_obj("egg_info")
info.egg_base = sys.argv[1]
info.ensure_finalized()
info.run()
print("\\n" + json.dumps([python.get_outputs(include_bytecode=False), info.filelist.files,
                  made.metadata.project_urls, made.get_classifiers(), made.get_version()]))
"""
TOP = {"q2_metric", "parlai_plugin", "parlai_internal"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("setuptools", minversion="77", reason="needs setuptools")
    done = subprocess.run(
        [sys.executable, "-c", BUILT, str(tmp_path_factory.mktemp("info"))], cwd=ROOT,
        capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def shipped() -> set[str]:
    """All files of the installed folders that are no leftovers of Python."""
    return {path.relative_to(ROOT).as_posix() for top in TOP for path in (ROOT / top).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}


def test_the_wheel_has_every_file_of_the_packages_and_no_other(built: Any) -> None:
    wheel = {Path(name).as_posix().lstrip("/") for name in built[0]}
    assert sorted(shipped() - wheel) == []
    assert {name.split("/")[0] for name in wheel} == TOP


def test_the_sdist_builds_the_same_wheel(built: Any) -> None:
    sdist = {Path(name).as_posix() for name in built[1]}
    wanted = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "setup.cfg",
              "setup.py", "pyproject.toml", "MANIFEST.in"}
    assert sorted((shipped() | wanted) - sdist) == []
    assert [name for name in sdist if name.startswith(("tests/", "docs/", "tools/", "."))] == []


def test_metadata(built: Any) -> None:
    urls, classifiers, version = built[2:]
    assert all(url.startswith("https://") for url in urls.values())
    for kind in ("Development Status", "Intended Audience", "Operating System"):
        assert any(one.startswith(f"{kind} :: ") for one in classifiers)
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in cited


def test_the_page_of_the_package_index_has_no_broken_links() -> None:
    done = subprocess.run([sys.executable, "setup.py", "--quiet", "--long-description"], cwd=ROOT,
                          capture_output=True, text=True, check=True, encoding="utf-8")
    assert "make demo" in done.stdout
    targets = re.findall(r"\]\(([^)]*)\)", done.stdout)
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []
    assert re.findall(r"!\[|<!--|<img", done.stdout) == []


def test_citation_is_complete() -> None:
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert [len(paper["authors"]) for paper in cited["references"]] == [6, 4]


def steps() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return {step["name"]: step for step in action["runs"]["steps"]}


def test_scripts_take_inputs_only_through_their_environment() -> None:
    """An expression within a script would run what a pull request writes into it."""
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    jobs = [step for job in workflow["jobs"].values() for step in job["steps"]]
    for step in [*steps().values(), *jobs]:
        assert "${{" not in step.get("run", "")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
@pytest.mark.parametrize("name", ["Install", "Score", "Gate", "Comment"])
def test_shellcheck(name: str, tmp_path: Path) -> None:
    script = tmp_path / "step.sh"
    script.write_text("#!/usr/bin/env bash\n" + steps()[name]["run"], encoding="utf-8")
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a q2 on the path that runs this package."""
    run = tmp_path / "bin" / "q2"
    run.parent.mkdir()
    run.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m q2_metric "$@"\n')
    run.chmod(run.stat().st_mode | stat.S_IXUSR)
    rows = [{"id": "a", "response": "Rome has seven hills.", "context": "Rome has seven hills."},
            {"id": "b", "response": "Milan is tiny.", "context": "Rome has seven hills."},
            {"id": "c", "context": "no response"}]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def step(folder: Path, name: str, **given: str) -> subprocess.CompletedProcess[str]:
    """Runs a step as GitHub does (bash -e -o pipefail), outside GitHub's own environment."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")}
    own["PATH"] = f"{folder / 'bin'}{os.pathsep}{own['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps()[name]["run"]],
        cwd=folder, env=own | given, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_the_action_scores_and_gates(folder: Path) -> None:
    given = {"ANSWERS": "answers.jsonl", "METRIC": "word_share", "THRESHOLD": "0.5",
             "BASELINE": "", "ARGUMENTS": ""}
    scored = step(folder, "Score", **given)
    assert scored.returncode == 0, scored.stderr  # although row c could not be scored
    gated = step(folder, "Gate", **given)
    assert gated.returncode == 4, gated.stderr
    assert "2 of 3 responses fail" in gated.stdout
    assert "Milan is tiny" in (folder / "q2-comment.md").read_text(encoding="utf-8")
    assert (folder / "q2-junit.xml").exists()
    allowed = step(folder, "Gate", **given | {"ARGUMENTS": "--allow 2"})
    assert allowed.returncode == 0, allowed.stderr
    (folder / "old.jsonl").write_bytes((folder / "q2-scores.jsonl").read_bytes())
    known = step(folder, "Gate", **given | {"BASELINE": "old.jsonl", "ARGUMENTS": "--allow 1"})
    assert known.returncode == 0, known.stderr
    assert "failed in the baseline too" in known.stdout
    assert step(folder, "Score", **given | {"ANSWERS": "none.jsonl"}).returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(("earlier", "called"), [
    ("", "--method POST repos/o/r/issues/7/comments --field body=@q2-comment.md"),
    ("41", "--method PATCH repos/o/r/issues/comments/41 --field body=@q2-comment.md"),
    ("no right", "::warning::the comment could not be written"),
])
def test_the_comment_of_an_earlier_run_is_replaced(
    folder: Path, earlier: str, called: str,
) -> None:
    (folder / "q2-comment.md").write_text("<!-- q2 gate -->\n### q2 gate: failed\n")
    gh = folder / "bin" / "gh"
    refuse = "exit 1" if earlier == "no right" else f"echo '{earlier}'"
    gh.write_text('#!/bin/sh\ncase "$*" in *--paginate*) '
                  f'[ "$MARKER" = "<!-- q2 gate -->" ] || exit 9; {refuse};; '
                  '*) echo "$*" >> calls;; esac\n')
    gh.chmod(0o755)
    done = step(folder, "Comment", NUMBER="7", GITHUB_REPOSITORY="o/r")
    assert done.returncode == 0, done.stderr
    calls = folder / "calls"
    assert called in done.stdout + (calls.read_text() if calls.exists() else "")
