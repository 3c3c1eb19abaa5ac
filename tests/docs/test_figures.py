"""What pages quote is what the results say."""

from __future__ import annotations

import re

import pytest

from q2_metric import Example, Groundedness
from tools.benchmarks import quoted


@pytest.mark.parametrize("page", quoted.pages(), ids=lambda page: page.parent.name + page.stem)
def test_a_page_quotes_the_results(page: quoted.Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(quoted.MARKED.findall(text)) == len(quoted.MARK.findall(text)), (
        "a mark without a figure before it, or one that names no results")
    assert text == quoted.filled(text), "run python -m tools.benchmarks quoted"


def test_pages_mark_what_they_quote() -> None:
    assert sum(len(quoted.MARK.findall(page.read_text("utf-8"))) for page in quoted.pages()) > 40


@pytest.mark.parametrize(("text", "expected"), [
    ("1.5<!-- figure: a.json/speed .1f --> a second",
     "25.4<!-- figure: a.json/speed .1f --> a second"),
    ("| 70.1 [68.0, 72.1]<!-- figure: a.json/auc/Q²/wow -->",
     "| 81.0 [80.5, 81.5]<!-- figure: a.json/auc/Q²/wow -->"),
    ("3 (2–4)<!-- figure: a.json/loop -->", "1.5 (1.0–2.0)<!-- figure: a.json/loop -->"),
    ("3%<!-- figure: a.json/rows/bm25/egr/r1 .1% -->",
     "12.3%<!-- figure: a.json/rows/bm25/egr/r1 .1% -->"),
    ("1 of 2e-7<!-- figure: a.json/date -->", "1 of 2026-11-24<!-- figure: a.json/date -->"),
    ("nothing marked: 3", "nothing marked: 3"),
])
def test_filling(text: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = {
        "speed": 25.36, "date": "2026-11-24",
        "auc": [{"metric": "SCALE"},
                {"metric": "Q²", "wow": {"value": 0.81, "low": 0.805, "high": 0.815}}],
        "loop": {"ratio": 1.5, "ratio_least": 1, "ratio_greatest": 2},
        "rows": [{"ranker": "bm25"}, {"ranker": "bm25", "with": "egr", "r1": 0.1234}],
    }
    monkeypatch.setattr(quoted, "read", lambda file: results)
    assert quoted.filled(text) == expected


def test_a_mark_that_leads_nowhere_says_so() -> None:
    with pytest.raises(KeyError, match=r"true.json has no auc/SCALE/nowhere: nothing is called"):
        quoted.filled("1<!-- figure: true.json/auc/SCALE/nowhere -->")
    with pytest.raises(ValueError, match="no figure at machine/load, or the mark lacks a format"):
        quoted.filled("1<!-- figure: speed/q2.json/machine/load -->")


@pytest.mark.slow
def test_the_first_result_of_the_readme_is_what_its_command_prints() -> None:
    readme = (quoted.ROOT / "README.md").read_text(encoding="utf-8")
    found = quoted.first_result(readme)
    assert found["printed"] == quoted.printed(found)


@pytest.mark.slow
def test_the_python_example_of_the_readme_prints_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    readme = (quoted.ROOT / "README.md").read_text(encoding="utf-8")
    [code] = [block.partition("```")[0] for block in readme.split("```python\n")[1:]]
    exec(code, {})
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.slow
def test_the_scores_of_right_answers_that_are_red() -> None:
    """Another processor may change the second digit."""
    page = (quoted.ROOT / "docs" / "red.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \| (\d\.\d\d) \|$", page, re.MULTILINE)
    scored = Groundedness.from_preset(any_language=True).score(
        [Example(response, knowledge) for knowledge, response, _ in rows])
    assert len(rows) == 8
    assert [float(value) for *_, value in rows] == pytest.approx(
        [score.value for score in scored], abs=0.03)


def test_the_card_quotes_the_signatures_of_its_figures() -> None:
    card = (quoted.ROOT / "hf_metric_card" / "README.md").read_text(encoding="utf-8")
    assert quoted.read("reproduce.json")["signatures"]["q2"] in card
    assert quoted.read("true.json")["signatures"]["scale"] in card
