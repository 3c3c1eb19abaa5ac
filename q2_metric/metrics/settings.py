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
    """Settings that are missing or ``None`` in ``given`` have their value from ``defaults``, or
    else the dataclass's. Raises ``InputError`` for an unknown keyword."""
    names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
    refuse_unknown(given, [*names, *RUNTIME_FIELDS], "setting")
    chosen = {name: value for name, value in given.items()
              if name in names and value is not None}
    return settings(**{**(defaults or {}), **chosen}), RuntimeConfig.of(given)


def check_stages(*stages: tuple[str, object, str]) -> None:
    """Raises ``InputError`` if a stage, given as (keyword, object, method), lacks its method."""
    for role, stage, method in stages:
        if not callable(getattr(stage, method, None)):
            raise InputError(f"{role} is {kind(stage)}, which has no method {method!r}; "
                             "from_preset makes a metric with all its stages")


def check_labels(text: str | None) -> tuple[str, ...] | None:
    """Splits "entailment,neutral,contradiction"; ``InputError`` for names that NLI models lack."""
    from q2_metric.models.hub.labels import given_labels

    return None if text is None else given_labels(text)


def refuse_unknown(given: Iterable[str], known: Sequence[str], noun: str) -> None:
    """Raises ``InputError`` for an unknown name, with the nearest. ``noun`` says what it is."""
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"unknown {noun} {name!r}{hint} (known: {', '.join(known)})")
