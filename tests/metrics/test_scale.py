"""SCALE by its rules, with a stand-in for the backbone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakes import FakeBackbone, FakeCascade

from q2_metric.errors import InputError
from q2_metric.metrics.bundled_scale import NEAREST, BundledScale
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import ScaleSettings, settings_and_runtime
from q2_metric.models.presets import preset
from q2_metric.text.sentences import split_sentences
from q2_metric.types import Claim, Example, Judgement, Verdict


def scale(
    table: dict[tuple[str, str], Verdict] | None = None, **settings: object
) -> Scale:
    return Scale(FakeBackbone(table), ScaleSettings(**settings))  # type: ignore[arg-type]


def test_mean_over_sentences_of_the_best_chunk() -> None:
    example = Example("red cat. blue dog.", "a red cat sat here and a dog ran off")
    [score] = scale(chunk_size=5, overlap=0.0).score([example])
    # "red cat" is in the first chunk; of "blue dog", the second chunk has "dog" alone.
    assert [e.support for e in score.evidence] == [1.0, 0.5]  # type: ignore[union-attr]
    assert score.value == 0.75
    assert [example.response[e.claim.start : e.claim.end] for e in score.evidence] == [  # type: ignore[union-attr]
        "red cat.", "blue dog."
    ]


def test_the_whole_response_is_judged_at_once_as_it_is_written() -> None:
    written, knowledge = "red cat.\n blue dog. ", "a red cat and a dog"
    metric = scale({(knowledge, written): Verdict(0.7, 0.2, 0.1)}, unit="response")
    [score] = metric.score([Example(written, knowledge)])
    assert score.value == 0.7
    assert len(score.evidence) == 1
    assert "|unit:response|" in metric.signature
    assert "unit:" not in scale().signature


def test_chunks_of_whole_sentences_hold_so_many_words_and_never_overlap() -> None:
    knowledge = "it is new. it sings.\nit has six big old hot bells. more."
    parts = ["it is new. it sings.", "it has six big old hot bells.", "more."]
    for best in parts:
        metric = scale({(best, "red cat."): Verdict(0.9, 0.1, 0.0)}, chunking="sentences",
                       chunk_size=5, overlap=0.0)
        assert metric.score([Example("red cat.", knowledge)])[0].value == 0.9
        assert "|chunking:sentences|" in metric.signature


def test_evidence_is_the_sentence_that_supports() -> None:
    knowledge = " ".join(f"filler number {i}." for i in range(30)) + " The cat is red. Bye."
    example = Example("red cat.", knowledge)
    metric = scale(branches=3, chunk_size=40)
    [score] = metric.score([example], evidence=True)
    [found] = score.evidence
    assert isinstance(found, Judgement)
    assert found.passage == "The cat is red."
    assert knowledge[found.passage_start :].startswith("The cat is red.")
    assert found.passage_support == 1.0
    assert metric.backbone.calls <= 6, "one batch a level"  # type: ignore[attr-defined]


def test_without_evidence_nothing_is_searched() -> None:
    metric = scale()
    [score] = metric.score([Example("red cat.", "The cat is red. Bye.")])
    assert score.evidence[0].passage is None  # type: ignore[union-attr]
    assert metric.backbone.calls == 1  # type: ignore[attr-defined]


def test_one_batch_for_all_and_equal_work_once() -> None:
    metric = scale()
    examples = [Example("red cat. blue dog.", "the red cat", id=str(i)) for i in range(40)]
    scores = metric.score(examples)
    assert metric.backbone.calls == 1  # type: ignore[attr-defined]
    assert len(metric.backbone.asked) == 2  # type: ignore[attr-defined]
    assert [s.example.id for s in scores] == [str(i) for i in range(40)]


def test_evidence_judges_nothing_twice() -> None:
    """Knowledge of one sentence is a chunk and the search's only unit."""
    metric = scale()
    examples = [Example("red cat. blue dog.", "the red cat.", id=str(i)) for i in range(3)]
    scores = metric.score(examples, evidence=True)
    assert metric.backbone.calls == 1  # type: ignore[attr-defined]
    for evidence in scores[0].evidence:
        assert isinstance(evidence, Judgement)
        assert (evidence.passage, evidence.passage_support) == (
            "the red cat.", evidence.support)


