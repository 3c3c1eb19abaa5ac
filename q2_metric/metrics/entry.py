"""What the package knows of a metric before its class is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from q2_metric.checks import Setting, settings_of
from q2_metric.errors import InputError
from q2_metric.running import RUNNING
from q2_metric.types import Metric, Score

Details = Literal["questions", "sentences", "parts"]
"""What ``Score.because`` holds: Q²'s questions, or judged sentences or parts of them."""


@dataclass(frozen=True, slots=True)
class Column:
    """A number that a metric gives each response.

    Attributes:
        name: in outputs and tables.
        title: for people.
        field: of :class:`~q2_metric.types.Score` that holds it.
        sign: "module:function" from the metric's signature to the column's; "" where they
            are the same.
        gloss: one line for people: what it is, and what is high.
    """

    name: str
    title: str
    field: Literal["value", "no_nli"] = "value"
    sign: str = ""
    gloss: str = ""

    def of(self, score: Score) -> float | None:
        """Its number of a score."""
        value: float | None = getattr(score, self.field)
        return value


@dataclass(frozen=True, slots=True)
class Entry:
    """A metric, before it is loaded.

    Attributes:
        name: of the metric, and of its first column.
        title: for people.
        loader: "module:Class". Where the entry has a model, a setting or a field of
            ``Running``, ``Class.from_preset(preset, **keywords)`` makes the metric, else
            ``Class()``.
        settings: "module:Class" of the dataclass of its settings; "" for none.
        more: columns beside its first.
        details: what ``because`` of its scores holds; ``None`` for nothing.
        models: keywords of models that may replace the preset's, as "reader_model".
        running: fields of :class:`~q2_metric.running.Running` that it takes.
        cached: whether its scores take longer to compute than to look up.
        any_text: whether it also scores responses that claim nothing, as the overlaps of words
            do. Any other metric is asked about claims only (:mod:`q2_metric.scoring.scores`).
        evidence: whether ``score`` takes ``evidence=True`` (each sentence's support).
        probability: whether its value is meant as P(supported), so that it can be well or
            badly calibrated.
        bases: metrics whose scores it is computed from, and attributes that hold them (``None``
            where one is not used).
        gloss: one line for people about its first column: what it is, and what is high.
    """

    name: str
    title: str
    loader: str
    settings: str = ""
    more: tuple[Column, ...] = ()
    details: Details | None = None
    models: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    cached: bool = False
    any_text: bool = False
    evidence: bool = False
    probability: bool = False
    bases: tuple[str, ...] = ()
    gloss: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The numbers that it gives each response, the metric's own first."""
        return (Column(self.name, self.title, gloss=self.gloss), *self.more)

    def signatures(self, signed: str) -> dict[str, str]:
        """By column, for the metric's signature."""
        return {
            column.name: named(column.sign)(signed) if column.sign else signed
            for column in self.columns
        }

    def settings_class(self) -> Any:
        """The dataclass of its settings, which it must have."""
        return named(self.settings)

    def setting_fields(self) -> tuple[Setting, ...]:
        """Of the settings dataclass, in order."""
        return settings_of(named(self.settings)) if self.settings else ()

    def keywords(self) -> tuple[str, ...]:
        """What :meth:`load` takes: running, models, settings."""
        return (*self.running, *self.models, *(field.name for field in self.setting_fields()))

    def request(self, preset: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """What makes its scores what they are, out of the arguments of ``load_metrics``.

        Device and batch size do not belong to it.
        """
        how = {name for name in RUNNING if name != "dtype"}
        own = [name for name in self.keywords() if name not in how]
        return {"preset": preset, **given_of(keywords, own)}

    def load(self, preset: str, keywords: Mapping[str, Any]) -> Metric:
        """The metric; keywords that it does not take, and those that are ``None``, are left out.

        Raises:
            InputError: an unknown preset, or a setting's value; a class that is no metric.
            MissingExtra: a package is not installed.
            ModelError: a model cannot be loaded.
        """
        kind, takes = named(self.loader), self.keywords()
        if takes:
            metric: Metric = kind.from_preset(preset, **given_of(keywords, takes))
        else:
            try:
                metric = kind()
            except TypeError as error:
                raise InputError(
                    f"{self.loader} cannot be called without arguments: {error}; an Entry "
                    "with settings lets from_preset make the metric") from error
        signed = getattr(metric, "signature", None)
        if not isinstance(signed, str) or signed.split("|")[0] != self.name:
            raise InputError(
                f"{self.loader} has the signature {signed!r}; it must be a text that begins with "
                f"{self.name!r}, as q2_metric.metrics.signature.signature makes it")
        return metric


def given_of(keywords: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of the keywords that have these names and a value."""
    return {name: keywords[name] for name in names if keywords.get(name) is not None}


def named(where: str) -> Any:
    """What "module:name" names."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
