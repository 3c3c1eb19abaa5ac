"""Records (the rows of a file as they were read), and the texts, passages and chats in their cells,
in the forms that RAG and chat libraries write:

texts          a string; a list of strings; in csv also ``"['a', 'b']"`` or ``'["a", "b"]'``
documents      LangChain (``page_content``, ``metadata``), Haystack (``content``, ``meta``)
nodes          LlamaIndex (``text``, ``id_``), alone or in ``{"node": ..., "score": ...}``
chats          OpenAI (``role``), LangChain (``type``), ShareGPT (``from``); the content may be
               a list of parts, also those of OpenTelemetry (``parts``)
"""

import ast
import io
import json
import tokenize
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.files import parse_json
from q2_metric.text.given import absent, all_text, kind, missing

LONGEST_LINE = 64 * 2**20
"""In bytes. Without it, a stream without line ends would fill the memory."""


@dataclass(frozen=True, slots=True)
class Record:
    """A row as it was read from its file. ``where`` is its place, such as "a.jsonl, line 3".
    ``problem`` says why it cannot be read. ``note`` is a warning about a row that can be read."""

    where: str
    fields: Mapping[str, object]
    problem: str | None = None
    note: str | None = None


def value_of(fields: Mapping[str, object], column: str) -> object:
    """The value of a column in a row; ``None`` if the row lacks the column.

    >>> value_of({"outputs": {"answer": "Rome"}}, "outputs.answer")
    'Rome'
    """
    if column in fields:
        return fields[column]
    value: object = fields
    for part in column.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def are_numbers(ids: Sequence[str]) -> bool:
    """Whether ids are only row numbers: 1, 2, …, as for a file without ids, or 0, 1, …"""
    start = 0 if ids[:1] == ["0"] else 1
    return all(id_ == str(number) for number, id_ in enumerate(ids, start))


def repeated(names: Sequence[str]) -> str | None:
    return next((name for name, times in Counter(names).items() if times > 1), None)


def unfolded(value: object) -> object:
    """The list or object in a text of JSON or Python. Other values are returned unchanged.

    >>> unfolded("['a', None]"), unfolded('["a"]'), unfolded("[1] a note")
    (['a', None], ['a'], '[1] a note')
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text.startswith(("[", "{")) or not text.endswith(("]", "}")):
        return value
    parsed = _parsed(text)
    items = parsed if isinstance(parsed, list) else [parsed]
    readable = all(item is None or isinstance(item, (str, dict)) for item in items)
    return parsed if isinstance(parsed, (list, dict)) and readable else value


def looks_folded(value: object) -> bool:
    """Whether a text looks like a list, although :func:`unfolded` cannot parse it.

    >>> looks_folded("[Document(page_content='a')]"), looks_folded("[laughs] Yes [laughs]")
    (True, False)
    """
    text = value.strip() if isinstance(value, str) else ""
    begins = text.startswith(("['", '["', "[{", "[Document(", "[TextNode(", "[NodeWithScore("))
    return begins and text.endswith("]") and unfolded(value) is value


def _parsed(text: str) -> object:
    with suppress(ValueError, RecursionError):
        return parse_json(text)
    # Python's parser limits nesting.
    if any(bracket * 100 in text.replace(" ", "") for bracket in "[{(-+~"):
        return None
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError):
        parsed = ast.literal_eval(text)
        if not isinstance(parsed, list) or not all_text(parsed):
            return parsed
        # numpy prints arrays without commas, and Python joins adjacent string literals.
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return [ast.literal_eval(token.string) for token in tokens
                if token.type == tokenize.STRING] or parsed
    return None


_TEXTS = ("page_content", "text", "content", "passage", "chunk", "document", "snippet", "body")
"""Keys of a document's text."""

_IDS = ("id", "id_", "node_id", "doc_id", "document_id", "chunk_id", "passage_id", "_id", "docid",
        "source", "file_name", "url", "title", "name")
"""Keys of a document's id, also in its metadata."""

_INSIDE = ("node", "kwargs", "__data__", "text_resource", "document")
"""Keys of the document in an object of LlamaIndex, LangChain (``dumpd``) or a search engine."""

_ABOUT = ("metadata", "meta", "extra_info")


def passages_of(value: object, where: str) -> list[tuple[str | None, str | None]]:
    """The passages in a cell (a text, a document, or a list of these), each as (text, id). A
    missing passage has the text ``None``, so that later passages keep their numbers. Raises
    InputError, whose message names the field ``where``, if the value has another form."""
    as_given, value = value, unfolded(value)
    if isinstance(as_given, str) and isinstance(value, Mapping) and text_of(value) is None:
        return [(as_given, None)]  # the knowledge is JSON
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # vector stores return a list for each query
    passages: list[tuple[str | None, str | None]] = []
    for number, item in enumerate(value if isinstance(value, list) else [value], start=1):
        if isinstance(item, Mapping):
            if (text := text_of(item)) is None:
                place = f"{where}, item {number}" if isinstance(value, list) else where
                keys = ", ".join(map(repr, list(item)[:8])) or "no key"
                raise InputError(f"{place} is an object without a text: its fields are {keys}, "
                                 f"and none of them is {', '.join(_TEXTS)}")
            passages.append((text, _id_of(item)))
        elif isinstance(item, str) or absent(item):
            passages.append((item if isinstance(item, str) else None, None))
        else:
            raise InputError(f"{where} is {kind(value)}, not a string or a list of strings")
    return passages