class Sentences:
    """Finds the sentences of a response as its claims."""

    name = "sentences"

    def find(self, examples: Sequence[Example]) -> list[list[Claim]]:
        return [[Claim(example.response[a:b], a, b)
                 for a, b in split_sentences(example.response)] for example in examples]


class SentenceScale(BundledScale):
    claims = Sentences()


def test_only_the_nearest_sentence_is_judged_where_the_verdicts_choose_none() -> None:
    """The search asks about further sentences for a supported claim alone: "a dog" is not found,
    and the knowledge about the bird has one sentence."""
    first = FakeBackbone()
    metric = cascade(first)
    two = "the cat is red. some dog barks."
    scores = metric.score([Example("red cat. big blue dog.", two), Example("a bird.", "a bird.")],
                          evidence=True)
    chunks = [(two, "red cat."), (two, "big blue dog."), ("a bird.", "a bird.")]
    sentences = [("the cat is red.", "red cat."), ("some dog barks.", "red cat.")]
    passage = ("some dog barks.", "big blue dog.")
    assert first.asked == [*chunks, sentences[0], passage, sentences[1]]
    assert metric.backbone.asked == [*chunks, sentences[0], passage]  # type: ignore[attr-defined]
    assert [item.passage for score in scores for item in score.evidence
            if isinstance(item, Judgement)] == ["the cat is red.", "some dog barks.", "a bird."]


def test_the_second_model_reads_a_passage_only_where_it_may_change_what_is_shown() -> None:
    claim, two = "red cat.", "one red cat barks. felix is red."
    nearest, passage = ("one red cat barks.", claim), ("felix is red.", claim)
    for chunk, alone, again, shown in [
        (Verdict(0.9, 0.1, 0.0), Verdict(0.8, 0.2, 0.0), False, 0.8),  # one sentence supports it
        (Verdict(0.9, 0.1, 0.0), Verdict(0.2, 0.8, 0.0), True, 0.6),  # or does it?
        (Verdict(0.1, 0.1, 0.8), Verdict(0.1, 0.1, 0.8), True, 0.0),  # the nearest is shown
        (Verdict(0.1, 0.9, 0.0), Verdict(0.2, 0.8, 0.0), False, 0.0),
    ]:
        known = {(two, claim): chunk, nearest: Verdict(0.0, 1.0, 0.0)}
        metric = cascade(FakeBackbone({**known, passage: alone}))
        metric.backbone.table = {**known, passage: Verdict(0.6, 0.4, 0.0)}  # type: ignore[attr-defined]
        [score] = metric.score([Example(claim, two)], evidence=True)
        assert (passage in metric.backbone.asked) == again  # type: ignore[attr-defined]
        [item] = score.evidence
        assert item.passage_support == pytest.approx(shown, abs=0.1)  # type: ignore[union-attr]


def test_nothing_to_judge_has_no_value() -> None:
    [empty, blank] = scale().score([Example("...", "text"), Example("a cat.", "   ")])
    assert (empty.value, blank.value) == (None, None)
    assert scale().score([]) == []


FAR = Example(
    "The red cat sat. A dog ran off.",
    "a red cat sat here . some people say nothing else . one brown dog ran off today",
)


