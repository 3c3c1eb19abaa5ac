"""A row as its format gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from q2_metric.errors import InputError


@dataclass(frozen=True, slots=True)
class Record:
    """A row as its format gives it: its fields, or the problem that hides them.

    ``note`` is what should be known although the row can be read.
    """

    where: str
    fields: Mapping[str, object]
    problem: str | None = None
    note: str | None = None


def refuse_utf16(first_line: bytes, name: str) -> None:
    """Refuses a file that begins as UTF-16 and UTF-32 do.

    Raises:
        InputError: it does.
    """
    if first_line.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        raise InputError(f"{name}: is UTF-32; save it as UTF-8")
    if first_line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}: is UTF-16; save it as UTF-8")
