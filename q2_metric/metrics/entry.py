"""The description of a metric (:class:`Entry`). It can be read without loading the metric's class.
"""

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
"""What ``Score.evidence`` contains: Q²'s "questions", judged claims ("sentences"), or the "parts"
of a combined score (with its claims)."""


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A column in outputs: one number that a metric computes for each response.

    Attributes:
        name: name in output files.
        title: title in tables and reports.
        field: field of :class:`~q2_metric.types.Score` that contains the number.
        sign: "module:function" that turns the metric's signature into the column's signature; "" if
            both signatures are equal.
        gloss: one line that explains the number to readers, and says what a high value means.
    """

    name: str
    title: str
    field: Literal["value", "no_nli"] = "value"
    sign: str = ""
    gloss: str = ""

    def of(self, score: Score) -> float | None:
        """The value of this column for one score."""
        value: float | None = getattr(score, self.field)
        return value


@dataclass(frozen=True, slots=True)
class Entry:
    """The description of a metric, available before the metric is loaded.

    Attributes:
        name: name of the metric and of its first column.
        title: title in tables and reports.
        loader: "module:Class". The metric is created by ``Class.from_preset(preset, **keywords)``
            if the entry names models, settings or runtime fields, otherwise by ``Class()``.
        settings: "module:Class" of the metric's settings dataclass; "" for no settings.
        more: further columns, after the first.
        details: what ``Score.evidence`` contains; ``None`` if it is always empty.
        models: keywords with which a user replaces models of the preset, such as "reader_model".
        runtime: the fields of :class:`~q2_metric.runtime_config.RuntimeConfig` that the metric
            accepts.
        cached: true if computing a score takes longer than reading it from the cache.
        any_text: true if the metric also scores responses that claim nothing, as word overlap does.
            Other metrics get only responses that claim something (:mod:`q2_metric.scoring.scores`).
        evidence: true if ``score`` accepts ``evidence=True``, which also returns, for each claim,
            the sentence of the knowledge that decided it.
        probability: true if the value is a probability that the response is supported. Its
            calibration can then be measured.
        bases: names of the metrics from whose scores this metric is computed. The metric object has
            an attribute with each of these names. It is ``None`` if that metric is not used.
        gloss: one line that explains the first column to readers, and says what a high value means.
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
        """The metric's columns. The column named after the metric comes first."""
        return (MetricColumn(self.name, self.title, gloss=self.gloss), *self.more)

    def signatures(self, signed: str) -> dict[str, str]:
        """The signature of each score column, by column name: a line that records how the column is
        computed. ``signed`` is the metric's signature."""
        return {
            column.name: named(column.sign)(signed) if column.sign else signed
            for column in self.columns
        }

    def settings_class(self) -> Any:
        """Imports the metric's settings dataclass. ``settings`` must not be empty."""
        return named(self.settings)

    def setting_fields(self) -> tuple[Setting, ...]:
        """The fields of the metric's settings dataclass, in order."""
        return settings_of(named(self.settings)) if self.settings else ()

    def keywords(self) -> tuple[str, ...]:
        """The names of all keywords that the metric accepts in :meth:`load`: runtime fields, models
        and settings."""
        return (*self.runtime, *self.models, *(field.name for field in self.setting_fields()))

    def request(self, preset: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of ``load_metrics`` that can change the metric's scores.

        They are the preset and those ``keywords`` that the metric accepts. Runtime fields other
        than ``dtype``, such as the device, are left out, because they change no score.
        """
        how = {name for name in RUNTIME_FIELDS if name != "dtype"}
        own = [name for name in self.keywords() if name not in how]
        return {"preset": preset, **given_of(keywords, own)}

    def load(self, preset: str, keywords: Mapping[str, Any]) -> Metric:
        """Creates the metric. A keyword is ignored if the metric does not accept it, or if its
        value is ``None``.

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
    """The keywords whose name is in ``names`` and whose value is not ``None``."""
    return {name: keywords[name] for name in names if keywords.get(name) is not None}


def named(where: str) -> Any:
    """Imports and returns an object. ``where`` is its path, in the form "module:name"."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