def test_with_top_chunks_a_sentence_is_judged_by_those_that_share_its_rare_words() -> None:
    every, few = scale(chunk_size=6, overlap=0.0), scale(chunk_size=6, overlap=0.0, top_chunks=1)
    [whole], [part] = every.score([FAR]), few.score([FAR])
    assert part.value == whole.value
    assert set(every.backbone.asked) > set(few.backbone.asked)  # type: ignore[attr-defined]
    assert set(few.backbone.asked) == {  # type: ignore[attr-defined]
        ("a red cat sat here .", "The red cat sat."),
        ("one brown dog ran off today", "A dog ran off."),
    }
    assert "top_chunks:1" in few.signature
    assert "top" not in every.signature


def test_with_top_chunks_the_support_is_sought_in_the_best_chunk() -> None:
    knowledge = " ".join(f"filler number {i}." for i in range(30)) + " The cat is red. Bye."
    metric = scale(chunk_size=40, overlap=0.0, top_chunks=2, branches=64)
    [score] = metric.score([Example("red cat.", knowledge)], evidence=True)
    [found] = score.evidence
    assert isinstance(found, Judgement)
    assert (found.passage, found.passage_support) == ("The cat is red.", 1.0)
    assert knowledge[found.passage_start :].startswith("The cat is red.")
    assert metric.backbone.calls == 2, "the chunks, and their sentences"  # type: ignore[attr-defined]


def cascade(first: FakeBackbone, **settings: object) -> BundledScale:
    chosen = ScaleSettings(recipe="bundled", support="consistent", **settings)  # type: ignore[arg-type]
    return SentenceScale(FakeCascade(first), chosen)


def test_the_backbone_judges_the_chunks_that_the_first_model_finds_best() -> None:
    first = FakeBackbone()
    metric = cascade(first, chunk_size=6, overlap=0.0)
    [score] = metric.score([FAR])
    assert len(first.asked) == 6, "two sentences, three chunks, each pair once"
    assert set(metric.backbone.asked) == {  # type: ignore[attr-defined]
        ("a red cat sat here .", "The red cat sat."),
        ("one brown dog ran off today", "A dog ran off."),
    }
    assert score.value == pytest.approx(NEAREST * 0.75 ** 0.5 + (1 - NEAREST) * 0.75)


def test_the_first_model_counts_little_where_it_is_mistaken() -> None:
    wrong = ("one brown dog ran off today", "The red cat sat.")
    first = FakeBackbone({wrong: Verdict(1.0, 0.0, 0.0)})
    metric = cascade(first, chunk_size=6, overlap=0.0)
    [score] = metric.score([FAR])
    # Of "A dog ran off." all words but "a" are known.
    assert [one.support for one in score.evidence] == [  # type: ignore[union-attr]
        0.0, pytest.approx(NEAREST * 0.75 ** 0.5 + (1 - NEAREST) * 0.75)]
    assert wrong in metric.backbone.asked  # type: ignore[attr-defined]


@pytest.mark.parametrize(("passage", "decision"), [
    ("These cats are grey, not red.", "contradicted"),
    ("These cats are grey.", "not found"),  # half of the claim's content words
    ("All were grey.", "not found"),
])
def test_a_passage_about_something_else_contradicts_nothing(passage: str, decision: str) -> None:
    claim = "The 12 red cats."
    metric = cascade(FakeBackbone())
    metric.backbone.table = {(passage, claim): Verdict(0.0, 0.0, 1.0)}  # type: ignore[attr-defined]
    [score] = metric.score([Example(claim, passage)], evidence=True)
    assert [one.verdict for one in score.evidence] == [decision]  # type: ignore[union-attr]


def test_the_nearest_sentence_is_also_judged_by_itself() -> None:
    first = FakeBackbone()
    metric = cascade(first, chunk_size=60)
    [score] = metric.score([FAR])
    assert [one.support for one in score.evidence] == pytest.approx([  # type: ignore[union-attr]
        NEAREST * by_sentence ** 0.5 + (1 - NEAREST) * by_chunk
        for by_sentence, by_chunk in ((0.75, 0.75), (0.75, 1.0))])
    asked = metric.backbone.asked  # type: ignore[attr-defined]
    assert [claim for _, claim in asked[:2]] == ["The red cat sat.", "A dog ran off."]
    assert asked[2:] == [("a red cat sat here .", "The red cat sat."),
                         ("one brown dog ran off today", "A dog ran off.")]
    assert first.asked == asked, "each once"


