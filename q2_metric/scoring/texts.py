"""Turns the texts of a framework's row into examples, with one rule for missing texts.

``None``, NaN (which pandas writes) and a list without a text are missing: a missing response or
missing knowledge counts as blank, a missing history has no turns. So a row keeps its position, and
its score has a reason instead of a value. Any other value that is not a text is an error."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeGuard

from q2_metric.errors import InputError
from q2_metric.rows.read import joined
from q2_metric.text.given import encodable, kind, missing
from q2_metric.types import Example


def check_text(value: object, where: str) -> str:
    """Returns a valid text; else InputError. ``where`` names a value in error messages."""
    if not isinstance(value, str):
        raise InputError(f"{where} is {kind(value)}, not a string")
    return encodable(value, where)


def check_texts(value: object, where: str) -> list[str]:
    """Converts a text or a list of texts (else InputError) to a list without missing texts."""
    if missing(value):
        return []
    if not _several(value):
        return [check_text(value, where)]
    return [check_text(item, f"{where}[{i}]") for i, item in enumerate(value) if not missing(item)]


def check_response(value: object, where: str) -> str:
    """Returns the response, or "" if it is missing. InputError: it is not a text."""
    return "" if missing(value) else check_text(value, where)


def field_of(fields: Mapping[str, Any], name: str, where: str) -> Any:
    """The value of a field. InputError: ``where``, which has these ``fields``, lacks it."""
    if name not in fields:
        there = ", ".join(map(str, fields)) or "none"
        raise InputError(f"{where} has no field {name!r}; its fields are {there}")
    return fields[name]


def check_column(values: object, where: str) -> list[Any]:
    """Converts a column to a list with one value for each row. InputError: ``values`` is a single
    text, has no order, or has several columns."""
    if not _several(values) or getattr(values, "ndim", 1) != 1:
        raise InputError(f"{where} is {kind(values)}, not a list with an item for each response")
    return list(values)


def check_columns(columns: Mapping[str, object]) -> dict[str, list[Any]]:
    """Converts columns to lists (:func:`check_column`). InputError: their lengths differ."""
    there = {name: check_column(values, name) for name, values in columns.items()}
    if len(set(map(len, there.values()))) > 1:
        sizes = ", ".join(f"{len(values)} {name}" for name, values in there.items())
        raise InputError(f"each response needs its own texts, but there are {sizes}")
    return there


def _several(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, (str, Mapping, Set))


def example(response: str, knowledge: Sequence[str], history: Sequence[str] = (),
            question: str | None = None, *, listed: bool | None = None) -> Example:
    """Builds an example. Several passages of knowledge become one text. Blank turns are left out.

    ``listed`` says what the numbers in citations such as "[2]" count: the items of ``knowledge``
    (true, the default for several items) or the lines of the whole text (false).
    """
    text, places = joined([(passage, None) for passage in knowledge])
    listed = len(places) > 1 if listed is None else listed
    return Example(response, text, tuple(turn for turn in history if turn.strip()),
                   question=question, passages=places if listed else ())


def given(response: object, knowledge: object, history: object, where: str,
          question: object = None) -> Example:
    """Builds an example from a framework's row. ``knowledge`` is a text or a list of passages.
    InputError: a value is neither a text nor missing."""
    return example(
        check_response(response, f"the response of {where}"),
        check_texts(knowledge, f"the knowledge of {where}"),
        check_texts(history, f"the history of {where}"),
        check_response(question, f"the question of {where}") or None, listed=_several(knowledge))


def given_columns(
    responses: object, knowledge: object, histories: object = None, questions: object = None,
    each: str = "row",
) -> list[Example]:
    """Builds an example for each row from columns. ``each`` is what error messages call a row.
    InputError: a column is not a sequence, the lengths differ, or a value is not text."""
    columns = {"responses": responses, "knowledge": knowledge, "histories": histories,
               "questions": questions}
    there = check_columns({name: values for name, values in columns.items()
                           if values is not None or name in ("responses", "knowledge")})
    rows = zip(*(there.get(name) or [None] * len(there["responses"]) for name in columns),
               strict=True)
    return [given(response, known, turns, f"{each} {place}", question)
            for place, (response, known, turns, question) in enumerate(rows)]
