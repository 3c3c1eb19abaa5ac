"""Signatures: one line that names a metric, its models and its settings, in sacrebleu's format:

    q2|preset:bundled|reader:bundled-reader|decoding:beam|nli:yes|version:0.1.0
"""

import hashlib
from collections.abc import Mapping
from urllib.parse import quote, unquote

from q2_metric._version import __version__
from q2_metric.errors import InputError

OF_THE_MEAN = ("no_claim", "bootstrap", "bootstrap_seed")
"""The keys that say how the mean of scores was computed. Other keys describe the metric itself."""
_PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in "%|:")
"""Printable ASCII without the separators and the escape sign."""


def signature(name: str, settings: Mapping[str, object]) -> str:
    """Writes a signature. Without a ``version``, that of this package is added at the end.

    >>> signature("f1", {"lower": True, "model": "a|b", "version": "1.0"})
    'f1|lower:yes|model:a%7Cb|version:1.0'
    """
    if "version" not in settings:
        settings = {**settings, "version": __version__}
    parts = (f"{_escape(key)}:{_escape(_text(value))}" for key, value in settings.items())
    return "|".join([_escape(name), *parts])


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Name and settings of a signature, all of them strings; ``InputError`` if it is malformed."""
    name, *parts = text.split("|")
    settings: dict[str, str] = {}
    for part in parts:
        key, colon, value = part.partition(":")
        if not colon or not key or unquote(key) in settings:
            raise InputError(f"{text!r} is not a signature: see the part {part!r}")
        settings[unquote(key)] = unquote(value)
    return unquote(name), settings


def of_metric(signed: str) -> str:
    """The metric's own signature, from that of a mean score."""
    return "|".join(part for part in signed.split("|") if part.partition(":")[0] not in OF_THE_MEAN)


def shortened(text: str) -> str:
    """The metric's name and a hash of the whole signature.

    >>> shortened("f1|model:a|version:1.0")
    'f1#266571b5'
    """
    return f"{text.partition('|')[0]}#{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def mismatch(metric: str, was: tuple[str, str], now: tuple[str, str]) -> InputError:
    """The error of two files whose scores cannot be compared. Each file is given as its name and
    the metric's signature."""
    (one, (_, before)), (other, (_, after)) = ((name, parse(text)) for name, text in (was, now))
    key = next(key for key in before | after if before.get(key) != after.get(key))
    return InputError(
        f"{metric} was computed by different models, settings or versions: {key} is "
        f"{before.get(key, 'not set')} in {one} and {after.get(key, 'not set')} in {other}; score "
        "both again in the same way")


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
