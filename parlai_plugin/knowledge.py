"""Finds the knowledge of an example: the text that should support the response.

:data:`SOURCES` says for each known ParlAI task where its messages contain the knowledge. For other
tasks, the user names the field of the messages with ``--q2-knowledge-field``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from q2_metric.errors import InputError
from q2_metric.text.given import encodable, is_blank

Act = Mapping[str, Any]
"""A message of a teacher (ParlAI's class for a task's data): ``text``, ``labels`` and the task's
own fields."""

Extract = Callable[[Any, Act], Sequence[str]]
"""A function ``extract(teacher, message)`` that returns the knowledge of the message as a list of
texts. The list may be empty."""

NOTHING = frozenset([
    "no_passages_used", "no_passages_used no_passages_used", "__no_passages_used__",
    "__noretrieved-docs__", "__noselected-docs__"])
"""Texts that tasks write in place of knowledge if the human used none."""

GUESSED = ("checked_sentence", "knowledge")
"""Fields in which knowledge is looked for if the task is not in :data:`SOURCES`."""


class KnowledgeFields(NamedTuple):
    """Two functions of a task's message: ``gold`` returns the knowledge that the human chose for
    the reply, and ``all`` returns all knowledge that the human was shown."""

    gold: Extract
    all: Extract


def pieces(value: object) -> list[str]:
    """The texts in the value of a field: a string, a list of strings, or a dict of strings."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Iterable):
        return [item for item in value if isinstance(item, str)]
    return []


def _field(*names: str) -> Extract:
    """A function that returns the texts of the first of these fields that the message contains."""
    return lambda teacher, act: next((pieces(act[name]) for name in names if name in act), [])


def _wow_candidates(teacher: Any, act: Act) -> Sequence[str]:
    # Each line is "title __knowledge__ sentence". Some teachers leave the mark __knowledge__ out.
    # Then the title stays in the text, because nobody can tell where it ends.
    lines = [line for value in pieces(act.get("knowledge")) for line in value.split("\n")]
    return [line.partition(" __knowledge__ ")[2] or line for line in lines]


def _holl_e(teacher: Any, act: Act) -> Sequence[str]:
    # The messages contain the document only at the start of an episode. The teacher always has it.
    return [teacher.episodes[teacher.episode_idx][0]]


def _natural_questions(teacher: Any, act: Act) -> Sequence[str]:
    if "checked_sentence" in act:  # NaturalQuestionsOpen
        return pieces(act["checked_sentence"])
    context, newline, _ = str(act.get("text", "")).rpartition("\n")  # "context\nquestion?"
    return [context] if newline else []


def _funpedia(teacher: Any, act: Act) -> Sequence[str]:
    if not hasattr(teacher, "entries"):  # the responses of SentencechooseTeacher use no knowledge
        return []
    return [teacher.entries[teacher.episode_idx]["passage"]]


SOURCES: Mapping[str, KnowledgeFields] = {
    "wizard_of_wikipedia": KnowledgeFields(_field("checked_sentence"), _wow_candidates),
    "cmu_dog": KnowledgeFields(_field("checked_sentence"), _field("available_knowledge_text")),
    "wizard_of_internet": KnowledgeFields(
        _field("__selected-sentences__"), _field("__retrieved-docs__", "__selected-docs__")),
    "topical_chat": KnowledgeFields(_field(*GUESSED), _field("knowledge", "checked_sentence")),
    "holl_e": KnowledgeFields(_holl_e, _holl_e),
    "natural_questions": KnowledgeFields(_natural_questions, _natural_questions),
    "funpedia": KnowledgeFields(_funpedia, _funpedia),
}
"""By name of the task (``parlai.tasks.NAME``), the functions that return its knowledge."""

_OTHER = KnowledgeFields(_field(*GUESSED), _field(*reversed(GUESSED)))


def source_of(teacher: Any) -> KnowledgeFields:
    """The functions that return the knowledge of a teacher's messages: those of its nearest base
    class that belongs to a task in :data:`SOURCES`."""
    for cls in type(teacher).__mro__:
        package = cls.__module__.split(".")
        if package[:2] == ["parlai", "tasks"] and package[2] in SOURCES:
            return SOURCES[package[2]]
    return _OTHER


def knowledge_of(teacher: Any, act: Act, *, which: str = "gold", field: str | None = None) -> str:
    """The knowledge of a teacher's message: what the human chose (``which="gold"``) or all that the
    human was shown (``which="all"``). If ``field`` is given, this field of the message is read
    instead. Several texts are joined by line breaks. "" if there is none."""
    if field:
        texts: Sequence[str] = pieces(act.get(field))
    else:
        source = source_of(teacher)
        texts = source.all(teacher, act) if which == "all" else source.gold(teacher, act)
    return "\n".join(text for text in texts if text.strip() not in NOTHING and usable(text))


def usable(text: object) -> bool:
    """Whether a value is a text that can be scored: a string of valid Unicode with a visible
    character."""
    with suppress(InputError):
        return isinstance(text, str) and not is_blank(encodable(text, "it"))
    return False


_PREPENDED = re.compile(r"__knowledge__.*?(?:__endknowledge__\s*|(\Z))", re.DOTALL)
"""Matches knowledge that a task puts into a text. If its end is missing, the match extends to the
end of the text, and the group matches. So a text is read only once."""


class History:
    """Collects the turns of the current dialogue of a teacher, oldest first."""

    def __init__(self) -> None:
        self._turns: list[str] = []

    def before(self, teacher: Any, act: Act, knowledge: str) -> tuple[str, ...]:
        """Adds a message to the dialogue. Returns all turns so far, oldest first, without the
        knowledge that some tasks put into the text of the message."""
        if getattr(teacher, "entry_idx", None) == 0 and not getattr(teacher, "stream", False):
            self._turns.clear()  # the episode before may have stopped early
        text = _PREPENDED.sub(lambda match: "" if match[1] is None else match[0],
                              str(act.get("text", "")))
        shown = set(knowledge.split("\n"))
        self._turns += [line.strip() for line in text.split("\n")
                        if line not in shown and usable(line)]
        return tuple(self._turns)

    def after(self, act: Act, labels: Sequence[str]) -> None:
        """Adds the human's reply (``labels[0]``) to the dialogue, and clears the dialogue if the
        message ``act`` ends the episode."""
        self._turns += [label for label in labels[:1] if usable(label)]
        if act.get("episode_done"):
            self._turns.clear()
