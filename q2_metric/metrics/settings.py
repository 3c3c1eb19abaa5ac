"""Reads settings from keywords, with clear error messages."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from q2_metric.errors import InputError
from q2_metric.runtime_config import RUNTIME_FIELDS, RuntimeConfig
from q2_metric.text.given import kind

T = TypeVar("T")


def settings_and_runtime(
    settings: type[T], given: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> tuple[T, RuntimeConfig]:
    """Creates a settings dataclass and a :class:`RuntimeConfig` from keyword arguments.

    A setting that is missing or ``None`` in ``given`` has its value from ``defaults``, or, if it is
    missing there too, the dataclass's default.

    Raises:
        InputError: a keyword is unknown; the message suggests the nearest one.
    """
    names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
    refuse_unknown(given, [*names, *RUNTIME_FIELDS], "setting")
    chosen = {name: value for name, value in given.items()
              if name in names and value is not None}
    return settings(**{**(defaults or {}), **chosen}), RuntimeConfig.of(given)


def check_stages(*stages: tuple[str, object, str]) -> None:
    """Checks that each stage of a metric has the method that the metric calls.

    Args:
        stages: for each stage, its keyword, the object itself, and the name of the method.

    Raises:
        InputError: a stage does not have the method.
    """
    for role, stage, method in stages:
        if not callable(getattr(stage, method, None)):
            raise InputError(f"{role} is {kind(stage)}, which has no method {method!r}; "
                             "from_preset makes a metric with all its stages")


def check_labels(text: str | None) -> tuple[str, ...] | None:
    """The class names in a setting such as "entailment,neutral,contradiction", in order.

    Raises:
        InputError: the names are not those of the classes of an NLI model.
    """
    from q2_metric.models.hub.labels import given_labels

    return None if text is None else given_labels(text)


def refuse_unknown(given: Iterable[str], known: Sequence[str], noun: str) -> None:
    """Checks that all ``given`` names are among the ``known`` names. ``noun`` is the kind of name
    in the error message, such as "setting".

    Raises:
        InputError: a name is unknown; the message suggests the nearest known name.
    """
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"unknown {noun} {name!r}{hint} (known: {', '.join(known)})")
