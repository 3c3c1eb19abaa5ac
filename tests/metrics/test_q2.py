"""Q² against the papers' worked examples and by its rules, with stand-ins for models."""

from __future__ import annotations

import pytest
from fakes import (
    VERDICTS,
    FakeEntailment,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeResolver,
    FakeSpans,
)

from q2_metric.errors import InputError
from q2_metric.metrics.bundled_q2 import BundledQ2
from q2_metric.metrics.q2 import Q2, answer_sentence, without_nli
from q2_metric.metrics.settings import Q2Settings
from q2_metric.types import Answer, Comparison, Example, Label, Question, Score, Span, Verdict


def q2(
    spans: dict[str, list[str]] | None = None,
    questions: dict[str, list[str]] | None = None,
    reader: FakeReader | None = None,
    judge: FakeEntailment | None = None,
    speakers: FakePersonal | None = None,
    **settings: object,
) -> Q2:
    chosen = Q2Settings(**settings)  # type: ignore[arg-type]
    kind = BundledQ2 if chosen.recipe == "bundled" else Q2
    return kind(
        FakeSpans(spans), FakeQuestions(questions), reader or FakeReader(),
        judge or FakeEntailment(), speakers or FakePersonal(), settings=chosen,
    )


COFFEE = Example(
    "coffee is very acidic . it has stimulating effects on humans .",
    "Coffee is slightly acidic and has a stimulating effect on humans because of its "
    "caffeine content.",
)


def coffee(**settings: object) -> Q2:
    """Figure 2 of the paper: one answer is contradicted, one agrees."""
    acidic, humans = "What is coffee?", "On whom does it have stimulating effects?"
    return q2(
        {COFFEE.response: ["very acidic", "humans"]},
        {"very acidic": [acidic], "humans": [humans]},
        FakeReader({
            (acidic, COFFEE.response): "very acidic", (humans, COFFEE.response): "humans",
            (acidic, COFFEE.knowledge): "slightly acidic", (humans, COFFEE.knowledge): "humans",
        }),
        FakeEntailment({
            (f"{acidic} slightly acidic.", f"{acidic} very acidic."): "contradiction",
        }),
        **settings,
    )


def test_responses_with_and_without_questions_in_one_batch() -> None:
    """Each gets what is its own: questions, verdicts and what was not asked."""
    said = [("it rains", "It rains."), ("Rome has 3 hills.", "Rome has 7 hills."),
            ("it snows", "It rains."), ("I was born in Rome", "Rome is old."),
            ("so it is hot", "Hot.")]
    examples = [Example(response, knowledge) for response, knowledge in said]
    judge = FakeEntailment({
        said[0][::-1]: "entailment", said[2][::-1]: "contradiction", said[4][::-1]: "neutral"})
    found = q2(judge=judge).score(examples)
    assert [score.example for score in found] == examples
    assert [score.value for score in found] == [1.0, 0.5, 0.0, 1.0, 0.5]
    assert [score.fallback for score in found] == [True, False, True, False, True]
    assert [len(score.evidence) for score in found] == [0, 2, 0, 1, 0]
    assert [[one.question.text for one in score.dropped] for score in found] == [
        [], [], [], ["What about I?"], []]
    assert judge.asked == [said[0][::-1], said[2][::-1], said[4][::-1]]


def test_the_papers_coffee_example() -> None:
    [score] = coffee().score([COFFEE])
    assert score.value == 0.5
    assert score.no_nli == pytest.approx((0.5 + 1) / 2)
    assert not score.fallback
    first, second = score.evidence
    assert isinstance(first, Comparison)
    assert isinstance(second, Comparison)
    assert (first.how, first.score, first.knowledge_answer) == ("nli", 0.0, "slightly acidic")
    assert first.question.span.start == COFFEE.response.index("very acidic")
    assert (second.how, second.score) == ("equal", 1.0)


