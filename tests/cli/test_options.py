"""Options that come from settings by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner

from q2_metric.checks import settings_of
from q2_metric.cli.main import main
from q2_metric.cli.options import setting_options
from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS, Entry


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
    """What a command with the options of the settings gets, and what it says."""
    got: dict[str, Any] = {}

    @click.command()
    @setting_options([ADDED])
    def command(**given: Any) -> None:
        got.update(given)

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


def test_types_and_defaults_are_those_of_the_fields() -> None:
    assert options()[0] == dict.fromkeys(("far", "kind", "other", "deep", "named"))
    given = options(*"--far 2 --kind b --other 1 --no-deep --named x".split())[0]
    assert given == {"far": 2, "kind": "b", "other": 1.0, "deep": False, "named": "x"}
    shown = " ".join(options("--help")[1].split())
    assert "--far INTEGER Added: how far to look, in sentences. [default: (3)]" in shown
    assert "[default: (deep)]" in shown


@pytest.mark.parametrize(("arguments", "words"), [
    (("--far", "0"), "far must be at least 1, not 0"),
    (("--far", "x"), "is not a valid integer"),
    (("--kind", "c"), "is not one of 'a', 'b'"),
    (("--named", ""), "is empty"),
])
def test_values_that_cannot_be(arguments: tuple[str, ...], words: str) -> None:
    assert words in options(*arguments)[1]


def test_every_setting_of_every_metric_is_an_option() -> None:
    shown = CliRunner().invoke(main, ["score", "--help-all"]).output
    for entry in METRICS.values():
        for field in entry.setting_fields():
            flag = field.metadata.get("option", f"--{field.name.replace('_', '-')}")
            assert f"  {flag} " in shown, field.name
            assert field.words


def test_a_setting_of_several_metrics_is_one_thing() -> None:
    """It is one option, so the metrics that have it agree on its values and are all named."""
    found: dict[str, Any] = {}
    for entry in METRICS.values():
        for field in entry.setting_fields():
            same = found.setdefault(field.name, field)
            assert (same.kind, same.choices) == (field.kind, field.choices), field.name
    assert "Q², SCALE: " in CliRunner().invoke(main, ["score", "--help-all"]).output
