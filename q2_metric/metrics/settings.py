"""Settings from keywords, with messages for people."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from q2_metric.errors import InputError

T = TypeVar("T")


def settings_from(kind: type[T], given: Mapping[str, Any]) -> T:
    """``kind(**given)`` for a settings dataclass.

    Raises:
        InputError: a name that ``kind`` does not have, with the nearest that it has.
    """
    refuse_unknown(given, [f.name for f in dataclasses.fields(kind)], "setting")  # type: ignore[arg-type]
    return kind(**given)


def refuse_unknown(given: Iterable[str], known: Sequence[str], what: str) -> None:
    """Nothing where all names are known.

    Raises:
        InputError: a name that is not, with the nearest that is; ``what`` says of what.
    """
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"unknown {what} {name!r}{hint} (known: {', '.join(known)})")