def test_without_a_passage_only_a_rule_contradicts() -> None:
    claim, passage = "The cats are red.", "These cats are not red."
    metric = cascade(FakeBackbone())
    metric.backbone.table = {(passage, claim): Verdict(0.0, 0.0, 1.0)}  # type: ignore[attr-defined]
    for evidence, decision in ((True, "contradicted"), (False, "not found")):
        [score] = metric.score([Example(claim, passage)], evidence=evidence)
        assert [one.verdict for one in score.evidence] == [decision]  # type: ignore[union-attr]


def test_as_many_top_chunks_as_there_are_is_all() -> None:
    [whole], [part] = (scale(chunk_size=6, top_chunks=most).score([FAR], evidence=True)
                       for most in (0, 9))
    assert part.value == whole.value


@pytest.mark.parametrize(
    "settings",
    [{"top_chunks": -1}, {"top_chunks": 2, "chunking": "prompt"}, {"chunk_size": 0},
     {"overlap": 1.0}, {"overlap": -0.1}, {"branches": 1}, {"recipe": "ours"}],
)
def test_settings_that_make_no_sense(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        scale(**settings)


def test_signature_has_what_changes_the_number() -> None:
    signature = scale(chunk_size=77, overlap=0.5).signature
    assert {"chunk:77", "overlap:0.5", "backbone:fake-backbone"} <= set(
        signature.split("|")
    )


# --- chunks cut by the backbone --------------------------------------------------------------


class Prompting(FakeBackbone):
    """Cuts documents itself; notes what it was asked."""

    prompt = "does it follow?"

    def __init__(self) -> None:
        super().__init__()
        self.long: list[tuple[list[tuple[str, str]], int, float]] = []

    def judge_long(
        self, pairs: Sequence[tuple[str, str]], chunk_size: int, overlap: float
    ) -> list[Verdict]:
        self.long.append((list(pairs), chunk_size, overlap))
        return [self._verdict(*pair) for pair in pairs]


def test_a_backbone_may_cut_the_chunks_by_its_prompts() -> None:
    backbone = Prompting()
    settings = ScaleSettings(chunking="prompt", chunk_size=30, overlap=0.5)
    metric = Scale(backbone, settings)
    known = "A red cat sat. A dog ran."
    examples = [Example("red cat. blue dog.", known), Example("red cat.", known),
                Example("red cat.", " ")]
    whole, one, blank = metric.score(examples, evidence=True)
    assert [e.support for e in whole.evidence if isinstance(e, Judgement)] == [1.0, 0.5]
    assert (whole.value, one.value, blank.value) == (0.75, 1.0, None)
    assert [e.passage for e in whole.evidence if isinstance(e, Judgement)] == [
        "A red cat sat.", "A dog ran."]
    assert backbone.long == [([(known, "red cat."), (known, "blue dog.")], 30, 0.5)]
    assert "|prompt:does it follow?|chunk:30|overlap:0.5|chunking:prompt|" in metric.signature


def test_what_is_not_given_is_the_presets_or_the_papers() -> None:
    """With another backbone the paper's: the preset's settings suit its own."""
    bundled = preset("bundled")
    own = bundled.scale_settings["top_chunks"]
    for model, given, most in (
        (None, None, own), ("m", None, ScaleSettings().top_chunks), (None, 2, 2), ("m", 2, 2),
    ):
        settings, _ = settings_and_runtime(
            ScaleSettings, {"top_chunks": given}, bundled.settings("scale", model))
        assert settings.top_chunks == most
    assert own != ScaleSettings().top_chunks
