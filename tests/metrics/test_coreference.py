"""Coreference (Q² v1, appendix A), by a resolver of the user's own."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from q2_metric.errors import InputError, ModelError
from q2_metric.metrics.q2 import resolve_turns
from q2_metric.models import stages


class Pronouns:
    """Replaces each "it" by the nearest noun before it."""

    name = "pronouns"

    def resolve(self, dialogues: Sequence[Sequence[str]]) -> list[str]:
        return [self._last(turns) for turns in dialogues]

    def _last(self, turns: Sequence[str]) -> str:
        nouns = re.findall(r"\b(?:tea|coffee)\b", " ".join(turns))
        return re.sub(r"\bit\b", nouns[-1], turns[-1]) if nouns else turns[-1]


def test_turns_are_resolved_one_by_one() -> None:
    """What a turn says after it was resolved is what the next turn refers to."""
    dialogues = [["I drink tea.", "Is it hot?", "it is."], ["coffee", "it is cold"], []]
    asked: list[tuple[str, ...]] = []

    class Asked(Pronouns):
        def resolve(self, dialogues: Sequence[Sequence[str]]) -> list[str]:
            asked.extend(tuple(turns) for turns in dialogues)
            return super().resolve(dialogues)

    assert resolve_turns(Asked(), dialogues) == ["tea is.", "coffee is cold", ""]
    assert ("I drink tea.", "Is tea hot?", "it is.") in asked


def test_a_resolver_is_named_by_its_class() -> None:
    made = stages.load_coreference(f"{__name__}:Pronouns")
    assert made.resolve([["some tea", "it is hot"]]) == ["tea is hot"]
    for name in ("no.such:Thing", f"{__name__}:Nothing"):
        with pytest.raises(ModelError, match="cannot be created"):
            stages.load_coreference(name)


@pytest.mark.parametrize("model", [None, "", "en_core_web_lg"])
def test_without_a_class_the_error_says_how_to_name_one(model: str | None) -> None:
    with pytest.raises(InputError, match=r"as package\.module:Class"):
        stages.load_coreference(model)
