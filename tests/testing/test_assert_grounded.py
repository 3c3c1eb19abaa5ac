"""``assert_grounded`` and the pytest plug-in, in a project of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from q2_metric.errors import InputError
from q2_metric.testing import assert_grounded, plugin

SOURCES = ["The tower opened in 1889.", "A ticket costs 12 euros."]


def test_a_supported_answer_passes() -> None:
    assert_grounded("The tower opened in 1889.", SOURCES)


def test_a_failure_names_the_claim_its_place_and_the_passage() -> None:
    answer = "The tower opened in 1889. A ticket costs 30 euros."
    with pytest.raises(AssertionError) as caught:
        assert_grounded(answer, SOURCES, metric="scale", threshold=0.9)
    first, claim, *scores = str(caught.value).splitlines()
    assert first.startswith("scale is 0.")
    assert first.endswith(", below 0.9")
    assert claim == ('contradicted: "A ticket costs 30 euros." (characters 26 to 50); '
                     'nearest, passage 2: "A ticket costs 12 euros."')
    assert scores[0].startswith("SCALE: 0.")


def test_passages_are_numbered_as_they_were_given() -> None:
    """A passage of several lines, such as a table, is one."""
    sources = ["| model | RAM |\n|---|---|\n| Aero 13 | 16 GB |", "A ticket costs 12 euros."]
    with pytest.raises(AssertionError, match='nearest, passage 2: "A ticket costs'):
        assert_grounded("A ticket costs 30 euros.", sources)
    with pytest.raises(AssertionError, match='nearest, passage 1: "A ticket costs'):
        assert_grounded("A ticket costs 30 euros.", ["Welcome.\nA ticket costs 12 euros."])
    # Lines of a text have numbers too.
    with pytest.raises(AssertionError, match='nearest, passage 2: "A ticket costs'):
        assert_grounded("A ticket costs 30 euros.", "Welcome.\nA ticket costs 12 euros.")


@pytest.mark.parametrize(("answer", "why"), [
    ("", "is empty"), ("  ", "is empty"), ("Thanks, that is nice!", "claims nothing")])
def test_an_answer_that_claims_nothing_fails(answer: str, why: str) -> None:
    with pytest.raises(AssertionError, match=f"has no score\ngroundedness: the response {why}"):
        assert_grounded(answer, SOURCES, threshold=0.0)


def test_wrong_use() -> None:
    with pytest.raises(InputError, match="the sources are blank"):
        assert_grounded("The tower opened in 1889.", [])
    with pytest.raises(InputError, match=r"threshold must be a number in \[0, 1\], not 50"):
        assert_grounded("The tower opened in 1889.", SOURCES, threshold=50)
    with pytest.raises(InputError, match="did you mean 'threshold'"):
        assert_grounded("The tower opened in 1889.", SOURCES, treshold=0.9)


def test_a_marker_without_the_fixture_is_no_silent_pass() -> None:
    mark = pytest.mark.groundedness(threshold=0.9).mark
    item: Any = SimpleNamespace(fixturenames=[], own_markers=[mark], nodeid="a.py::test_a",
                                name="test_a")
    with pytest.raises(pytest.UsageError, match=r"write def test_a\(grounded\)"):
        plugin.pytest_collection_modifyitems([item])


PROJECT = '''
import pytest

SOURCES = ["The tower opened in 1889."]

def test_good(grounded):
    grounded("The tower opened in 1889.", SOURCES)

def test_bad(grounded):
    grounded("The tower opened in 1901.", SOURCES)

@pytest.mark.groundedness(threshold=0.0)
def test_marker(grounded):
    grounded("The tower opened in 1901.", SOURCES)

@pytest.mark.groundedness(0.0)
def test_unnamed(grounded):
    pass

def test_other():
    pass
'''


def run_project(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_answers.py").write_text(PROJECT, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
         "--strict-markers", "-c", "/dev/null", "--rootdir", str(folder), str(folder), *args],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
def test_in_a_sample_project(tmp_path: Path) -> None:
    done = run_project(tmp_path)
    assert "1 failed, 3 passed, 1 error" in done.stdout, done.stdout
    assert "has a value without a name: write groundedness(threshold=0.0)" in done.stdout
    assert 'contradicted: "The tower opened in 1901."' in done.stdout
    assert "q2_metric/testing/__init__.py" not in done.stdout, "the traceback ends in the test"


@pytest.mark.slow
def test_the_marker_leaves_them_out(tmp_path: Path) -> None:
    done = run_project(tmp_path, "-m", "not groundedness")
    assert "1 passed, 4 deselected" in done.stdout, done.stdout