def test_without_nli_the_answers_are_compared_by_token_f1() -> None:
    metric = coffee(nli=False)
    [score] = metric.score([COFFEE])
    assert score.value == pytest.approx(0.75)
    assert metric.entailment.calls == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("label", "expected"), [("entailment", 1.0), ("neutral", 0.5), ("contradiction", 0.0)]
)
def test_what_an_nli_label_is_worth(label: str, expected: float) -> None:
    # Token F1 of "very acidic" and "slightly acidic" is 0.5: what neutral leaves.
    metric = coffee()
    question = "What is coffee?"
    metric.entailment.table = {  # type: ignore[attr-defined]
        (f"{question} slightly acidic.", f"{question} very acidic."): label
    }
    [score] = metric.score([COFFEE])
    assert score.evidence[0].score == expected


@pytest.mark.parametrize("label", list(VERDICTS))
def test_a_comparison_carries_its_verdict(label: Label) -> None:
    example = Example("Rome has hills.", "Paris has hills.")
    question = Question(Span(example, "Rome", 0), "What has hills?")
    found = q2().compare(question, Answer("Paris", 0, 5.0), VERDICTS[label])
    assert found.verdict == VERDICTS[label]


def test_without_nli_a_calibration_is_not_signed() -> None:
    assert without_nli("q2|compare:nli|fallback:nli|calibration:mine|version:1") == (
        "q2_no_nli|compare:f1|fallback:nli|version:1")
    assert "|nli:off" in without_nli("q2|nli:m|compare:nli|fallback:off|version:1")


def test_an_unanswerable_question_scores_zero_and_can_be_dropped() -> None:
    example = Example("Rome has 3 hills.", "Rome is old.")
    [kept] = q2().score([example])
    assert [c.how for c in kept.evidence] == ["equal", "no_answer"]  # type: ignore[union-attr]
    assert kept.value == 0.5
    [dropped] = q2(drop_unanswerable=True).score([example])
    assert (dropped.value, dropped.no_nli, len(dropped.evidence)) == (1.0, 1.0, 1)
    assert (kept.no_nli, len(kept.evidence)) == (0.5, 2)
    nowhere = Example("Rome has 3 hills.", "paris .")
    [nothing] = q2(drop_unanswerable=True).score([nowhere])
    assert nothing.value == 0.0, "with no answerable question all stay"


@pytest.mark.parametrize(
    ("label", "expected"), [("entailment", 1.0), ("neutral", 0.5), ("contradiction", 0.0)]
)
def test_fallback_is_nli_from_knowledge_to_response(label: str, expected: float) -> None:
    example = Example("it rains here", "Some Knowledge.")
    nli = FakeEntailment({(example.knowledge, example.response): label})  # type: ignore[dict-item]
    [score] = q2(judge=nli).score([example])  # type: ignore[arg-type]
    assert score == Score(example, expected, (), True, expected, VERDICTS[label])  # type: ignore[index]


def test_without_fallback_there_is_no_value() -> None:
    example = Example("it rains here", "Some Knowledge.")
    metric = q2(fallback=False)
    assert metric.score([example]) == [Score(example, None)]
    assert metric.entailment.calls == 0  # type: ignore[attr-defined]


def test_round_trip_must_give_the_span_back() -> None:
    example = Example("Ann met Bob", "Ann met Bob.")
    reader = FakeReader({("Who?", example.response): "Bob"})
    [score] = q2(questions={"Ann": ["Who?"], "Bob": ["Who?"]}, reader=reader).score([example])
    assert reader.asked.count(("Who?", example.response)) == 1, "the same pair is read once"
    assert [c.question.span.text for c in score.evidence] == ["Bob"]  # type: ignore[union-attr]


def test_first_valid_stops_and_asks_rank_by_rank() -> None:
    example = Example("Ann met Bob", "Ann met Bob.")
    questions = {"Ann": ["bad?", "What about Ann?", "third?"], "Bob": ["What about Bob?", "no?"]}
    metric = q2(questions=questions)
    [score] = metric.score([example])
    assert [c.question.text for c in score.evidence] == [  # type: ignore[union-attr]
        "What about Ann?", "What about Bob?"
    ]
    asked = [q for q, context in metric.reader.asked if context == example.response]  # type: ignore[attr-defined]
    assert asked == ["bad?", "What about Bob?", "What about Ann?"]


