"""Turns a framework's texts into examples, with one rule for missing texts.

``None``, NaN (which pandas writes) and a list without a text are missing texts. A missing response
or missing knowledge counts as a blank text, and a missing history has no turns. A row with a
missing text keeps its position and gets a reason instead of a score. Any other value that is not
text is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeGuard

from q2_metric.errors import InputError
from q2_metric.rows.examples import joined
from q2_metric.text.given import encodable, kind, missing
from q2_metric.types import Example


def check_text(value: object, where: str) -> str:
    """Returns the text if it is valid.

    Raises:
        InputError: the value is not a string, or not valid Unicode.
    """
    if not isinstance(value, str):
        raise InputError(f"{where} is {kind(value)}, not a string")
    return encodable(value, where)


def check_texts(value: object, where: str) -> list[str]:
    """A text or a list of texts, as a list. Missing texts are left out.

    Raises:
        InputError: the value is neither a text nor a list of texts.
    """
    if missing(value):
        return []
    if not _several(value):
        return [check_text(value, where)]
    return [check_text(item, f"{where}[{i}]")
            for i, item in enumerate(value) if not missing(item)]


def check_response(value: object, where: str) -> str:
    """Returns the response; "" if it is missing.

    Raises:
        InputError: the value is neither a text nor missing.
    """
    return "" if missing(value) else check_text(value, where)


def check_column(values: object, where: str) -> list[Any]:
    """The values of a column as a list, one value for each row.

    Raises:
        InputError: ``values`` is a single text, has no order (a mapping, a set), or has several
            columns.
    """
    if not _several(values) or getattr(values, "ndim", 1) != 1:
        raise InputError(f"{where} is {kind(values)}, not a list with an item for each response")
    return list(values)


def _several(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value is a sequence of values rather than a text, a mapping or a set."""
    return isinstance(value, Iterable) and not isinstance(value, (str, Mapping, Set))


def example(response: str, knowledge: Sequence[str], history: Sequence[str] = (),
            question: str | None = None, *, listed: bool | None = None) -> Example:
    """Builds an example. Several passages of knowledge become one text. Blank turns are left out.

    Args:
        response, history, question: as in :class:`~q2_metric.types.Example`.
        knowledge: the passages.
        listed: if true, citations and evidence number the passages as listed; if false, they number
            the lines. By default, passages are numbered as listed if there are several.
    """
    text, places = joined([(passage, None) for passage in knowledge])
    listed = len(places) > 1 if listed is None else listed
    return Example(response, text, tuple(turn for turn in history if turn.strip()),
                   question=question, passages=places if listed else ())


def given(response: object, knowledge: object, history: object, where: str,
          question: object = None) -> Example:
    """The example of a framework's row. Its texts are checked.

    Args:
        response: a text.
        knowledge: a text, or a list of passages.
        history: the turns before the response, oldest first.
        where: the name of the row in errors, such as "row 3".
        question: the question that the response answers, if it is known.

    Raises:
        InputError: a value is neither text nor missing.
    """
    return example(
        check_response(response, f"the response of {where}"),
        check_texts(knowledge, f"the knowledge of {where}"),
        check_texts(history, f"the history of {where}"),
        check_response(question, f"the question of {where}") or None,
        listed=_several(knowledge),
    )


def given_columns(
    responses: object, knowledge: object, histories: object = None, each: str = "row",
) -> list[Example]:
    """The examples of columns. Each column is a sequence with one item for each row.

    Args:
        responses, knowledge, histories: the columns.
        each: the word for a row in errors.

    Raises:
        InputError: a column is not a sequence, the lengths differ, or a value is not text.
    """
    responses = check_column(responses, "responses")
    knowledge = check_column(knowledge, "knowledge")
    turns = ([None] * len(responses) if histories is None
             else check_column(histories, "histories"))
    if not len(responses) == len(knowledge) == len(turns):
        raise InputError(f"each response needs its own knowledge, but there are {len(responses)} "
                         f"responses, {len(knowledge)} knowledge, {len(turns)} histories")
    return [
        given(said, known, before, f"{each} {place}")
        for place, (said, known, before) in enumerate(zip(responses, knowledge, turns, strict=True))
    ]
