"""Settings dataclasses: their fields and checks, and how models run (:class:`RuntimeConfig`).

A field is a bool, int, float, str or ``Literal`` of strings, optionally with ``| None``. The
options of the command line and of the frameworks are derived from these fields.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from q2_metric.errors import InputError

_WORDS = {bool: "True or False", int: "a whole number", float: "a number", str: "a string"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a settings dataclass.

    ``kind`` is bool, int, float or str. ``choices`` are the strings of a ``Literal``. ``optional``
    allows ``None``. ``words`` is the first sentence about the field in the dataclass's docstring,
    without a full stop. ``metadata`` is that of the dataclass field.
    """

    name: str
    kind: type
    choices: tuple[str, ...]
    optional: bool
    default: Any
    words: str
    metadata: Mapping[str, Any]

    @property
    def sentence(self) -> str:
        return f"{self.words[:1].upper()}{self.words[1:]}."

    def check(self, value: object) -> None:
        """Raises InputError, which says what is allowed, if the field may not have this value."""
        if value is None and self.optional:
            return
        if self.choices:
            if value not in self.choices:
                raise InputError(
                    f"{self.name} must be one of {', '.join(self.choices)}, not {value!r}")
        elif not _is(value, self.kind):
            raise InputError(f"{self.name} must be {_WORDS[self.kind]}, not {value!r}")


@cache
def settings_of(kind: type) -> tuple[Setting, ...]:
    """The fields of the settings dataclass ``kind``, in order."""
    hints, words = get_type_hints(kind), _described(kind)
    settings = []
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        if optional := get_origin(hint) in (Union, types.UnionType):
            (hint,) = (choice for choice in get_args(hint) if choice is not type(None))
        choices = get_args(hint) if get_origin(hint) is Literal else ()
        settings.append(Setting(
            field.name, str if choices else hint, choices, optional, field.default,
            words.get(field.name, ""), field.metadata))
    return tuple(settings)


def check_fields(settings: Any) -> None:
    """Raises InputError if a field of a settings dataclass has a value of a wrong type."""
    for one in settings_of(type(settings)):  # type: ignore[arg-type]  # types are hashable
        one.check(getattr(settings, one.name))


def _described(kind: type) -> dict[str, str]:
    """By field, the first sentence about it in the docstring of the dataclass."""
    _, _, section = (kind.__doc__ or "").partition("Attributes:\n")
    described: dict[str, str] = {}
    for names, text in re.findall(
        r"^ {8}(\w[\w, ]*): (.+(?:\n {12}.+|\n(?= {12}))*)", section, flags=re.MULTILINE
    ):
        words = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`|``([^`]*)``", r"\1\2", " ".join(text.split()))
        for name in names.split(", "):
            described[name] = re.split(r"(?<=\w\w)[.;](?: |$)| \(section", words)[0].rstrip(".")
    return described


def _is(value: object, kind: type) -> bool:
    """Unlike ``isinstance``: True and False are not numbers, and an int also counts as a float."""
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, (int, float) if kind is float else kind)


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    """Where and how the models of a metric run. Only ``dtype`` and ``any_language`` change scores.

    Attributes:
        device: where the models run: "auto", "cpu", "cuda", "cuda:1" or "mps".
        dtype: number format of the models: "float32", "bfloat16" or "float16". Bundled models on a
            CPU also run in "int8"; "auto" means "int8" for them, and "float32" for others.
        batch_size: rows in one model call; ``None`` takes as many as fit into memory (on a CPU, as
            many as are fast).
        any_language: also scores texts that are not English, which the bundled models do not know.

    Raises:
        InputError: a value has the wrong type, or the batch size is below 1.
    """

    device: str = "auto"
    dtype: str = "auto"
    batch_size: int | None = None
    any_language: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size must be at least 1, not {self.batch_size}")

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> RuntimeConfig:
        """The settings among some keyword arguments; a missing field, or ``None``, gets its
        default."""
        return cls(**{name: keywords[name] for name in RUNTIME_FIELDS
                      if keywords.get(name) is not None})


RUNTIME_FIELDS = tuple(field.name for field in dataclasses.fields(RuntimeConfig))
