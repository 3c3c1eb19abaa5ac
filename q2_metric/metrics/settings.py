"""Settings from keywords, with messages for people."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from q2_metric.errors import InputError
from q2_metric.running import RUNNING, Running
from q2_metric.text.given import kind

T = TypeVar("T")


def settings_and_running(
    settings: type[T], given: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> tuple[T, Running]:
    """A settings dataclass and :class:`Running`, out of one call's keywords.

    What is not given or ``None`` is as in ``defaults``, or else as the dataclass has it.

    Raises:
        InputError: a name that neither has, with the nearest that one has.
    """
    names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
    refuse_unknown(given, [*names, *RUNNING], "setting")
    chosen = {name: value for name, value in given.items()
              if name in names and value is not None}
    return settings(**{**(defaults or {}), **chosen}), Running.of(given)


def check_stages(*stages: tuple[str, object, str]) -> None:
    """Nothing where each stage that a metric is made of can do its work.

    Args:
        stages: the keyword, what was given, and the method that it must have.

    Raises:
        InputError: one that has no such method.
    """
    for role, stage, method in stages:
        if not callable(getattr(stage, method, None)):
            raise InputError(f"{role} is {kind(stage)}, which has no method {method!r}; "
                             "from_preset makes a metric with all its stages")


def check_labels(text: str | None) -> tuple[str, ...] | None:
    """The classes that a setting ``nli_labels`` names, in their order.

    Raises:
        InputError: they are not the classes of an NLI model.
    """
    from q2_metric.models.hub.labels import given_labels

    return None if text is None else given_labels(text)


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
