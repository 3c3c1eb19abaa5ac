"""The nouns (frozen dataclasses) and the verbs (protocols) of the package.

From a response, each metric builds these objects in turn::

    Example -> Span -> Question -> Comparison -> Score      (Q²)
    Example -> Claim -> Judgement -> Score                  (SCALE)

Each object holds the object before it. So a stage may put the objects of many responses into one
batch and group them by response afterwards. This module imports no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

Label = Literal["entailment", "neutral", "contradiction"]
"""The three classes of natural language inference."""

How = Literal["equal", "nli", "token_f1", "no_answer", "contradicted"]
"""How two answers were compared (Q², section 2.3). "contradicted" means that the knowledge has
another value or denies the claim."""

Reason = Literal["no_claim", "empty", "no_knowledge", "fault"]
"""Why a response has no score. "empty" means that it is blank, "fault" that the metric failed."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the knowledge: its characters [start, end), and its id, if it has one."""

    start: int
    end: int
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A generated response and the knowledge that should support it.

    ``history`` holds the turns before the response, oldest first; a list becomes a tuple.
    ``question`` is the question that the response answers. ``id`` names the row. ``label`` is the
    human label (supported or not). If the knowledge was a list, ``passages`` gives the characters
    of each item. ``other`` holds the other columns. Examples that differ only in ``id``, ``label``,
    ``passages`` and ``other`` are equal, because these change no score: equal work is done once.
    """

    response: str
    knowledge: str
    history: tuple[str, ...] = ()
    id: str | None = field(default=None, compare=False)
    label: bool | None = field(default=None, compare=False)
    question: str | None = None
    passages: tuple[Passage, ...] = field(default=(), compare=False)
    other: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        turns: object = self.history
        if isinstance(turns, list):  # a list cannot be hashed
            object.__setattr__(self, "history", tuple(turns))

    def passage_at(self, start: int) -> tuple[int, Passage] | None:
        """The passage that contains character ``start`` of the knowledge, and its number from 1."""
        return next(((number, one) for number, one in enumerate(self.passages, start=1)
                     if one.start <= start < one.end), None)


@dataclass(frozen=True, slots=True)
class Span:
    """An informative span of a response: ``response[start:start + len(text)] == text``.

    ``start`` counts characters of the text that was searched: the response, or the response after
    coreference resolution. ``label`` is the entity type, or "" for a noun chunk.
    """

    example: Example
    text: str
    start: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a response. Its answer in the response is ``span``."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A question that was not asked of the knowledge; its span has no other question.

    ``reason`` is "personal" if the question is about the speakers. It is "round_trip" if the
    response answers the question with ``answer`` (``None``: not at all) instead of the span.
    """

    question: Question
    reason: Literal["personal", "round_trip"]
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A reader's answer, cut out of the context at character offsets.

    ``context[start:start + len(text)] == text``. ``start`` is ``None`` if the text was built from
    tokens. ``score`` is the logit sum of the best span minus the logit sum of "no answer"; a higher
    score means a more certain answer.
    """

    text: str
    start: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """An entailment model's judgement: probabilities in [0, 1] that sum to 1.

    A two-way model (Yes/No) leaves ``contradiction`` at 0 and puts "No" in ``neutral``.
    """

    entailment: float
    neutral: float
    contradiction: float = 0.0

    @property
    def label(self) -> Label:
        """The most probable class. If classes are equally probable, the first field wins."""
        best = max(self.entailment, self.neutral, self.contradiction)
        if self.entailment == best:
            return "entailment"
        return "neutral" if self.neutral == best else "contradiction"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question of a response, answered from both texts and compared.

    ``knowledge_answer`` is ``None`` if the knowledge has no answer. ``knowledge_start`` is the
    answer's first character in the knowledge (``None`` if unknown). ``f1`` is the token F1 of the
    two answers, which is the question's score in "Q² without NLI". ``verdict`` is ``None`` if no
    NLI model was asked.
    """

    question: Question
    response_answer: str
    knowledge_answer: str | None
    f1: float
    verdict: Verdict | None
    how: How
    score: float
    knowledge_start: int | None = None


ClaimKind = Literal["sentence", "clause", "relative", "apposition", "item", "cell", "answer"]
"""Which part of a response a claim is. "relative" is a relative clause, "cell" a cell of a
table, and "answer" a short answer that is read with its question."""

Decision = Literal["supported", "contradicted", "not found", "not checked"]
"""Whether the knowledge supports a claim, contradicts it, does not mention it, or was not read."""

Citation = Literal["right", "wrong passage", "unsupported", "none"]
"""A cited passage supports the claim, only other passages do, no passage does, or the claim cites
nothing."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A part of a response that is true or false by itself.

    ``text`` is what the judge reads: with the subject ("The inn allows pets." from "The inn has 12
    rooms and allows pets.") and without the frame ("I know that ..."). ``start`` and ``end`` are
    characters of the response as written. Claims are ordered by their ends and may be nested.
    """

    text: str
    start: int
    end: int
    kind: ClaimKind = "sentence"