def test_all_keeps_every_valid_question() -> None:
    example = Example("Ann left", "Ann left.")
    reader = FakeReader({("A?", "Ann left"): "Ann", ("B?", "Ann left"): "Ann",
                         ("A?", "Ann left."): "Ann"})
    metric = q2(questions={"Ann": ["A?", "B?"]}, reader=reader, questions_per_span="all")
    [score] = metric.score([example])
    assert score.value == 0.5
    assert len(score.evidence) == 2


def test_personal_questions_are_removed_or_kept() -> None:
    example = Example("my name is Ann", "Ann is her name.")
    questions = {"Ann": ["What is my name?", "What about Ann?"]}
    [removed] = q2(questions=questions).score([example])
    assert [c.question.text for c in removed.evidence] == ["What about Ann?"]  # type: ignore[union-attr]
    reader = FakeReader({("What is my name?", example.response): "Ann",
                         ("What is my name?", example.knowledge): "Ann"})
    [kept] = q2(questions=questions, reader=reader, personal="keep").score([example])
    assert [c.question.text for c in kept.evidence] == ["What is my name?"]  # type: ignore[union-attr]


def test_the_same_word_at_two_places_is_two_spans() -> None:
    example = Example("Rome or Rome", "Rome.")
    [score] = q2().score([example])
    assert [c.question.span.start for c in score.evidence] == [0, 8]  # type: ignore[union-attr]


def test_one_batch_a_stage_and_equal_work_once() -> None:
    examples = [Example("Rome has 3 hills.", "Rome has 7 hills.", id=str(i)) for i in range(50)]
    metric = q2()
    scores = metric.score(examples)
    assert metric.spans.calls == metric.questions.calls == 1  # type: ignore[attr-defined]
    assert metric.reader.calls == 2  # type: ignore[attr-defined]
    assert len(metric.reader.asked) == 4  # type: ignore[attr-defined]
    assert [score.example.id for score in scores] == [str(i) for i in range(50)]
    assert len({score.value for score in scores}) == 1


def test_scores_do_not_depend_on_company_or_order() -> None:
    examples = [Example(f"Ann has {i} cats and {i + 1} dogs", f"Ann has {i} cats.")
                for i in range(9)]
    together = q2().score(examples)
    assert [q2().score([e])[0] for e in examples] == together
    assert q2().score(examples[::-1])[::-1] == together


def test_coreference_resolves_the_response_with_its_history() -> None:
    example = Example("it has 3 hills", "Rome has 3 hills.", history=("i love Rome",))
    metric = Q2(FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), FakePersonal(),
                FakeResolver({"it": "Rome"}), Q2Settings(coreference=True))
    [score] = metric.score([example])
    assert [c.question.span.text for c in score.evidence] == ["Rome", "3"]  # type: ignore[union-attr]
    assert score.example is example, "the score is about the response as it was given"
    assert "coref:fake-coreference" in metric.signature
    with pytest.raises(InputError, match="coreference"):
        q2(coreference=True)


def test_answers_that_look_like_missing_values_are_text() -> None:
    example = Example("NaN and None and Null", "NaN and None and Null")
    [score] = q2().score([example])
    assert score.value == 1.0
    assert [c.knowledge_answer for c in score.evidence] == ["NaN", "None", "Null"]  # type: ignore[union-attr]


def test_no_double_full_stop_before_nli() -> None:
    assert answer_sentence("Who owns it?", "Acme Inc.") == "Who owns it? Acme Inc."


def test_empty_input_and_settings() -> None:
    assert q2().score([]) == []
    with pytest.raises(InputError, match="decoding must be one of"):
        q2(decoding="greedily")
    settings = {"decoding:sample", "personal:keep", "questions:all", "compare:f1",
                "fallback:off", "unanswerable:drop"}
    signature = q2(decoding="sample", personal="keep", questions_per_span="all", nli=False,
                   fallback=False, drop_unanswerable=True).signature
    assert settings <= set(signature.split("|"))


# --- long responses ----------------------------------------------------------------------


def hills(count: int) -> Example:
    return Example(" ".join(f"Rome has {i} hills." for i in range(count)), "Rome has 7 hills.")


def read_of(metric: Q2, example: Example) -> list[str]:
    """The texts that questions were read in, but for the knowledge."""
    metric.score([example])
    asked = metric.reader.asked  # type: ignore[attr-defined]
    return [text for _, text in asked if text != example.knowledge]


