"""The data of the package (frozen dataclasses) and the interfaces of its models (protocols)::

    Example -> Span -> Question -> Comparison -> Score      (Q²)
    Example -> Claim -> Judgement -> Score                  (SCALE)

Each object up to Comparison contains the one before, so that a batch can mix many responses.
Models take a batch, and return one in the same order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

Label = Literal["entailment", "neutral", "contradiction"]

How = Literal["equal", "nli", "token_f1", "no_answer", "contradicted"]
"""How two answers were compared (Q², section 2.3). "contradicted": the knowledge differs."""

Reason = Literal["no_claim", "empty", "no_knowledge", "language", "knowledge_language", "fault"]
"""Why a response has no score: "empty" if it is blank, "language" if it is not English,
"knowledge_language" if the knowledge is not, "fault" if the metric failed."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Characters [start, end) of the knowledge."""

    start: int
    end: int
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A generated response and the knowledge that should support it.

    ``history`` is oldest first; ``label`` is the human label (true: supported); ``passages`` has a
    passage for each item of listed knowledge; ``other`` holds the row's other columns. Examples
    that differ only in ``id``, ``label``, ``passages`` and ``other`` are equal, and scored once."""

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


@dataclass(frozen=True, slots=True)
class Span:
    """An informative span of a response: ``response[start:start + len(text)] == text``, with the
    pronouns of the response resolved if Q² does so. ``label``: the entity type, or "" (noun chunk).
    """

    example: Example
    text: str
    start: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A question that Q² rejected: "personal" (about the speakers), or "round_trip" (the reader
    found ``answer`` in the response instead of the span). Its span has no valid question."""

    question: Question
    reason: Literal["personal", "round_trip"]
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A reader's answer. ``start`` is a character of the text, ``None`` if built from tokens.
    ``score`` is the answer's start and end logits minus those of "no answer"."""

    text: str
    start: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Probabilities of an entailment model, with sum 1. For a Yes/No model, ``neutral`` is the
    probability of "No", and ``contradiction`` is 0."""

    entailment: float
    neutral: float
    contradiction: float = 0.0

    @property
    def label(self) -> Label:
        """The most probable class. In a tie, the order is entailment, neutral, contradiction."""
        labels: tuple[Label, ...] = ("entailment", "neutral", "contradiction")
        return max(labels, key=lambda label: float(getattr(self, label)))

    def mean(self, other: Verdict, share: float) -> Verdict:
        """The mean of both, in which this verdict has the weight ``share``."""
        return Verdict(*(share * mine + (1 - share) * theirs for mine, theirs in zip(
            astuple(self), astuple(other), strict=True)))


class Evidence:
    """What a score was computed from. A kind of evidence is a frozen dataclass of this class, whose
    attributes are texts, numbers, booleans or tuples of texts.

    The cache and the output rows get their fields from the class. Terminal, page and frameworks
    show its text (``__str__``). A metric names it in its entry (``Entry.details``)."""

    __slots__ = ()
    kinds: ClassVar[dict[str, type[Evidence]]] = {}
    """By the name in the cache."""

    def __init_subclass__(cls) -> None:
        Evidence.kinds[cls.kind_name()] = cls

    @classmethod
    def kind_name(cls) -> str:
        own = cls.__module__ == Evidence.__module__
        return cls.__name__.lower() if own else f"{cls.__module__}:{cls.__name__}"


@dataclass(frozen=True, slots=True)
class Comparison(Evidence):
    """A question with its answers from response and knowledge, and its score in [0, 1].

    ``knowledge_answer`` is ``None`` if the knowledge has no answer, ``knowledge_start`` its first
    character. ``f1`` is the token F1 of the answers, the score in "Q² without NLI". ``verdict`` is
    ``None`` if NLI was not needed."""

    question: Question
    response_answer: str
    knowledge_answer: str | None
    f1: float
    verdict: Verdict | None
    how: How
    score: float
    knowledge_start: int | None = None

    def __str__(self) -> str:
        known = "no answer" if self.knowledge_answer is None else f'"{self.knowledge_answer}"'
        return (f'{self.score:.3f} {self.question.text} response: "{self.response_answer}", '
                f"knowledge: {known}")


ClaimKind = Literal["sentence", "clause", "relative", "apposition", "item", "cell", "answer"]
"""The part of a response that is the claim. "answer": a short answer, read with its question."""

Decision = Literal["supported", "contradicted", "not found", "not checked"]
"""With "not checked", the knowledge was not searched for the claim."""

Ruling = Literal["supported", "contradicted"]
"""What rules on values decide about a claim."""

Citation = Literal["right", "wrong passage", "unsupported", "none"]
"""Which passages support a claim: a cited one, only others, or none; "none": it cites nothing."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A part of a response, its characters [start, end), that is true or false by itself.

    ``text`` is what the judge reads: with the subject ("The inn allows pets." from "The inn has 12
    rooms and allows pets.") and without a frame such as "I know that". Claims are ordered by
    their ends and may be nested."""

    text: str
    start: int
    end: int
    kind: ClaimKind = "sentence"


@dataclass(frozen=True, slots=True)
class Judgement(Evidence):
    """How far the knowledge supports a claim (``support`` in [0, 1]).

    ``passage`` is the sentence of the knowledge that best explains the verdict (``None`` if not
    searched), ``passage_start`` its first character, ``passage_number`` its line (from 1, without
    blank lines), ``passage_support`` how far it alone supports the claim. ``cites`` names the cited
    passages; ``citation`` is ``None`` if the response cites nothing. ``ruling`` set the verdict;
    with ``None``, the model did."""

    claim: Claim
    support: float
    verdict: Decision
    passage: str | None = None
    passage_start: int | None = None
    passage_number: int | None = None
    passage_support: float | None = None
    cites: tuple[str, ...] = ()
    citation: Citation | None = None
    ruling: Ruling | None = None

    def __str__(self) -> str:
        return f"{self.support:.3f} {self.verdict}: {self.claim.text}"


@dataclass(frozen=True, slots=True)
class Part(Evidence):
    """An input of a combined score. ``contribution``: what it adds to the logit, over its mean."""

    name: str
    value: float
    contribution: float

    def __str__(self) -> str:
        return f"{contribution_words(self.contribution)}: {PARTS.get(self.name, self.name)}"


PARTS = {
    "weakest_third": "mean support of the weakest third of the claims",
    "weakest": "support of the weakest claim",
    "numbers": "share of a claim's numbers found in the knowledge",
    "rules": "limit set by rules on numbers",
}
"""By input of the groundedness score."""

_SIZES = ((0.75, "a lot"), (0.2, "somewhat"), (0.0, "a little"))
"""(Least change of the score's logit, words for it)."""


def contribution_words(contribution: float | None) -> str:
    """Says how much an input changed the logit of a groundedness score. ``None`` counts as 0.

    >>> contribution_words(-0.9)
    'lowers the score a lot'
    """
    contribution = contribution or 0.0
    size = next(words for least, words in _SIZES if abs(contribution) >= least)
    return f"{'lowers' if contribution < 0 else 'raises'} the score {size}"


@dataclass(frozen=True, slots=True, repr=False)
class Score:
    """A response's score in [0, 1] and its evidence. As a text, it has a line for each claim and
    question.

    ``value`` is ``None`` if the metric does not apply or failed; ``reason`` says why. ``fallback``
    is true if Q² had no question, so that NLI judged the response as a whole; ``verdict`` is then
    NLI's. ``no_nli`` is "Q² without NLI" (token F1 only). ``consistent`` is true if the score is
    above a calibration's threshold. ``dropped`` has at most one question for each span."""

    example: Example
    value: float | None
    evidence: tuple[Evidence, ...] = ()
    fallback: bool = False
    no_nli: float | None = None
    verdict: Verdict | None = None
    consistent: bool | None = None
    reason: Reason | None = None
    dropped: tuple[Dropped, ...] = ()

    def __repr__(self) -> str:
        return f"Score({self._short}, {len(self.evidence)} pieces of evidence)"

    def __str__(self) -> str:
        return "\n".join([self._short, *(str(item) for item in self.evidence
                                         if not isinstance(item, Part))])

    @property
    def _short(self) -> str:
        if self.value is None:
            return f"no score: {self.reason}" if self.reason else "no score"
        return f"{self.value:.3f}"


@dataclass(frozen=True, slots=True)
class SystemScore:
    """A system's score: the mean of the scores of ``n`` responses.

    ``interval`` is the 95 % bootstrap percentile interval of the mean. ``coverage`` is the share of
    responses with a valid question, ``fallback`` the share judged by end-to-end NLI instead,
    ``no_claim`` the share that claims nothing or is blank, ``no_answer_rate`` the share of
    questions that the knowledge does not answer. A share is ``None`` for metrics without it."""

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


class SpanFinder(Protocol):
    """Finds the informative spans (names, noun phrases) of responses."""

    name: str

    def find(self, examples: Sequence[Example]) -> list[list[Span]]:
        """In text order. No two spans have the same position."""


class QuestionGenerator(Protocol):
    """Writes questions whose answer is a given span."""

    name: str

    def generate(self, spans: Sequence[Span]) -> list[list[str]]:
        """For each span, best first; may be empty."""


class Reader(Protocol):
    """Answers questions with a span of a text, or with "no answer"."""

    name: str

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Answer | None]:
        """The answer to each (question, text) pair; ``None`` if the text does not answer it."""


class Entailment(Protocol):
    """Judges whether a hypothesis follows from a premise."""

    name: str

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """A verdict for each (premise, hypothesis)."""


class Backbone(Entailment, Protocol):
    """An entailment model whose tokens SCALE can count, to cut the knowledge into equal chunks."""

    prompt: str
    """The template for chunk and sentence; "" for a cross-encoder."""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of the model's tokens in ``text``, without special tokens."""


@runtime_checkable
class Cascade(Backbone, Protocol):
    """A backbone of two models. The first is faster, and can choose what both judge."""

    first: Entailment

    def review(
        self, pairs: Sequence[tuple[str, str]], verdicts: Sequence[Verdict], share: float,
    ) -> list[Verdict]:
        """The verdicts of both models. ``first`` gave ``verdicts``, and its weight is ``share``."""


@runtime_checkable
class PromptBackbone(Backbone, Protocol):
    """A backbone that can also cut a document into chunks itself, by the length of its prompts."""

    def judge_long(
        self, pairs: Sequence[tuple[str, str]], chunk_size: int, overlap: float
    ) -> list[Verdict]:
        """For each (document, sentence), the verdict of the chunk with the highest support."""


class PersonalFilter(Protocol):
    def personal(self, questions: Sequence[str]) -> list[bool]:
        """True for each question whose subject is "I", "you" or something of theirs ("my dog")."""


class CoreferenceResolver(Protocol):
    """Replaces pronouns by the first mention of what they refer to (Q² v1, appendix A)."""

    name: str

    def resolve(self, dialogues: Sequence[Sequence[str]]) -> list[str]:
        """The last turn of each dialogue, with mentions such as pronouns replaced."""


@runtime_checkable
class Metric(Protocol):
    name: str
    signature: str

    def score(self, examples: Sequence[Example]) -> list[Score]:
        ...
