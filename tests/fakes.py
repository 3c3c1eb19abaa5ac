"""Stand-ins for the models: deterministic, readable, quick.

Each follows a table where it was given one and a simple rule otherwise, and records what
it was asked: ``calls`` counts batches, ``asked`` keeps their items in order.

Without tables they agree with each other: every capitalised word or number of a response
is a span, its question is "What about SPAN?", and the reader finds that span wherever the
text has it. "Rome has 3 hills." is then fully answered by "Rome has 3 hills.".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from q2_metric.metrics.claims import gated
from q2_metric.types import (
    Answer,
    Claim,
    Decision,
    Example,
    Judgement,
    Label,
    Score,
    Span,
    Verdict,
)

VERDICTS: Mapping[Label, Verdict] = {
    "entailment": Verdict(0.8, 0.15, 0.05),
    "neutral": Verdict(0.2, 0.7, 0.1),
    "contradiction": Verdict(0.1, 0.2, 0.7),
}
"""What :class:`FakeEntailment` answers where its table names a class."""


class FakeSpans:
    """Finds the spans of a table (response -> texts), else capitalised words and numbers."""

    name = "fake-spans"

    def __init__(self, table: Mapping[str, Sequence[str]] | None = None) -> None:
        self.table = table or {}
        self.calls = 0
        self.asked: list[Example] = []

    def find(self, examples: Sequence[Example]) -> list[list[Span]]:
        self.calls += 1
        self.asked += examples
        return [self._spans(example) for example in examples]

    def _spans(self, example: Example) -> list[Span]:
        text = example.response
        if text not in self.table:
            found = re.finditer(r"\b(?:[A-Z]\w*|\d+)\b", text)
            return [Span(example, match[0], match.start()) for match in found]
        spans, end = [], 0
        for wanted in self.table[text]:  # in text order, so that a word may come twice
            start = text.index(wanted, end)
            end = start + len(wanted)
            spans.append(Span(example, wanted, start))
        return spans


class FakeQuestions:
    """Asks the questions of a table (span text -> questions), else "What about SPAN?"."""

    name = "fake-questions"

    def __init__(self, table: Mapping[str, Sequence[str]] | None = None) -> None:
        self.table = table or {}
        self.calls = 0
        self.asked: list[Span] = []

    def generate(self, spans: Sequence[Span]) -> list[list[str]]:
        self.calls += 1
        self.asked += spans
        return [list(self.table.get(span.text, [f"What about {span.text}?"])) for span in spans]


class FakeReader:
    """Answers from a table of (question, context), else finds SPAN of "What about SPAN?".

    A text in the table must occur in the context; ``None`` is no answer. A question that
    neither the table nor the rule knows has no answer.
    """

    name = "fake-reader"

    def __init__(self, answers: Mapping[tuple[str, str], str | None] | None = None) -> None:
        self.answers = answers or {}
        self.calls = 0
        self.asked: list[tuple[str, str]] = []

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Answer | None]:
        self.calls += 1
        self.asked += pairs
        return [self._answer(question, context) for question, context in pairs]

    def _answer(self, question: str, context: str) -> Answer | None:
        if (question, context) in self.answers:
            text = self.answers[question, context]
            if text is None:
                return None
            return Answer(text, context.index(text), 5.0)
        match = re.fullmatch(r"What about (.*)\?", question, re.DOTALL)
        if match is None or match[1] not in context:
            return None
        return Answer(match[1], context.index(match[1]), 5.0)


class FakeEntailment:
    """Judges by a table of (premise, hypothesis), else by shared words.

    By shared words: P(entailment) is the share of the hypothesis's words that the premise
    has, the rest neutral; contradiction only comes from the table.
    """

    name = "fake-nli"

    def __init__(self, table: Mapping[tuple[str, str], Label | Verdict] | None = None) -> None:
        self.table = table or {}
        self.calls = 0
        self.asked: list[tuple[str, str]] = []

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        self.calls += 1
        self.asked += pairs
        return [self._verdict(premise, hypothesis) for premise, hypothesis in pairs]

    def _verdict(self, premise: str, hypothesis: str) -> Verdict:
        known = self.table.get((premise, hypothesis))
        if known is not None:
            return known if isinstance(known, Verdict) else VERDICTS[known]
        words = _words(hypothesis)
        had = set(_words(premise))
        share = sum(word in had for word in words) / len(words) if words else 0.0
        return Verdict(share, 1 - share)


class FakeBackbone(FakeEntailment):
    """:class:`FakeEntailment` whose tokens are what stands between blanks."""

    name = "fake-backbone"
    prompt = ""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


class FakeCascade(FakeBackbone):
    """Its own verdicts replace those of its first model."""

    def __init__(self, first: FakeBackbone) -> None:
        super().__init__()
        self.first = first

    def review(
        self, pairs: Sequence[tuple[str, str]], verdicts: Sequence[Verdict], share: float,
    ) -> list[Verdict]:
        assert 0 < share < 1
        assert list(verdicts) == [self.first._verdict(*pair) for pair in pairs]
        return self.judge(pairs)


class FakePersonal:
    """Personal is what the set holds, else what has one of the words I, you, my, your."""

    def __init__(self, questions: set[str] | None = None) -> None:
        self.questions = questions
        self.calls = 0

    def personal(self, questions: Sequence[str]) -> list[bool]:
        self.calls += 1
        if self.questions is not None:
            return [question in self.questions for question in questions]
        return [not {"i", "you", "my", "your"}.isdisjoint(_words(q)) for q in questions]


class FakeResolver:
    """Resolves the last turn by a table of replaced words."""

    name = "fake-coreference"

    def __init__(self, table: Mapping[str, str]) -> None:
        self.table = table
        self.calls = 0

    def resolve(self, dialogues: Sequence[Sequence[str]]) -> list[str]:
        self.calls += 1
        return [
            re.sub(r"\w+", lambda match: self.table.get(match[0], match[0]), dialogue[-1])
            for dialogue in dialogues
        ]


class FakeMetric:
    """A metric whose scores come from a table (response -> value), else 0.5."""

    def __init__(self, name: str, table: Mapping[str, float | None] | None = None) -> None:
        self.name = name
        self.signature = f"{name}|version:test"
        self.table = table or {}
        self.batches: list[int] = []
        self.evidence: list[bool] = []

    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        self.batches.append(len(examples))
        self.evidence.append(evidence)
        return [self._score(example, evidence) for example in examples]

    def _score(self, example: Example, evidence: bool) -> Score:
        value = self.table.get(example.response, 0.5)
        if self.name != "scale":
            return Score(example, value)
        support = (example.knowledge, 0, value) if evidence else (None, None, None)
        found = judged(example.response, 0, value if value is not None else 0.0, *support)
        return Score(example, value, evidence=(found,))


def judged(
    text: str, start: int, support: float, passage: str | None = None,
    passage_start: int | None = None, passage_support: float | None = None,
) -> Judgement:
    """A claim that is written as it is read, and how far it is supported."""
    verdict: Decision = "supported" if support > 0.5 else "not found"
    number = None if passage is None else 1
    return Judgement(Claim(text, start, start + len(text)), support, verdict,
                     passage, passage_start, number, passage_support)


class FakeClaimFinder:
    """Each response is one claim."""

    name = "whole"

    def find(self, examples: Sequence[Example]) -> list[list[Claim]]:
        return [[Claim(one.response, 0, len(one.response))] for one in examples]


class FakeClaims(FakeMetric):
    """:class:`FakeMetric` that scores only responses that claim something."""

    score = gated(FakeMetric.score)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
