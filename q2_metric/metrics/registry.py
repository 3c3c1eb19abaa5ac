"""The metrics there are: an :class:`Entry` for each, and all that the others ask about one.

A metric is a file with a class that implements :class:`q2_metric.types.Metric`, and one entry
of :data:`METRICS`. Command line, reports and plug-ins read its name, title, columns, settings
and models here; none of them names a metric. Nothing heavy is imported: a class is loaded
when it is asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from q2_metric.checks import Setting, settings_of
from q2_metric.errors import InputError
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.running import RUNNING
from q2_metric.text.given import all_text, kind
from q2_metric.types import Metric, Score

_LOG = logging.getLogger(__name__)

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
            column.name: _named(column.sign)(signed) if column.sign else signed
            for column in self.columns
        }

    def settings_class(self) -> Any:
        """The dataclass of its settings, which it must have."""
        return _named(self.settings)

    def setting_fields(self) -> tuple[Setting, ...]:
        """Of the settings dataclass, in order."""
        return settings_of(_named(self.settings)) if self.settings else ()

    def keywords(self) -> tuple[str, ...]:
        """What :meth:`load` takes: running, models, settings."""
        return (*self.running, *self.models, *(field.name for field in self.setting_fields()))

    def request(self, preset: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """What makes its scores what they are, out of the arguments of ``load_metrics``.

        Device and batch size do not belong to it.
        """
        how = {name for name in RUNNING if name != "dtype"}
        own = [name for name in self.keywords() if name not in how]
        return {"preset": preset, **_given(keywords, own)}

    def load(self, preset: str, keywords: Mapping[str, Any]) -> Metric:
        """The metric; keywords that it does not take, and those that are ``None``, are left out.

        Raises:
            InputError: an unknown preset, or a setting's value.
            MissingExtra: a package is not installed.
            ModelError: a model cannot be loaded.
        """
        kind, takes = _named(self.loader), self.keywords()
        metric: Metric = kind.from_preset(preset, **_given(keywords, takes)) if takes else kind()
        return metric


METRICS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "q2", "Q²", "q2_metric.metrics.q2:Q2",
            settings="q2_metric.metrics.q2_settings:Q2Settings",
            more=(Column("q2_no_nli", "Q² without NLI", "no_nli",
                         "q2_metric.metrics.q2:without_nli",
                         "the same, answers compared by their words alone; 1 is best"),),
            gloss="share of the answers about the response that the knowledge also gives; "
                  "1 is best",
            details="questions",
            models=("question_model", "reader_model", "nli_model", "coreference_model"),
            running=RUNNING, cached=True,
        ),
        Entry(
            "scale", "SCALE", "q2_metric.metrics.scale:Scale",
            settings="q2_metric.metrics.scale:ScaleSettings",
            details="sentences", models=("scale_model",),
            running=RUNNING, cached=True, evidence=True, probability=True,
            gloss="how far the knowledge supports each sentence, on average; 1 is best",
        ),
        Entry(
            "groundedness", "groundedness", "q2_metric.metrics.groundedness:Groundedness",
            settings="q2_metric.metrics.groundedness:GroundednessSettings",
            details="parts", running=RUNNING, cached=True, probability=True,
            bases=("scale", "q2"), evidence=True,
            gloss="probability that people call the response supported; 1 is best",
        ),
        Entry("knowledge_f1", "token F1", "q2_metric.metrics.overlap:TokenF1", any_text=True,
              gloss="words that response and knowledge share; 1 is best"),
        Entry("word_share", "content words found", "q2_metric.metrics.word_share:WordShare",
              any_text=True,
              gloss="share of the response's content words that the knowledge has; 1 is best"),
        Entry("knowledge_bleu", "BLEU", "q2_metric.metrics.overlap:Bleu", any_text=True,
              gloss="runs of words that response and knowledge share; 1 is best"),
        Entry(
            "nli", "end-to-end NLI", "q2_metric.metrics.nli:EndToEndNli",
            settings="q2_metric.metrics.nli:NliSettings",
            models=("nli_model",), running=RUNNING, cached=True,
            gloss="whether the knowledge as a whole implies the response; 1 is best",
        ),
        Entry(
            "bertscore", "BERTScore", "q2_metric.metrics.bertscore:BertScore",
            models=("bertscore_model",), running=("device", "batch_size"), cached=True,
            gloss="words of the response with a similar word in the knowledge; 1 is best",
        ),
    )
}
"""By name, in the order in which they are shown."""


AGAINST_GOLD = {"f1": "knowledge_f1", "bleu": "knowledge_bleu"}
"""Names that are kept for the comparison with people's responses (where a framework has them),
and the metric that makes the same comparison with the knowledge."""

DEFAULT = ("q2", "scale")
"""What is computed where nothing is named."""


def entry(name: str) -> Entry:
    """The metric of that name; of a metric that is not registered what can be said of any."""
    return METRICS.get(name) or Entry(name, name, "")


def columns(names: Iterable[str] | None = None) -> dict[str, Column]:
    """The columns of these metrics (of all, by default), by name, in their order."""
    return {
        column.name: column
        for name in (METRICS if names is None else names)
        for column in entry(name).columns
    }


def of_column(name: str) -> tuple[Entry, Column]:
    """The metric that a column is of, and the column."""
    for one in METRICS.values():
        for column in one.columns:
            if column.name == name:
                return one, column
    one = entry(name)
    return one, one.columns[0]


def signatures(signed: Mapping[str, str]) -> dict[str, str]:
    """By column, for the signatures of metrics by name."""
    found: dict[str, str] = {}
    for name, text in signed.items():
        found |= entry(name).signatures(text)
    return found


def models() -> tuple[str, ...]:
    """Keywords of the models that may replace a preset's, of all metrics."""
    return tuple(dict.fromkeys(name for one in METRICS.values() for name in one.models))