def test_a_question_is_read_in_its_sentence_and_the_ones_beside_it() -> None:
    example = hills(6)
    read = read_of(q2(recipe="bundled"), example)
    assert set(read) == {
        " ".join(f"Rome has {i} hills." for i in range(first, first + 3)) for first in range(4)
    }
    assert set(read_of(q2(), example)) == {example.response}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_up_to_three_sentences_are_read_whole(count: int) -> None:
    example = hills(count)
    assert set(read_of(q2(recipe="bundled"), example)) == {example.response}


def test_what_is_read_grows_with_the_response_and_not_with_its_square() -> None:
    characters = [sum(map(len, read_of(q2(recipe="bundled"), hills(size)))) for size in (50, 200)]
    assert characters[1] < 5 * characters[0]
    squares = [sum(map(len, read_of(q2(), hills(size)))) for size in (50, 200)]
    assert squares[1] > 15 * squares[0]


def test_a_comparison_keeps_its_place_in_the_whole_response() -> None:
    example = hills(6)
    [score] = q2().score([example])
    spans = [c.question.span for c in score.evidence if isinstance(c, Comparison)]
    assert len(spans) == 12
    for span in spans:
        assert span.example is example
        assert example.response[span.start :].startswith(span.text)


# --- settings that the papers do not have ------------------------------------------------

SAID, KNOWN = "Rome has 3 hills.", "Rome has 7 hills."
THREE, SEVEN = "What about 3? 3.", "What about 3? 7."


def counted(verdict: Verdict | None = None, **settings: object) -> float | None:
    """Two questions: "Rome" is equal; "3" against "7" is judged so."""
    judge = FakeEntailment({(SEVEN, THREE): verdict} if verdict else None)
    reader = FakeReader({("What about 3?", KNOWN): "7"})
    [score] = q2(reader=reader, judge=judge, **settings).score([Example(SAID, KNOWN)])
    return score.value


def test_a_verdict_is_its_most_probable_class() -> None:
    assert counted(Verdict(0.3, 0.2, 0.5)) == 0.5  # contradiction by a little


def test_expected_fallback_is_between_the_classes() -> None:
    nothing = Example("so it rains.", "it rains so far")
    judge = FakeEntailment({(nothing.knowledge, nothing.response): Verdict(0.4, 0.35, 0.25)})
    [paper] = q2(judge=judge).score([nothing])
    [expected] = q2(judge=judge, recipe="bundled").score([nothing])
    assert paper.value == 1.0
    assert expected.value == pytest.approx(0.4 + 0.35 / 2)
    assert expected.fallback


PLUMS = Example("He likes apples, pears and plums.", "Plums.")


@pytest.mark.parametrize(("answer", "valid"), [
    ("apples, pears and plums", True),
    ("apples; plums", True),
    ("pears & plums", True),
    ("plums", True),
    ("sour plums, pears", False),
    ("the plumsand pears", False),
])
def test_a_list_may_hold_the_span(answer: str, valid: bool) -> None:
    example = Example(f"He likes {answer}.", PLUMS.knowledge)
    reader = FakeReader({("What does he like?", example.response): answer})
    spans = {example.response: ["plums"]}
    asked = {"plums": ["What does he like?"]}
    [exact] = q2(spans, asked, reader).score([example])
    [listed] = q2(spans, asked, reader, recipe="bundled").score([example])
    assert bool(exact.evidence) == (answer == "plums")
    assert bool(listed.evidence) == valid


def test_what_is_not_asked_is_kept_with_the_reason() -> None:
    example = Example("I like Rome and Bonn", "Rome")
    asked = q2(
        questions={"I": ["What about I?"], "Rome": ["Which?"], "Bonn": ["What?", "Who?"]},
        reader=FakeReader({
            ("Which?", example.response): "Rome", ("What?", example.response): "Rome",
            ("Who?", example.response): None, ("Which?", example.knowledge): "Rome",
        }),
        speakers=FakePersonal({"What about I?"}),
    )
    [score] = asked.score([example])
    assert [(one.question.text, one.reason, one.answer) for one in score.dropped] == [
        ("What about I?", "personal", None), ("What?", "round_trip", "Rome")]
    asked = [item for item in score.evidence if isinstance(item, Comparison)]
    assert [item.question.text for item in asked] == ["Which?"]


