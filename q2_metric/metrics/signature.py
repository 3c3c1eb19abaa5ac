"""Signatures: one line that names a metric, its models and its settings.

The format is sacrebleu's, preceded by the metric's name::

    q2|preset:bundled|reader:bundled-reader|decoding:beam|nli:yes|version:0.1.0
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from urllib.parse import quote, unquote

from q2_metric._version import __version__
from q2_metric.errors import InputError

OF_THE_MEAN = ("no_claim", "bootstrap", "bootstrap_seed")
"""The keys of a signature that say how the mean of scores was computed. The other keys describe the
metric itself."""

_PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in "%|:")
"""Characters that are written as they are: printable ASCII without the separators ``|`` and ``:``
and the escape sign ``%``."""


def signature(name: str, settings: Mapping[str, object]) -> str:
    """Writes the signature of a metric, a line that records its models and settings. :func:`parse`
    reads it back.

    Args:
        name: the metric's name, which comes first in the line.
        settings: the settings, in the order of the line. A ``bool`` is written as "yes" or "no",
            ``None`` as "none", a float in its shortest form, and anything else as ``str`` writes
            it. If ``version`` is missing, the version of this package is added at the end.

    >>> signature("f1", {"lower": True, "model": "a|b", "version": "1.0"})
    'f1|lower:yes|model:a%7Cb|version:1.0'
    """
    if "version" not in settings:
        settings = {**settings, "version": __version__}
    parts = (f"{_escape(key)}:{_escape(_text(value))}" for key, value in settings.items())
    return "|".join([_escape(name), *parts])


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Splits a signature (the line that records a metric's models and settings) into the metric's
    name and its settings, in order. All values are strings.

    Raises:
        InputError: a part is not of the form ``key:value``, or a key occurs twice.

    >>> parse("f1|model:a%7Cb|version:1.0")
    ('f1', {'model': 'a|b', 'version': '1.0'})
    """
    name, *parts = text.split("|")
    settings: dict[str, str] = {}
    for part in parts:
        key, colon, value = part.partition(":")
        if not colon or not key or unquote(key) in settings:
            raise InputError(f"{text!r} is not a signature: see the part {part!r}")
        settings[unquote(key)] = unquote(value)
    return unquote(name), settings


def of_metric(signed: str) -> str:
    """Turns the signature of a mean score (the line that records how the mean was computed) into
    the signature of the metric, by removing what describes the mean.

    >>> of_metric("q2|version:1|no_claim:zero")
    'q2|version:1'
    """
    return "|".join(part for part in signed.split("|")
                    if part.partition(":")[0] not in OF_THE_MEAN)


def shortened(text: str) -> str:
    """Shortens a signature (the line that records a metric's models and settings) to the metric's
    name and a hash of the whole line.

    >>> shortened("f1|model:a|version:1.0")
    'f1#266571b5'
    """
    return f"{text.partition('|')[0]}#{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        short = format(value, "g")
        return short if float(short) == value else repr(value)
    return str(value)


def _escape(text: str) -> str:
    return quote(text, safe=_PLAIN)
