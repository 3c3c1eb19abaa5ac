"""Removes control characters from users' texts, so that they cannot control the terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters (but tab and newline), changes of writing direction, and lone surrogates."""


def plain(text: str) -> str:
    """The text with U+FFFD in place of each character that could control a terminal.

    >>> plain("a\\x1b[31mb")
    'a�[31mb'
    """
    return _UNSAFE.sub("�", text)
