"""Settings from keywords, with messages for people."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from q2_metric.errors import InputError

T = TypeVar("T")


def settings_from(kind: type[T], given: Mapping[str, Any]) -> T:
    """``kind(**given)`` for a settings dataclass.

    Raises:
        InputError: a name that ``kind`` does not have, with the nearest that it has.
    """
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"unknown setting {name!r}{hint} (known: {', '.join(known)})")
    return kind(**given)
