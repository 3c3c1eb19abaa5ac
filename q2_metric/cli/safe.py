"""Texts of users, made safe for a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, changes of direction, lone surrogates."""


def plain(text: str) -> str:
    """The text with what could steer a terminal replaced by U+FFFD.

    >>> plain("a\\x1b[31mb")
    'a�[31mb'
    """
    return _UNSAFE.sub("�", text)