def keywords() -> tuple[str, ...]:
    """All keywords of ``load_metrics``: running, models, settings."""
    settings = (field.name for one in METRICS.values() for field in one.setting_fields())
    return tuple(dict.fromkeys([*RUNNING, *models(), *settings]))


def check_names(names: Iterable[str] | str) -> list[str]:
    """Names of metrics, as a sequence or as "q2,scale", in either case; each once.

    Raises:
        InputError: one that there is not.
    """
    known = listed(names)
    for name in known:
        if name not in METRICS:
            raise InputError(no_such(name))
    return known


def listed(names: Iterable[str] | str) -> list[str]:
    """Names as they are known, each once, whether there is such a metric or not."""
    several = names.split(",") if isinstance(names, str) else names
    if not isinstance(several, Iterable) or not all_text(several := list(several)):
        raise InputError(f"metrics are {kind(several)}, not a list of names or \"q2,scale\"")
    return [name for name in dict.fromkeys(one.strip().lower() for one in several) if name]


def no_such(name: str) -> str:
    """What to say of a metric that there is not."""
    if name in AGAINST_GOLD:
        return (f"{name!r} compares with people's responses; "
                f"with the knowledge it is {AGAINST_GOLD[name]!r}")
    return f"there is no metric {name!r}; there are {', '.join(METRICS)}"


def check_keywords(given: Iterable[str]) -> None:
    """Nothing where some metric takes each of these keywords.

    Raises:
        InputError: one that none takes, with the nearest that one does.
    """
    refuse_unknown(given, keywords(), "keyword")


def together(names: Iterable[str], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keywords, with what metrics that are computed together learn of each other: beside Q²,
    groundedness counts its questions, unless ``asked`` says otherwise."""
    if {"q2", "groundedness"} <= set(names) and given.get("asked") is None:
        return {**given, "asked": "count"}
    return given


def warn_of_unused(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Logs which settings and models change nothing, being another metric's."""
    used = {*RUNNING, *(keyword for name in names for keyword in entry(name).keywords())}
    for keyword, value in given.items():
        if value is not None and keyword not in used:
            takers = [one.name for one in METRICS.values() if keyword in one.keywords()]
            _LOG.warning("%s changes nothing here: it is of %s, and computed is %s",
                         keyword, ", ".join(takers), ", ".join(names))


def _given(keywords: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: keywords[name] for name in names if keywords.get(name) is not None}


def _named(where: str) -> Any:
    """What "module:name" names."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
