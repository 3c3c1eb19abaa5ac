"""Questions of encoder-decoder models: templates, decodings, batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")


import torch
from hub_models import RESPONSE, SPANS, Load, load, span
from hypothesis import given
from hypothesis import strategies as st
from local_models import t5

from q2_metric.errors import ModelError
from q2_metric.models.hub import questions as torch_questions
from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.hub.questions import TEMPLATES, Seq2SeqQuestions, around, clean
from q2_metric.models.hub.reader import TorchReader
from q2_metric.models.hub.yes_no import YesNoEntailment
from q2_metric.types import Example, Span


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models rarely end a question by themselves; 128 tokens take long."""
    monkeypatch.setattr(torch_questions, "MAX_QUESTION", 16)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("answer-context", f"answer: dog  context: {RESPONSE}"),
        ("highlight", "generate question: The dog sleeps and the <hl> dog <hl> runs in Paris."),
        (
            "highlight-spaced",
            "generate question: The dog sleeps and the  <hl> dog <hl>  runs in Paris.",
        ),
    ],
)
def test_templates(loaded: Load, template: str, expected: str) -> None:
    assert TEMPLATES[template](RESPONSE, 23, 26) == expected
    assert Seq2SeqQuestions(loaded("t5/tied"), template=template)._input(SPANS[1]) == expected


def test_a_span_that_is_elsewhere_is_still_asked_about(loaded: Load) -> None:
    model = Seq2SeqQuestions(loaded("t5/tied"), template="highlight")
    assert "<hl> dog <hl> sleeps" in model._input(Span(Example(RESPONSE, ""), "dog", 39))
    assert "<hl> cat <hl> The dog" in model._input(Span(Example(RESPONSE, ""), "cat", 3))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", ["t5/tied", "t5/untied"])
def test_beam_agrees_with_transformers(loaded: Load, name: str) -> None:
    model = loaded(name)
    generator = Seq2SeqQuestions(model, template="answer-context", batch_size=3)
    found = generator.generate(SPANS)
    encoded = model.tokenizer(f"answer: Paris  context: {RESPONSE}", return_tensors="pt")
    output = model.model.generate(
        input_ids=encoded["input_ids"],
        attention_mask=encoded["attention_mask"],
        num_beams=5,
        num_return_sequences=5,
        no_repeat_ngram_size=3,
        max_length=16,
        early_stopping=True,
        do_sample=False,
    )
    expected = clean(model.tokenizer.batch_decode(output, skip_special_tokens=True))
    assert found[2] == expected
    for questions in found:
        assert 1 <= len(questions) <= 5
        assert len(set(questions)) == len(questions)
        assert not any("<pad>" in text or "</s>" in text for text in questions)


@pytest.mark.usefixtures("short")
def test_beam_batches_equal_single_spans(loaded: Load) -> None:
    model = loaded("t5/untied")
    together = Seq2SeqQuestions(model, batch_size=4).generate(SPANS)
    alone = [Seq2SeqQuestions(model).generate([item])[0] for item in SPANS]
    assert together == alone


@pytest.mark.usefixtures("short")
def test_a_long_response_is_read_around_its_span(loaded: Load) -> None:
    model = loaded("t5/untied")
    beside = "Paris is the capital. It has a river. The ship sails north."
    far = Example(f"{beside} She sleeps. The dog runs.", "")
    near = Span(Example(beside, ""), "Paris", 0)
    whole = Seq2SeqQuestions(model, decoding="greedy", reading="response")
    cut = Seq2SeqQuestions(model, decoding="greedy")
    assert cut.generate([Span(far, "Paris", 0)]) == whole.generate([near])
    assert whole._input(Span(far, "Paris", 0)) != whole._input(near)


@pytest.mark.usefixtures("short")
def test_greedy_gives_one_question(loaded: Load) -> None:
    model = loaded("t5/untied")
    found = Seq2SeqQuestions(model, decoding="greedy").generate(SPANS)
    assert [len(questions) for questions in found] == [1] * len(SPANS)


