"""Where ParlAI's tasks keep the text that a response should be grounded in.

:data:`SOURCES` has one row for each known task. For other tasks, users name the message field that
contains the knowledge with ``--q2-knowledge-field``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from q2_metric.errors import InputError
from q2_metric.text.given import encodable, is_blank

Act = Mapping[str, Any]
"""A teacher's message: ``text``, ``labels`` and the task's own fields."""

Extract = Callable[[Any, Act], Sequence[str]]
"""A function from (teacher, its last message) to pieces of knowledge; the list may be empty."""

NOTHING = frozenset(
    {
        "no_passages_used",
        "no_passages_used no_passages_used",
        "__no_passages_used__",
        "__noretrieved-docs__",
        "__noselected-docs__",
    }
)
"""The texts that tasks write if the human used no knowledge."""

GUESSED = ("checked_sentence", "knowledge")
"""Fields to try for a task that has no row in the table."""


@dataclass(frozen=True)
class KnowledgeFields:
    """Where a task keeps its knowledge.

    Gold knowledge is what the human chose; all knowledge is everything that the human was shown.
    """

    gold: Extract
    all: Extract


def pieces(value: object) -> list[str]:
    """The texts in a field. The field holds a string, a list of strings, or a dict whose values are
    texts."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Iterable):
        return [item for item in value if isinstance(item, str)]
    return []


def _field(*names: str) -> Extract:
    """A function that returns the value of the first of these fields that a message has."""

    def extract(teacher: Any, act: Act) -> Sequence[str]:
        return next((pieces(act[name]) for name in names if name in act), [])

    return extract


def _wow_candidates(teacher: Any, act: Act) -> Sequence[str]:
    # Each line is "title __knowledge__ sentence". The dialogue teachers leave the mark out. Then
    # the title stays, because it cannot be distinguished from the sentence.
    lines = [line for value in pieces(act.get("knowledge")) for line in value.split("\n")]
    return [line.partition(" __knowledge__ ")[2] or line for line in lines]


def _holl_e(teacher: Any, act: Act) -> Sequence[str]:
    # Only the first message of an episode shows the document; the teacher always has it.
    return [teacher.episodes[teacher.episode_idx][0]]


def _natural_questions(teacher: Any, act: Act) -> Sequence[str]:
    if "checked_sentence" in act:  # NaturalQuestionsOpen
        return pieces(act["checked_sentence"])
    context, newline, _ = str(act.get("text", "")).rpartition("\n")  # "context\nquestion?"
    return [context] if newline else []


def _funpedia(teacher: Any, act: Act) -> Sequence[str]:
    if not hasattr(teacher, "entries"):  # SentencechooseTeacher has no grounded responses
        return []
    return [teacher.entries[teacher.episode_idx]["passage"]]


SOURCES: Mapping[str, KnowledgeFields] = {
    "wizard_of_wikipedia": KnowledgeFields(_field("checked_sentence"), _wow_candidates),
    "cmu_dog": KnowledgeFields(_field("checked_sentence"), _field("available_knowledge_text")),
    "wizard_of_internet": KnowledgeFields(
        _field("__selected-sentences__"), _field("__retrieved-docs__", "__selected-docs__")
    ),
    "topical_chat": KnowledgeFields(_field(*GUESSED), _field("knowledge", "checked_sentence")),
    "holl_e": KnowledgeFields(_holl_e, _holl_e),
    "natural_questions": KnowledgeFields(_natural_questions, _natural_questions),
    "funpedia": KnowledgeFields(_funpedia, _funpedia),
}
"""Sources by task name, as in ``-t``: ``parlai.tasks.NAME``."""

_OTHER = KnowledgeFields(_field(*GUESSED), _field(*reversed(GUESSED)))


def source_of(teacher: Any) -> KnowledgeFields:
    """The row of :data:`SOURCES` for a teacher.

    It is the row of the teacher's nearest base class that is a known ParlAI task.
    """
    for cls in type(teacher).__mro__:
        package = cls.__module__.split(".")
        if package[:2] == ["parlai", "tasks"] and package[2] in SOURCES:
            return SOURCES[package[2]]
    return _OTHER


def knowledge_of(teacher: Any, act: Act, *, which: str = "gold", field: str | None = None) -> str:
    """The knowledge of an example, with its pieces joined by newlines; "" if there is no knowledge.

    Args:
        teacher: the teacher that sent the example.
        act: the message of the example.
        which: "gold" for the knowledge that the human chose, "all" for all that the human was
            shown.
        field: a field of the message that is read instead of the task's usual fields.
    """
    if field:
        texts: Sequence[str] = pieces(act.get(field))
    else:
        source = source_of(teacher)
        texts = source.all(teacher, act) if which == "all" else source.gold(teacher, act)
    return "\n".join(text for text in texts if text.strip() not in NOTHING and usable(text))


def usable(text: object) -> bool:
    """Whether ``q2 score`` would score a text.

    The text must be a string in valid Unicode that contains a visible character.
    """
    if not isinstance(text, str) or is_blank(text):
        return False
    try:
        encodable(text, "it")
    except InputError:
        return False
    return True


_PREPENDED = re.compile(r"__knowledge__.*?__endknowledge__\s*", re.DOTALL)


class History:
    """The turns before each response, oldest first. Each teacher has its own history."""

    def __init__(self) -> None:
        self._turns: list[str] = []

    def before(self, teacher: Any, act: Act, knowledge: str) -> tuple[str, ...]:
        """The turns of the dialogue up to and including this message, oldest first.

        Some tasks put the knowledge into the message text; this knowledge is removed.
        """
        if getattr(teacher, "entry_idx", None) == 0 and not getattr(teacher, "stream", False):
            self._turns.clear()  # the last episode may have been cut short
        text = _PREPENDED.sub("", str(act.get("text", "")))
        shown = set(knowledge.split("\n"))
        turns = [line.strip() for line in text.split("\n") if line not in shown]
        self._turns += [line for line in turns if usable(line)]
        return tuple(self._turns)

    def after(self, act: Act, labels: Sequence[str]) -> None:
        """Adds the human's reply to the history. If the episode has ended, clears the history."""
        self._turns += [label for label in labels[:1] if usable(label)]
        if act.get("episode_done"):
            self._turns.clear()
