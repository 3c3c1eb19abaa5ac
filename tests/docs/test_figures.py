"""A figure stands in one place: what pages quote is what was measured."""

from __future__ import annotations

import json

import pytest

from tools.benchmarks import quoted

FIGURES = json.loads(quoted.FIGURES.read_text(encoding="utf-8"))


def test_the_file_says_what_the_results_say() -> None:
    for name, figure in quoted.measured().items():
        assert FIGURES.get(name) == figure, f"{name}: run python -m tools.benchmarks quoted"


def test_every_figure_has_its_command_and_date() -> None:
    for name, figure in FIGURES.items():
        assert set(figure) == {"value", "command", "date"}, name
        assert all(figure.values()), name


@pytest.mark.parametrize("page", quoted.pages(), ids=lambda page: page.parent.name + page.stem)
def test_a_page_quotes_the_figures(page: quoted.Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = list(quoted.MARKED.finditer(text))
    assert len(found) == len(quoted.MARK.findall(text)), "a mark without a figure before it"
    for match in found:
        assert match["name"] in FIGURES, f"{match['mark']} is no figure"
        assert match["value"] == FIGURES[match["name"]]["value"], match["name"]


@pytest.mark.parametrize(("text", "expected"), [
    ("about 1.5<!-- figure: a --> s", "about 25.4<!-- figure: a --> s"),
    ("| 70.1 [68.0, 72.1]<!-- figure: b --> |", "| 1.0 [0.5, 1.5]<!-- figure: b --> |"),
    ("3 (2–4)<!-- figure: a -->", "25.4<!-- figure: a -->"),
    ("1 of 2e-7<!-- figure: a -->", "1 of 25.4<!-- figure: a -->"),
    ("nothing marked: 3", "nothing marked: 3"),
])
def test_filling(text: str, expected: str) -> None:
    figures = {"a": {"value": "25.4"}, "b": {"value": "1.0 [0.5, 1.5]"}}
    assert quoted.filled(text, figures) == expected


@pytest.mark.slow
def test_the_first_result_of_the_readme_is_what_its_command_prints() -> None:
    readme = (quoted.ROOT / "README.md").read_text(encoding="utf-8")
    found = quoted.first_result(readme)
    assert found["printed"] == quoted.printed(found["words"])


def test_the_card_quotes_the_signatures_of_its_figures() -> None:
    card = (quoted.ROOT / "hf_metric_card" / "README.md").read_text(encoding="utf-8")
    signatures = quoted.read("true.json")["signatures"]
    assert signatures["q2"] in card
    assert signatures["scale"] in card