@pytest.mark.usefixtures("short")
def test_samples_depend_on_seed_and_text_only(loaded: Load) -> None:
    model = loaded("t5/untied")

    def ask(spans: Sequence[Span], seed: int) -> list[list[str]]:
        return Seq2SeqQuestions(model, decoding="sample", seed=seed, batch_size=3).generate(spans)

    all_at_once = ask(SPANS, 7)
    torch.manual_seed(123)
    assert ask(SPANS[::-1], 7) == all_at_once[::-1]
    assert ask(SPANS[2:3], 7) == all_at_once[2:3]
    assert ask(SPANS, 8) != all_at_once
    assert len(all_at_once[0]) == 5


@pytest.mark.usefixtures("short")
def test_sampling_leaves_the_callers_random_numbers_alone(loaded: Load) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Seq2SeqQuestions(loaded("t5/tied"), decoding="sample").generate(SPANS[:1])
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("texts", "questions"),
    [
        (["question: Who runs?", "Who runs?"], ["Who runs?"]),
        (["b", "a", "b"], ["b", "a"]),
        (["question:", "  ", ""], []),
        (["A question: who?"], ["A question: who?"]),
    ],
)
def test_clean(texts: list[str], questions: list[str]) -> None:
    assert clean(texts) == questions


@pytest.mark.parametrize("template", sorted(TEMPLATES))
def test_a_long_response_is_cut_around_its_span(
    loaded: Load, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("q2_metric.models.hub.questions.MAX_INPUT", 64)
    model = loaded("t5/tied")
    response = "the red dog sleeps . " * 100 + "Paris is big . " + "the cat runs . " * 100
    generator = Seq2SeqQuestions(model, template=template)
    text = generator._input(span("Paris", response=response))
    ids = model.tokenizer(text)["input_ids"]
    assert 50 < len(ids) <= 64
    assert "sleeps" in text
    assert "Paris" in text
    assert "runs" in text


@given(st.integers(1, 30), st.data())
def test_around_keeps_the_span(count: int, data: st.DataObject) -> None:
    offsets = [(2 * i, 2 * i + 1) for i in range(count)]
    first = data.draw(st.integers(0, count - 1))
    last = data.draw(st.integers(first, count - 1))
    limit = data.draw(st.integers(last - first + 1, 40))
    lo, hi = around(offsets, 2 * first, 2 * last + 1, limit)
    if count <= limit:
        assert (lo, hi) == (0, 0)
    else:
        assert lo <= 2 * first
        assert hi >= 2 * last + 1
        assert sum(lo <= left and right <= hi for left, right in offsets) == limit


def test_marks_in_the_response_mean_nothing(loaded: Load) -> None:
    response = "The <hl> dog </s> runs."
    text = Seq2SeqQuestions(loaded("t5/tied"), template="highlight")._input(
        span("dog", response=response)
    )
    assert text.count("<hl>") == 2
    assert "<hl> dog <hl>" in text
    assert "</s>" not in text


@pytest.mark.usefixtures("short")
def test_equal_inputs_are_generated_once(
    loaded: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = Seq2SeqQuestions(loaded("t5/tied"), template="answer-context", decoding="greedy")
    inputs, generate = list[str](), generator._generate
    monkeypatch.setattr(generator, "_generate", lambda new: inputs.extend(new) or generate(new))
    first, second, *_ = generator.generate(SPANS)
    assert len(inputs) == 3
    assert first == second
    assert first is not second


def test_no_spans_no_questions(loaded: Load) -> None:
    assert Seq2SeqQuestions(loaded("t5/tied")).generate([]) == []
    assert TorchReader(loaded("bert/qa")).read([]) == []
    assert TorchNli(loaded("bert/nli")).judge([]) == []
    assert YesNoEntailment(loaded("t5/tied")).judge([]) == []


def test_template_by_tokenizer(tmp_path: Path, loaded: Load) -> None:
    assert Seq2SeqQuestions(loaded("t5/tied")).template == "highlight"
    plain = str(t5(tmp_path / "plain"))
    assert Seq2SeqQuestions(load(Seq2SeqQuestions, plain)).template == "answer-context"
    with pytest.raises(ModelError, match="<hl>"):
        Seq2SeqQuestions(load(Seq2SeqQuestions, plain), template="highlight")


