"""What the package knows about a metric before its class is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from q2_metric.checks import Setting, settings_of
from q2_metric.errors import InputError
from q2_metric.runtime_config import RUNTIME_FIELDS
from q2_metric.types import Metric, Score

Details = Literal["questions", "sentences", "parts"]
"""What ``Score.evidence`` holds: Q²'s questions, judged claims, or parts of a combined score."""


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A number that a metric gives each response.

    Attributes:
        name: name in outputs and tables.
        title: title for people.
        field: field of :class:`~q2_metric.types.Score` that holds the number.
        sign: "module:function" that makes the column's signature from the metric's; "" if both are
            equal.
        gloss: one line for people: what the number is, and what a high value means.
    """

    name: str
    title: str
    field: Literal["value", "no_nli"] = "value"
    sign: str = ""
    gloss: str = ""

    def of(self, score: Score) -> float | None:
        """The column's number in a score."""
        value: float | None = getattr(score, self.field)
        return value


@dataclass(frozen=True, slots=True)
class Entry:
    """A metric, before it is loaded.

    Attributes:
        name: name of the metric and of its first column.
        title: title for people.
        loader: "module:Class". ``Class.from_preset(preset, **keywords)`` makes the metric if the
            entry has a model, a setting or a field of ``Running``; otherwise ``Class()`` does.
        settings: "module:Class" of its settings dataclass; "" for none.
        more: further columns.
        details: what ``evidence`` of its scores holds; ``None`` for nothing.
        models: keywords of models that may replace the preset's, such as "reader_model".
        runtime: the fields of :class:`~q2_metric.runtime_config.RuntimeConfig` that it takes.
        cached: whether computing a score takes longer than looking it up.
        any_text: whether it also scores responses that claim nothing, as word overlap does. Other
            metrics get only claims (:mod:`q2_metric.scoring.scores`).
        evidence: whether ``score`` takes ``evidence=True``, which finds the support of each claim.
        probability: whether its value is meant as P(supported), so that its calibration can be
            measured.
        bases: the metrics whose scores it is computed from, with the attributes that hold them
            (``None`` if one is not used).
        gloss: one line for people about its first column: what it is, and what a high value means.
    """

    name: str
    title: str
    loader: str
    settings: str = ""
    more: tuple[MetricColumn, ...] = ()
    details: Details | None = None
    models: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()
    cached: bool = False
    any_text: bool = False
    evidence: bool = False
    probability: bool = False
    bases: tuple[str, ...] = ()
    gloss: str = ""

    @property
    def columns(self) -> tuple[MetricColumn, ...]:
        """The numbers that it gives each response; the metric's own comes first."""
        return (MetricColumn(self.name, self.title, gloss=self.gloss), *self.more)

    def signatures(self, signed: str) -> dict[str, str]:
        """The signatures of its columns, made from the metric's signature."""
        return {
            column.name: named(column.sign)(signed) if column.sign else signed
            for column in self.columns
        }

    def settings_class(self) -> Any:
        """The dataclass of its settings, which it must have."""
        return named(self.settings)

    def setting_fields(self) -> tuple[Setting, ...]:
        """The fields of its settings dataclass, in order."""
        return settings_of(named(self.settings)) if self.settings else ()

    def keywords(self) -> tuple[str, ...]:
        """The keywords of :meth:`load`: runtime, models, settings."""
        return (*self.runtime, *self.models, *(field.name for field in self.setting_fields()))

    def request(self, preset: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of ``load_metrics`` that change its scores.

        Device and batch size are not among them.
        """
        how = {name for name in RUNTIME_FIELDS if name != "dtype"}
        own = [name for name in self.keywords() if name not in how]
        return {"preset": preset, **given_of(keywords, own)}

    def load(self, preset: str, keywords: Mapping[str, Any]) -> Metric:
        """Makes the metric. Keywords that it does not take, and those that are ``None``, are
        ignored.

        Raises:
            InputError: the preset is unknown, a setting has a wrong value, or the class is not a
                metric.
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
    """The keywords with these names that have a value."""
    return {name: keywords[name] for name in names if keywords.get(name) is not None}


def named(where: str) -> Any:
    """The object that "module:name" names."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