def test_values_in_two_notations_are_one_answer() -> None:
    example = Example("Twenty-five people came.", "25 people came.")
    asked = {"Twenty-five": ["How many people came?"]}
    reader = FakeReader({("How many people came?", example.response): "Twenty-five",
                         ("How many people came?", example.knowledge): "25"})
    found = {example.response: ["Twenty-five"]}
    judge = FakeEntailment({
        ("How many people came? 25.", "How many people came? Twenty-five."): "contradiction"})
    [by_text] = q2(found, asked, reader, judge).score([example])
    [by_value] = q2(found, asked, reader, judge, recipe="bundled").score([example])
    assert (by_text.value, by_value.value) == (0.0, 1.0)


PHONE = Example("Bluetooth is supported. It is heavy.", "It does not support Bluetooth.")


def phone(judge: FakeEntailment, **settings: object) -> Score:
    asked = {"Bluetooth": ["What is supported?"]}
    reader = FakeReader({("What is supported?", PHONE.response): "Bluetooth",
                         ("What is supported?", PHONE.knowledge): "Bluetooth"})
    return q2({PHONE.response: ["Bluetooth"]}, asked, reader, judge, **settings).score([PHONE])[0]


def test_a_claim_about_which_nothing_is_asked_counts_like_the_others() -> None:
    judge = FakeEntailment({(PHONE.knowledge, "It is heavy."): "contradiction",
                            (PHONE.knowledge, "Bluetooth is supported."): "entailment"})
    assert phone(judge).value == 1.0  # the papers' recipe does not look
    found = phone(judge, recipe="bundled")
    weight = 1 - VERDICTS["entailment"].contradiction * (1 - VERDICTS["entailment"].entailment)
    lone = VERDICTS["contradiction"].entailment
    assert found.value == pytest.approx((weight + lone) / 2)
    assert found.evidence[1].response_answer == "It is heavy."


@pytest.mark.parametrize(("recipe", "expected"), [("paper", 0.0), ("bundled", 1.0)])
def test_nli_judges_the_claim_of_a_question_without_an_answer(recipe: str, expected: float) -> None:
    """The reader does not know "begins" from "starts", so it finds no answer."""
    example = Example("The concert begins on Monday.", "The concert starts on Monday.")
    reader = FakeReader({("When does the concert begin?", example.response): "Monday"})
    judge = FakeEntailment({(example.knowledge, example.response): "entailment"})
    [found] = q2({example.response: ["Monday"]}, {"Monday": ["When does the concert begin?"]},
                 reader, judge, recipe=recipe).score([example])
    assert found.value == pytest.approx(expected * VERDICTS["entailment"].entailment)
    [asked, *_] = found.evidence
    assert asked.knowledge_answer is None
    assert asked.how == "no_answer"


def test_a_claim_is_judged_in_the_notation_of_the_knowledge() -> None:
    example = Example("It leaves at 11:10 pm.", "It leaves at 23:10.")
    judge = FakeEntailment({(example.knowledge, example.response): "contradiction"})
    [found] = q2({example.response: []}, judge=judge, recipe="bundled").score([example])
    assert found.fallback
    assert found.verdict is not None
    assert found.verdict.label == "entailment"


@pytest.mark.slow
def test_a_question_belongs_to_its_claim_and_not_to_its_sentence() -> None:
    """The README's example: only the price of the cabin is wrong."""
    example = Example(
        "Refunds take 5 days, and a cabin costs 120 euros. I hope that helps!",
        "Refunds are paid within five days. A cabin costs 95 euros.")
    [score] = Q2.from_preset().score([example])
    asked = [item for item in score.evidence if isinstance(item, Comparison)]
    refunds = [item for item in asked if item.question.span.start < example.response.index(",")]
    assert "5 days" in {item.question.span.text for item in refunds}
    assert all(item.how == "equal" and item.score > 0.9 for item in refunds)
    cabin = [item for item in asked if item not in refunds]
    assert cabin
    assert all(item.how == "contradicted" and item.score <= 0.1 for item in cabin)
