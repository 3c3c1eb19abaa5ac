"""README and docs: short, linked, and their commands and options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from q2_metric.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
CARD = ROOT / "hf_metric_card" / "README.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", CARD, *DOCS]
RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))
CARDS = sorted((ROOT / "q2_metric").rglob("*.md"))
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[\w-]+)?\)")
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
NAMED = re.compile(
    r"`((?:q2_metric|tools|tests|docs|\w+_plugin)/[\w./-]*)[` ]"
)
HEADING = re.compile(r"^#+ (.+)$", re.M)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

every_page = pytest.mark.parametrize(
    "page", [*PAGES, *RESULTS, *CARDS], ids=lambda page: str(page.relative_to(ROOT))
)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS], ids=lambda page: page.name)
def test_a_page_is_short(page: Path) -> None:
    assert len(read(page).splitlines()) <= 150


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    titles = HEADING.findall(read(page))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(read(page)):
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor[1:] in anchors(found), f"{page.name}: {target}{anchor}"


@every_page
def test_files_that_are_named_exist(page: Path) -> None:
    for name in NAMED.findall(read(page)):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


def test_pages_name_files() -> None:
    assert sum(len(NAMED.findall(read(page))) for page in (*PAGES, *RESULTS)) > 30


def test_every_page_is_linked_from_the_readme() -> None:
    linked = {target for target, _ in LINK.findall(read(ROOT / "README.md"))}
    assert {f"docs/{page.name}" for page in DOCS} <= linked


def commands(text: str) -> list[list[str]]:
    """The words of each ``$ q2 …`` command of the console blocks, pipes and comments cut off."""
    found = []
    for block in BLOCK.findall(text):
        for line in re.sub(r"\\\n", " ", block).splitlines():
            for part in line.removeprefix("$ ").split(" | "):
                if line.startswith("$ ") and part.strip().startswith("q2 "):
                    found.append(shlex.split(part, comments=True))
    return found


def options(words: list[str]) -> list[str]:
    return [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]


def subcommand(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the words name, and the words after its name."""
    found: click.Command = main
    rest = words[1:]
    while isinstance(found, click.Group):
        assert rest, words
        named = found.get_command(click.Context(found), rest[0])
        assert named is not None, f"no command: {shlex.join(words)}"
        found, rest = named, rest[1:]
    return found, rest


@each_page
def test_commands_and_options_exist(page: Path) -> None:
    for words in commands(read(page)):
        found, rest = subcommand(words)
        known = {name for option in found.params for name in (*option.opts, *option.secondary_opts)}
        for option in options(rest):
            assert option in known, f"{page.name}: {shlex.join(words)} has {option}"
        required = {option.name for option in found.params
                    if isinstance(option, click.Option) and option.required
                    and not set(option.opts) & set(rest)}
        assert not required, f"{page.name}: {shlex.join(words)} lacks {required}"


def test_commands_are_found() -> None:
    lines = "$ q2 score a.jsonl --out \\\n    b.jsonl   # why\n$ jq . x | q2 score -\n"
    assert commands(f"```console\n{lines}```\n") == [
        ["q2", "score", "a.jsonl", "--out", "b.jsonl"],
        ["q2", "score", "-"],
    ]
    assert sum(len(commands(read(page))) for page in PAGES) > 30
