"""The data of knowledge selection, and the protocols of rankers and detectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

from q2_metric.errors import InputError

USER, SYSTEM = "U", "S"

Key = tuple[str, str, str]
"""The key of a snippet: (domain, entity id, doc id)."""

TOP = 5
"""Number of snippets that a ranker returns by default (Bae et al., section 3.1)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """``speaker`` is "U" (user), "S" (system) or "". ``hypotheses``: best first."""

    text: str
    speaker: str = ""
    hypotheses: tuple[str, ...] = ()

    @property
    def readings(self) -> tuple[str, ...]:
        return (self.text, *self.hypotheses)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns of a dialogue, at least one, oldest first. The last turn is to be answered."""

    turns: tuple[Turn, ...]
    id: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not any(turn.text.strip() for turn in self.turns):
            raise InputError(f"dialogue {self.id or ''}".rstrip() + ": has no text")

    @classmethod
    def of(cls, *texts: str, id: str | None = None) -> Self:
        """Creates a dialogue whose speakers alternate; the last turn is the user's."""
        turns = (Turn(text, USER if (len(texts) - i) % 2 else SYSTEM)
                 for i, text in enumerate(texts))
        return cls(tuple(turns), id)

    @property
    def last(self) -> Turn:
        """The user's last turn, or the last turn if no turn is the user's."""
        spoken = [turn for turn in self.turns if turn.text.strip()]
        return next((turn for turn in reversed(spoken) if turn.speaker == USER), spoken[-1])


@dataclass(frozen=True, slots=True)
class Snippet:
    """An answer, and the question that it answers ("" for a plain passage). ``domain`` is "" if the
    pool has none. ``entity_name`` is ``None`` for a snippet about a whole domain ("taxi")."""

    domain: str
    entity_id: str
    entity_name: str | None
    doc_id: str
    question: str
    answer: str

    @property
    def key(self) -> Key:
        return (self.domain, self.entity_id, self.doc_id)

    @property
    def text(self) -> str:
        """Question and answer, as models and metrics read them."""
        return f"{self.question} {self.answer}".strip()

    @property
    def subject(self) -> str:
        """What the snippet is about, as dialogues say it."""
        return self.entity_name or self.domain


class Pool:
    """The snippets from which a ranker chooses, in order; errors name ``source``. Two pools are
    never equal, so that an index can be cached for each. InputError: the pool is empty, a snippet
    has no answer, or a key occurs twice."""

    def __init__(self, snippets: Sequence[Snippet], source: str = "the pool") -> None:
        self.snippets = tuple(snippets)
        self.source = source
        if not self.snippets:
            raise InputError(f"{source}: has no snippets; there is nothing to choose from")
        self.by_key: dict[Key, Snippet] = {}
        for snippet in self.snippets:
            name = f"{source}: snippet {'/'.join(filter(None, snippet.key))}"
            if not snippet.answer.strip():
                raise InputError(f"{name} has no answer (body)")
            if snippet.key in self.by_key:
                raise InputError(f"{name} occurs twice")
            self.by_key[snippet.key] = snippet

    def __len__(self) -> int:
        return len(self.snippets)

    def __iter__(self) -> Iterator[Snippet]:
        return iter(self.snippets)

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(snippet.domain for snippet in self.snippets))

    def find(self, key: Key, where: str = "") -> Snippet:
        """The snippet with this key. InputError (with ``where``): no such domain, entity or doc."""
        if key in self.by_key:
            return self.by_key[key]
        domain, entity, doc = key
        problem = f"{self.source} has no doc {doc!r} of entity {entity!r} of {domain!r}"
        if domain not in self.domains:
            problem = (f"unknown domain {domain!r}; the domains of {self.source} are "
                       f"{', '.join(self.domains)}")
        elif all(known[:2] != key[:2] for known in self.by_key):
            problem = f"{self.source} has no entity {entity!r} of {domain!r}"
        raise InputError(f"{where}: {problem}" if where else problem)


class Ranked(NamedTuple):
    """Higher scores are better. Only scores in the same ranking can be compared."""

    snippet: Snippet
    score: float


class Ranker(Protocol):
    """Orders snippets by how well they answer the last turn of a dialogue."""

    name: str

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """At most ``k`` snippets for each dialogue, best first. ``k`` must be at least 1."""
        ...


class Detector(Protocol):
    """Finds the dialogues whose last turn needs knowledge (DSTC9 track 1, subtask 1)."""

    name: str

    def detect(self, dialogues: Sequence[Dialogue]) -> list[float]:
        """P(the last turn needs knowledge) for each dialogue. A value above 0.5 means yes."""
        ...
