"""The whole signature of each metric: what anybody needs to score the same again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakes import (
    FakeBackbone,
    FakeClaimFinder,
    FakeEntailment,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeResolver,
    FakeSpans,
)

from q2_metric._version import __version__
from q2_metric.metrics.authors import AuthorsProgramQ2
from q2_metric.metrics.bundled_q2 import BundledQ2
from q2_metric.metrics.bundled_scale import BundledScale
from q2_metric.metrics.groundedness import Groundedness, Head
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.metrics.q2 import Q2, without_nli
from q2_metric.metrics.scale import Escalation, Scale
from q2_metric.metrics.settings import Q2Settings, ScaleSettings
from q2_metric.metrics.signature import parse, shortened, signature
from q2_metric.runtime_config import Setting, settings_of
from q2_metric.types import Verdict


def q2(**settings: object) -> str:
    chosen = Q2Settings(**settings)  # type: ignore[arg-type]
    kind = {"paper": Q2, "authors": AuthorsProgramQ2, "bundled": BundledQ2}[chosen.recipe]
    return kind(
        FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), FakePersonal(),
        FakeResolver({}), chosen, "mine",
    ).signature


PLAIN = {
    "preset": "mine", "spans": "fake-spans", "qg": "fake-questions", "reader": "fake-reader",
    "nli": "fake-nli", "decoding": "beam", "questions": "first_valid", "personal": "remove",
    "compare": "nli", "fallback": "nli", "unanswerable": "keep", "coref": "off",
}


@pytest.mark.parametrize(("settings", "signed"), [
    ({}, {}),
    ({"decoding": "greedy", "seed": 3}, {"decoding": "greedy"}),
    ({"questions_per_span": "all"}, {"questions": "all"}),
    ({"personal": "keep"}, {"personal": "keep"}),
    ({"nli": False}, {"compare": "f1"}),
    ({"fallback": False}, {"fallback": "off"}),
    ({"nli": False, "fallback": False},
     {"nli": "off", "compare": "f1", "fallback": "off"}),
    ({"drop_unanswerable": True}, {"unanswerable": "drop"}),
    ({"coreference": True}, {"coref": "fake-coreference"}),
    ({"recipe": "authors"}, {"recipe": "authors"}),
    ({"recipe": "bundled"}, {"recipe": "bundled", "claims": "english-9"}),
])
def test_q2(settings: dict[str, object], signed: dict[str, str]) -> None:
    assert parse(q2(**settings)) == ("q2", {**PLAIN, **signed, "version": __version__})


def test_q2_that_samples_signs_its_seed() -> None:
    found = q2(decoding="sample", seed=3)
    assert "|decoding:sample|seed:3|questions:" in found


def test_q2_whose_questions_are_not_decoded() -> None:
    questions = FakeQuestions()
    questions.decoding = "rules"  # type: ignore[attr-defined]
    made = Q2(FakeSpans(), questions, FakeReader(), FakeEntailment(), FakePersonal(),
              settings=Q2Settings(decoding="sample"))
    assert "|decoding:rules|questions:" in made.signature
    assert made.signature.startswith("q2|preset:custom|")


def test_q2_without_nli_is_signed_as_what_it_is() -> None:
    assert parse(without_nli(q2())) == ("q2_no_nli", {
        **PLAIN, "compare": "f1", "version": __version__})


def test_scale() -> None:
    plain = f"|backbone:fake-backbone|prompt:pair|chunk:512|overlap:0.25|" \
            f"version:{__version__}"
    assert Scale(FakeBackbone()).signature == f"scale|preset:custom{plain}"
    settings = ScaleSettings(chunk_size=9, overlap=0.5, top_chunks=2, support="consistent")
    asking = FakeBackbone()
    asking.prompt = "yes?"
    assert Scale(asking, settings, "mine").signature == (
        "scale|preset:mine|backbone:fake-backbone|prompt:yes?|chunk:9|overlap:0.5|"
        f"top_chunks:2|support:consistent|version:{__version__}")


class WholeScale(BundledScale):
    claims = FakeClaimFinder()


def test_groundedness_and_nli() -> None:
    scale = Scale(FakeBackbone(), ScaleSettings(chunk_size=9, top_chunks=2))
    assert Groundedness(scale, Head("h", 0.0, {})).signature == (
        "groundedness|preset:custom|head:h|backbone:fake-backbone|chunk:9|top_chunks:2|"
        f"version:{__version__}")
    chosen = WholeScale(FakeBackbone())
    for metric in (chosen, Groundedness(chosen, Head("h", 0.0, {}))):
        assert "|recipe:bundled|weights:0.15,0.15|claims:whole|" in metric.signature
    assert EndToEndNli(FakeEntailment()).signature == (
        f"nli|preset:custom|nli:fake-nli|version:{__version__}")


def test_a_short_form_tells_signatures_apart() -> None:
    one, other = signature("q2", {"a": 1}), signature("q2", {"a": 2})
    assert shortened(one) == shortened(signature("q2", {"a": 1}))
    assert shortened(one) != shortened(other)
    assert shortened("f1|model:a|version:1.0") == "f1#266571b5"


OTHER = {bool: lambda value: not value, int: lambda value: (value or 0) + 1,
         float: lambda value: (value or 0.0) + 0.5, str: lambda value: "scale"}
UNSIGNED = {"branches", "nli_labels", "prompt"}
"""How the search for support is done, which no score depends on; and what the backbone, which it
is handed to, signs itself."""


class Prompted(FakeBackbone):
    """A backbone that cuts documents itself."""

    def judge_long(
        self, pairs: Sequence[tuple[str, str]], chunk_size: int, overlap: float
    ) -> list[Verdict]:
        raise NotImplementedError


def changed(setting: Setting) -> object:
    """A value that is not the default."""
    if setting.name == "escalate":
        return "0.3,0.7"
    if setting.name == "nli_labels":
        return "entailment,neutral"
    if setting.choices:
        return next(one for one in setting.choices if one != setting.default)
    return OTHER[setting.kind](setting.default)


@pytest.mark.parametrize("setting", settings_of(Q2Settings), ids=lambda one: one.name)
def test_every_setting_of_q2_is_signed(setting: Setting) -> None:
    sampled = {"decoding": "sample"} if setting.name == "seed" else {}
    same = q2(**sampled) == q2(**sampled, **{setting.name: changed(setting)})
    assert same == (setting.name in UNSIGNED)


@pytest.mark.parametrize("setting", settings_of(ScaleSettings), ids=lambda one: one.name)
def test_every_setting_of_scale_is_signed(setting: Setting) -> None:
    def made(**settings: object) -> str:
        chosen = ScaleSettings(**settings)  # type: ignore[arg-type]
        if chosen.band:
            judge = Scale(FakeBackbone())
            return Scale(Prompted(), chosen, escalation=Escalation(
                judge, *chosen.band, lambda *_: None)).signature
        if chosen.recipe == "bundled":
            return WholeScale(Prompted(), chosen).signature
        return Scale(Prompted(), chosen).signature

    same = made() == made(**{setting.name: changed(setting)})
    assert same == (setting.name in UNSIGNED)
