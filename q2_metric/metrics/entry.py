"""The description of a metric, which can be read without loading the metric's class."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.runtime_config import RUNTIME_FIELDS, Setting, settings_of
from q2_metric.types import Evidence, Metric, Score

RESERVED = frozenset((
    "file", "id", "error", "response", "knowledge", "history", "label", "reason", "selected",
    "question", "passages", "other", "language",
    "questions", "dropped", "claims", "parts", "fallback", "coverage", "no_claim", "empty",
    "no_answer_rate", "f1", "bleu", "n", "signature"))
"""Names of other columns in outputs. No metric can have one of these names."""


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A column in outputs: one number that a metric computes for each response.

    Attributes:
        field: field of :class:`~q2_metric.types.Score` that contains the number.
        sign: "module:function" that turns the metric's signature into the column's; "" if both are
            equal.
        gloss: one line for readers, which says what a high value means.
    """

    name: str
    title: str
    field: Literal["value", "no_nli"] = "value"
    sign: str = ""
    gloss: str = ""

    def of(self, score: Score) -> float | None:
        value: float | None = getattr(score, self.field)
        return value


@dataclass(frozen=True, slots=True)
class Entry:
    """The description of a metric, available before the metric is loaded.

    Attributes:
        name: name of the metric and of its first column.
        loader: "module:Class". The metric is created by ``Class.from_preset(preset, **keywords)``
            if the entry names models, settings or runtime fields, otherwise by ``Class()``.
        settings: "module:Class" of the metric's settings dataclass; "" for no settings.
        more: further columns, after the first.
        details: what ``Score.evidence`` contains: "questions" (of Q²), "sentences" (judged claims),
            "parts" (of a combined score), or "module:Class", a kind of
            :class:`~q2_metric.types.Evidence`; ``None`` if it is always empty.
        models: keywords with which a user replaces models of the preset, such as "reader_model".
        runtime: the accepted fields of :class:`~q2_metric.runtime_config.RuntimeConfig`.
        cached: true if computing a score takes longer than reading it from the cache.
        any_text: true if the metric also scores responses that claim nothing, as word overlap does.
        evidence: true if ``score`` accepts ``evidence=True``, which also returns, for each claim,
            the sentence of the knowledge that decided it.
        probability: true if the value is a probability, whose calibration can be measured.
        bases: names of the metrics from whose scores this metric is computed. The metric has an
            attribute with each of these names, ``None`` if that metric is not used.
        gloss: the first column's.
    """

    name: str
    title: str
    loader: str
    settings: str = ""
    more: tuple[MetricColumn, ...] = ()
    details: str | None = None
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
        return (MetricColumn(self.name, self.title, gloss=self.gloss), *self.more)

    @property
    def listed(self) -> str:
        """The field of output rows that lists the evidence, such as "questions"; "" if there is
        none. For "module:Quote", it is "quotes"."""
        name = self.details or ""
        return f"{name.rpartition(':')[2].lower()}s" if ":" in name else _LISTED.get(name, name)

    def evidence_class(self) -> type[Evidence] | None:
        """The class of "module:Class" in ``details``; ``None`` for the package's own kinds. Raises
        InputError if it is no kind of evidence."""
        if self.details in (None, "questions", "sentences", "parts"):
            return None
        try:
            kind = named(self.details or "")
        except (ImportError, AttributeError, ValueError):
            kind = None
        if not (isinstance(kind, type) and issubclass(kind, Evidence)):
            raise InputError(f"the metric {self.name!r}: its entry's details {self.details!r} are "
                             "not questions, sentences, parts, or module:Class of an Evidence")
        if self.listed in RESERVED.union(column.name for column in self.columns):
            raise InputError(f"the metric {self.name!r}: output rows list {kind.__name__} as "
                             f"{self.listed!r}, which is another field; rename the class")
        return kind

    def signatures(self, signed: str) -> dict[str, str]:
        """By column name. ``signed`` is the metric's signature."""
        return {column.name: named(column.sign)(signed) if column.sign else signed
                for column in self.columns}

    def settings_class(self) -> Any:
        return named(self.settings)

    def setting_fields(self) -> tuple[Setting, ...]:
        return settings_of(named(self.settings)) if self.settings else ()

    def keywords(self) -> tuple[str, ...]:
        return (*self.runtime, *self.models, *(field.name for field in self.setting_fields()))

    def request(self, preset: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Those arguments of ``load_metrics`` that can change scores: not the device, for
        example."""
        how = {name for name in RUNTIME_FIELDS if name not in ("dtype", "any_language")}
        own = [name for name in self.keywords() if name not in how]
        return {"preset": preset, **given_of(keywords, own)}

    def load(self, preset: str, keywords: Mapping[str, Any]) -> Metric:
        """Creates the metric. Keywords that it does not accept or that are ``None`` are ignored.
        InputError: the preset is unknown, a setting is wrong, or the class is not a metric.
        MissingExtra, ModelError: a package is not installed, or a model cannot be loaded."""
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


_LISTED = {"sentences": "claims"}


def given_of(keywords: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: keywords[name] for name in names if keywords.get(name) is not None}


def named(where: str) -> Any:
    """Imports the object at "module:name"."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