@dataclass(frozen=True, slots=True)
class Judgement:
    """How far the knowledge supports a claim.

    ``support`` is in [0, 1]. ``passage`` is the sentence of the knowledge that decides (``None``
    before the search). ``passage_start`` is the first character of ``passage`` in the knowledge,
    ``passage_number`` is its line (from 1, without blank lines), and ``passage_support`` says how
    far it alone supports the claim. ``questions`` are Q²'s questions about the claim. ``cites``
    names the passages that the claim cites. ``citation`` is ``None`` if the response cites nothing.
    ``rule`` is the rule that decided, or ``None``.
    """

    claim: Claim
    support: float
    verdict: Decision
    passage: str | None = None
    passage_start: int | None = None
    passage_number: int | None = None
    passage_support: float | None = None
    questions: tuple[Comparison, ...] = ()
    cites: tuple[str, ...] = ()
    citation: Citation | None = None
    rule: Literal["values", "stance"] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One of the parts that a combined score is computed from.

    ``contribution`` says how far the part moved the logit of the score, up (positive) or down,
    compared with an average value.
    """

    name: str
    value: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Score:
    """A response's score and its evidence.

    ``value`` is in [0, 1]. It is ``None`` if the metric does not apply or failed; ``reason`` says
    why. ``evidence`` holds Q²'s questions, SCALE's judged claims, or the parts and claims of a
    combined score. ``fallback`` is true if the value is end-to-end NLI, because Q² had no question.
    ``no_nli`` is "Q² without NLI" (token F1 only), ``None`` for other metrics. ``consistent`` is
    the decision of a calibration's threshold, ``None`` without a calibration. ``dropped`` holds
    Q²'s rejected questions, at most one for each span.
    """

    example: Example
    value: float | None
    evidence: tuple[Comparison | Judgement | Part, ...] = ()
    fallback: bool = False
    no_nli: float | None = None
    verdict: Verdict | None = None
    consistent: bool | None = None
    reason: Reason | None = None
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True, slots=True)
class SystemScore:
    """A system's score: the mean of its responses' scores.

    ``interval`` is the 95 % bootstrap percentile interval of the mean. ``coverage`` is the share of
    responses with a valid question, and ``fallback`` the share scored by end-to-end NLI instead.
    ``no_claim`` is the share of responses that claim nothing or are blank. ``no_answer_rate`` is
    the share of questions that the knowledge does not answer. A share is ``None`` for metrics that
    do not have it. ``signature`` names the models and settings, and how the mean was computed.
    """

    name: str
    value: float | None
    n: int
    n_fallback: int
    interval: tuple[float, float] | None
    signature: str
    coverage: float | None = None
    no_answer_rate: float | None = None
    n_questions: int | None = None
    fallback: float | None = None
    no_claim: float | None = None


# --- verbs: batch in, batch out, order kept ------------------------------------------


@runtime_checkable
class SpanFinder(Protocol):
    """Finds the informative spans of texts."""

    name: str

    def find(self, examples: Sequence[Example]) -> list[list[Span]]:
        """The spans of each example, in text order. No two spans have the same position."""
        ...


@runtime_checkable
class QuestionGenerator(Protocol):
    """Writes questions whose answer is a given span."""

    name: str

    def generate(self, spans: Sequence[Span]) -> list[list[str]]:
        """Candidate questions for each span, best first; the list may be empty."""
        ...


@runtime_checkable
class Reader(Protocol):
    """Answers questions with a span of a text, or with "no answer"."""

    name: str

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Answer | None]:
        """An answer for each (question, context); ``None`` if the context has no answer."""
        ...


@runtime_checkable
class Entailment(Protocol):
    """Judges whether a hypothesis follows from a premise."""

    name: str

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """A verdict for each (premise, hypothesis)."""
        ...


@runtime_checkable
class Backbone(Entailment, Protocol):
    """An entailment model whose tokens SCALE can count, to cut chunks of equal length."""

    prompt: str
    """The prompt into which chunk and sentence are written; "" for a cross-encoder."""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of the model's tokens in ``text``, without special tokens."""
        ...


@runtime_checkable
class PromptBackbone(Backbone, Protocol):
    """A backbone that can also cut a document into chunks itself, by the length of its prompts."""

    def judge_long(
        self, pairs: Sequence[tuple[str, str]], chunk_size: int, overlap: float
    ) -> list[Verdict]:
        """A verdict for each (document, sentence), from the chunk that supports it best."""
        ...


@runtime_checkable
class SentenceSplitter(Protocol):
    def split(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """(start, end) of each sentence of each text, in characters, without blanks at the ends."""
        ...


@runtime_checkable
class ClaimFinder(Protocol):
    """Finds the parts of a response that are true or false by themselves."""

    name: str

    def find(self, examples: Sequence[Example]) -> list[list[Claim]]:
        """The claims of each response, in order; empty if a response claims nothing."""
        ...


@runtime_checkable
class PersonalFilter(Protocol):
    def personal(self, questions: Sequence[str]) -> list[bool]:
        """For each question, whether its subject is "I", "you" or something that is theirs."""
        ...


@runtime_checkable
class Stances(Protocol):
    """Recognises sentences that state a claim, deny it or leave it open."""

    name: str

    def opposed(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """For each pair, whether the claim and the sentence of the knowledge disagree."""
        ...

    def affirmed(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """For each pair, whether the sentence states the claim."""
        ...


@runtime_checkable
class CoreferenceResolver(Protocol):
    """Replaces each mention by the first mention of the same entity (Q² v1, appendix A)."""

    name: str

    def resolve(self, dialogues: Sequence[Sequence[str]]) -> list[str]:
        """The last turn of each dialogue. Its mentions are resolved with the turns before it."""
        ...


@runtime_checkable
class Metric(Protocol):
    """Scores responses."""

    name: str
    signature: str

    def score(self, examples: Sequence[Example]) -> list[Score]:
        """One score for each example, in order."""
        ...