def text_of(item: Mapping[str, Any]) -> str | None:
    """The text of a document; ``None`` if the object is no document."""
    for key in _TEXTS:
        if isinstance(text := item.get(key), str):
            return text
    inside = (item[key] for key in _INSIDE if isinstance(item.get(key), Mapping))
    return next((text for one in inside if (text := text_of(one)) is not None), None)


def _id_of(item: Mapping[str, Any]) -> str | None:
    inside = [item[key] for key in (*_ABOUT, *_INSIDE) if isinstance(item.get(key), Mapping)]
    own = item if "lc" not in item else {}  # if there is a key "lc", "id" is the name of a class
    for key in _IDS:
        value = own.get(key)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
            return str(value).encode("utf-8", "replace").decode()
    return next((found for one in reversed(inside) if (found := _id_of(one)) is not None), None)


Role = Literal["user", "assistant", "system", "tool", ""]

_ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("user", "human", "customer", "prompter"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "gpt", "chatgpt", "chatbot"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "ipython"), "tool"),
}


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """A turn of a dialogue. ``role`` is "" if the speaker is unknown."""

    role: Role
    text: str


def is_chat(value: object) -> bool:
    """Whether a cell is a list of messages, each with the role of its speaker."""
    value = unfolded(value)
    return (isinstance(value, list) and bool(value)
            and all(isinstance(item, Mapping) and _role(item) for item in value))


def turns_of(value: object, where: str) -> list[DialogueTurn]:
    """The turns in a cell: a text with one turn on each line, or a list of texts and messages.
    Raises InputError if the value has another form. ``where`` names the field in the message."""
    value = unfolded(value)
    if missing(value):
        return []
    if isinstance(value, str):
        return [DialogueTurn("", line) for line in value.splitlines()]
    turns: list[DialogueTurn] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            turns.append(DialogueTurn("", item))
        elif isinstance(item, Mapping) and isinstance(value, list):
            turns += _message(item, where)
        elif not absent(item):
            raise InputError(f"{where} is {kind(value)}, not a string or a list of strings")
    return turns


def _role(item: Mapping[str, Any]) -> Role:
    item = _opened(item)
    said = next((item[key] for key in ("role", "from", "type") if isinstance(item.get(key), str)),
                "")
    return _ROLES.get(said.lower(), "")


def _opened(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """In a message that LangChain serialised, the fields are in an inner object."""
    for key in ("kwargs", "data"):
        if isinstance(inside := item.get(key), Mapping):
            return {"type": item.get("type"), **inside}
    return item


def _message(item: Mapping[str, Any], where: str) -> list[DialogueTurn]:
    """Converts a message to turns: one for each tool result in it, then one for its own text."""
    opened = _opened(item)
    content = next((opened[key] for key in ("content", "value", "text", "parts")
                    if opened.get(key) is not None), None)
    texts, tools = [], []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, Mapping) and part.get("type") == "tool_result":
            tools += [DialogueTurn("tool", turn.text) for turn in _message(
                {"content": part.get("content")}, where)]
        elif isinstance(part, Mapping) and part.get("type") == "tool_call_response":
            said = part.get("response", part.get("result"))
            tools.append(DialogueTurn("tool", said if isinstance(said, str) else json.dumps(said)))
        elif isinstance(part, Mapping):  # pictures, thoughts and tool calls have no text
            said = part.get("text", part.get("content") if part.get("type") == "text" else None)
            texts += [said] if isinstance(said, str) else []
        elif isinstance(part, str):
            texts.append(part)
        elif not absent(part):
            raise InputError(f"{where} has a message whose content is {kind(content)}, "
                             "not a string or a list of parts")
    return [*tools, DialogueTurn(_role(item), "\n".join(texts))]


def response_at(turns: Sequence[DialogueTurn]) -> int | None:
    """The index of the assistant's last turn that is not blank."""
    return max((place for place, turn in enumerate(turns)
                if turn.role == "assistant" and turn.text.strip()), default=None)


def kept(value: object) -> Any:
    """Converts a value of a column from which no field is read to a JSON value.

    Times, NaN and Infinity become text. ``None`` if the value is missing, is bytes, or is longer as
    JSON than 10,000 characters, as vectors and pictures are.

    >>> kept([1, float("inf")]), kept("Rome")
    ([1, 'Infinity'], 'Rome')
    """
    if absent(value) or isinstance(value, (bytes, bytearray)):
        return None
    with suppress(ValueError, TypeError, RecursionError):
        text = json.dumps(value, default=str, ensure_ascii=False)
        if len(text) <= 10_000:
            return json.loads(text.encode("utf-8", "replace"), parse_constant=str)
    return None
