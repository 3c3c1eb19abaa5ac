"""``-s NAME=VALUE``: names, types and checks come from the settings by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner

from q2_metric.cli import options as shared
from q2_metric.cli.commands import Command
from q2_metric.cli.main import COMMANDS, main
from q2_metric.cli.options import MODEL_OPTIONS, assignables
from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS, Entry
from q2_metric.runtime_config import settings_of


@dataclass(frozen=True)
class Settings:
    """Of a metric that someone adds.

    Attributes:
        far: how far to look, in ``sentences`` (section 3).
        kind, other: which :data:`~q2_metric.x.KIND` there is. More about it
            in a second line.
        deep: whether to look deep.
        named: nothing or a name.
    """

    far: int = 3
    kind: Literal["a", "b"] = "a"
    other: float = 0.5
    deep: bool = True
    named: str | None = None

    def __post_init__(self) -> None:
        if self.far < 1:
            raise InputError(f"far must be at least 1, not {self.far}")


ADDED = Entry("added", "Added", "", settings=f"{__name__}:Settings")


def options(*arguments: str) -> tuple[dict[str, Any], str]:
    """What a command with these settings gets, and what it prints."""
    got: dict[str, Any] = {}

    @click.command(cls=Command)
    @MODEL_OPTIONS
    def command(**given: Any) -> None:
        got.update(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "METRICS", {"added": ADDED})
        result = CliRunner().invoke(command, list(arguments))
    return got, result.output


def test_descriptions_are_those_of_the_docstring() -> None:
    assert {one.name: one.words for one in settings_of(Settings)} == {
        "far": "how far to look, in sentences",
        "kind": "which KIND there is",
        "other": "which KIND there is",
        "deep": "whether to look deep",
        "named": "nothing or a name",
    }


NONE = dict.fromkeys(("far", "kind", "other", "deep", "named", "batch_size", "any_language",
                      "device", "dtype"))


def test_types_are_those_of_the_fields() -> None:
    assert options()[0] == NONE | {"preset": "bundled"}
    given = options(*"-s far=2 -s kind=b --set other=1 -s deep=false -s named=x=y".split())[0]
    assert given == NONE | {"preset": "bundled", "far": 2, "kind": "b", "other": 1.0,
                            "deep": False, "named": "x=y"}
    assert type(given["other"]) is float


def test_values_and_defaults_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "added", ADDED)
    listed = assignables()
    assert listed["far"].values == "N  [3]"
    assert listed["kind"].values == "a|b  [a]"
    assert listed["deep"].values == "true|false  [true]"
    assert listed["named"].values == "TEXT"
    assert listed["far"].words == "How far to look, in sentences."
    assert assignables()["chunk_size"].values == (
        "N  [the preset's; the paper's is 512; bundled: 150]")


@pytest.mark.parametrize(("text", "words"), [
    ("far=0", "far must be at least 1, not 0"),
    ("far=x", "far must be a whole number, not 'x'"),
    ("other=x", "other must be a number, not 'x'"),
    ("deep=1", "deep must be True or False, not '1'"),
    ("kind=c", "kind must be one of a, b, not 'c'"),
    ("named=", "named is empty"),
    ("fra=2", "there is no model or setting 'fra'; did you mean far?"),
    ("far", "'far' is not of the form NAME=VALUE"),
    ("device=cpu", "device is an option of its own: --device VALUE"),
])
def test_values_that_cannot_be(text: str, words: str) -> None:
    assert words in options("-s", text)[1]


def test_every_setting_of_every_metric_can_be_set() -> None:
    listed = assignables()
    for entry in METRICS.values():
        for field in entry.setting_fields():
            assert field.words
            assert entry.title in listed[field.name].titles
        assert {*entry.models} <= {*listed}


def test_a_setting_of_several_metrics_is_one_thing() -> None:
    """It is set once, so the metrics that have it agree on its values and are all named."""
    found: dict[str, Any] = {}
    for entry in METRICS.values():
        for field in entry.setting_fields():
            same = found.setdefault(field.name, field)
            assert (same.kind, same.choices) == (field.kind, field.choices), field.name
    assert assignables()["recipe"].titles[:2] == ["Q²", "SCALE"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_own_help_says(name: str) -> None:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    assert found.help is not None
    assert found.help.splitlines()[0] == COMMANDS[name]
