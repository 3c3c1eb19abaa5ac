"""Checks the values that users give as texts, and names their types in error messages."""

import json
import math
from collections.abc import Iterable

from q2_metric.errors import InputError


def is_blank(text: str) -> bool:
    """Whether a text has only spaces, control and format characters."""
    return not any(sign.isprintable() and not sign.isspace() for sign in text)


def missing(value: object) -> bool:
    """``None``, or what pandas writes for it: NaN and NA."""
    return (value is None or (isinstance(value, float) and math.isnan(value))
            or type(value).__name__ == "NAType")


def absent(item: object) -> bool:
    """As :func:`missing`, but NaN in a list is a number."""
    return missing(item) and not isinstance(item, float)


def encodable(text: str, where: str) -> str:
    """Returns the text. Raises ``InputError``, which begins with ``where``, for a lone surrogate:
    half of a character, which can neither be tokenised nor written to a file."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{where} is not valid Unicode at character {error.start + 1}") from None
    return text


def kind(value: object) -> str:
    """The type in JSON's terms ("a number", "a list of strings"), for error messages."""
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)  # NaN, Infinity or -Infinity
    if isinstance(value, list):
        if not value or all_text(value):
            return "a list of strings" if value else "an empty list"
        strange = next(item for item in value if not isinstance(item, str))
        return f"a list with {'a list' if isinstance(strange, list) else kind(strange)} in it"
    return next((words for known, words in _KINDS.items() if isinstance(value, known)),
                f"a {type(value).__name__}")


_KINDS = {type(None): "null", bool: "true or false", int: "a number", float: "a number",
          str: "a string", dict: "an object"}


def all_text(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
