"""The registry of metrics: an :class:`Entry` for each. The command line, reports and plug-ins read
all about a metric from its entry, so their code contains no metric's name. A metric's class is
loaded at its first use, so importing this module is fast."""

import difflib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from q2_metric.errors import InputError
from q2_metric.metrics.entry import RESERVED, named
from q2_metric.metrics.entry import Entry as Entry
from q2_metric.metrics.entry import MetricColumn as MetricColumn
from q2_metric.runtime_config import RUNTIME_FIELDS
from q2_metric.text.given import all_text, kind

_LOG = logging.getLogger(__name__)
GROUP = "q2_metric.metrics"
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
METRICS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("groundedness", "groundedness", "q2_metric.metrics.groundedness:Groundedness",
              settings="q2_metric.metrics.groundedness:GroundednessSettings", details="parts",
              runtime=RUNTIME_FIELDS, cached=True, probability=True, bases=("scale",),
              gloss="probability that people would judge the response supported; 1 is best",
              evidence=True),
        Entry("q2", "Q²", "q2_metric.metrics.q2:Q2", details="questions", cached=True,
              settings="q2_metric.metrics.settings:Q2Settings", runtime=RUNTIME_FIELDS,
              models=("question_model", "reader_model", "nli_model", "coreference_model"),
              more=(MetricColumn("q2_no_nli", "Q² without NLI", "no_nli",
                                 "q2_metric.metrics.q2:without_nli",
                                 "the same, answers compared by their words alone; 1 is best"),),
              gloss="share of the answers about the response that the knowledge also gives; "
                    "1 is best"),
        Entry("scale", "SCALE", "q2_metric.metrics.scale:Scale", details="sentences", cached=True,
              settings="q2_metric.metrics.settings:ScaleSettings", models=("scale_model",),
              runtime=RUNTIME_FIELDS, evidence=True, probability=True,
              gloss="how far the knowledge supports each sentence, on average; 1 is best"),
        Entry("knowledge_f1", "token F1", "q2_metric.metrics.overlap:TokenF1", any_text=True,
              gloss="words that response and knowledge share; 1 is best"),
        Entry("overlap", "overlap", "q2_metric.metrics.overlap:OverlapF1", any_text=True,
              gloss="content words that response and knowledge share; 1 is best"),
        Entry("word_share", "content words found", "q2_metric.metrics.overlap:WordShare",
              any_text=True,
              gloss="share of the response's content words that the knowledge has; 1 is best"),
        Entry("knowledge_bleu", "BLEU", "q2_metric.metrics.overlap:Bleu", any_text=True,
              gloss="runs of words that response and knowledge share; 1 is best"),
        Entry("nli", "end-to-end NLI", "q2_metric.metrics.nli:EndToEndNli", cached=True,
              settings="q2_metric.metrics.nli:NliSettings", models=("nli_model",),
              runtime=RUNTIME_FIELDS,
              gloss="whether the knowledge as a whole implies the response; 1 is best"),
        Entry("bertscore", "BERTScore", "q2_metric.metrics.bertscore:BertScore", cached=True,
              models=("bertscore_model",), runtime=("device", "batch_size", "any_language"),
              gloss="words of the response with a similar word in the knowledge; 1 is best"))}
"""By name, in the order in which metrics are shown."""
AGAINST_GOLD = {"f1": "knowledge_f1", "bleu": "knowledge_bleu"}
"""Metrics that compare with a reference response, and ours that compare with the knowledge."""
DEFAULT = ("groundedness", "q2", "scale")
"""If the caller names no metric. Groundedness adds little cost to the other two."""
PAPERS = ("q2", "scale")
"""The default of presets without groundedness, and of integrations named after the papers."""


def entry(name: str) -> Entry:
    """For a name that is not registered, the entry contains only the name."""
    return METRICS.get(name) or Entry(name, name, "")


def know(entries: Iterable[Entry]) -> None:
    """Registers metrics that another process has registered. A name that is known is ignored."""
    for metric in entries:
        if metric.loader:
            METRICS.setdefault(metric.name, metric)


def columns(names: Iterable[str] | None = None) -> dict[str, MetricColumn]:
    """By column name and in order; ``None`` means all metrics."""
    return {column.name: column for name in (METRICS if names is None else names)
            for column in entry(name).columns}


def of_column(name: str) -> tuple[Entry, MetricColumn]:
    known = {column.name: (metric, column)
             for metric in METRICS.values() for column in metric.columns}
    return known.get(name) or (entry(name), entry(name).columns[0])


def title(column: str) -> str:
    """What readers see, such as "Q²" for "q2"."""
    return of_column(column)[1].title


def signatures(signed: Mapping[str, str]) -> dict[str, str]:
    """By column name. ``signed`` has each metric's signature by the metric's name."""
    by_column: dict[str, str] = {}
    for name, text in signed.items():
        by_column |= entry(name).signatures(text)
    return by_column


def models() -> tuple[str, ...]:
    """The keywords with which users replace models of a preset, such as "reader_model"."""
    return tuple(dict.fromkeys(name for metric in METRICS.values() for name in metric.models))


def keywords() -> tuple[str, ...]:
    """All keywords of ``load_metrics``: runtime fields, models and settings."""
    settings = (field.name for metric in METRICS.values() for field in metric.setting_fields())
    return tuple(dict.fromkeys([*RUNTIME_FIELDS, *models(), *settings]))


def check_names(names: Iterable[str] | str) -> list[str]:
    """As :func:`listed`; ``InputError`` also if there is no metric with one of the names."""
    known = listed(names)
    for name in known:
        if name not in METRICS:
            raise InputError(no_such(name))
    return known


def listed(names: Iterable[str] | str) -> list[str]:
    """Lower-case names without repetition. "package.module:Class" registers that metric and becomes
    its name; other names are not checked. Raises ``InputError`` if ``names`` is no list of names or
    the class does not exist."""
    several = names.split(",") if isinstance(names, str) else names
    if not isinstance(several, Iterable) or not all_text(several := list(several)):
        raise InputError(f"metrics are {kind(several)}, not a list of names or \"q2,scale\"")
    known = (_registered(one.strip()) if ":" in one else one.strip().lower() for one in several)
    return [name for name in dict.fromkeys(known) if name]


def _registered(where: str) -> str:
    added = by_path(where)
    known = METRICS.get(added.name)
    if known is None:
        check_name(added, METRICS)
        METRICS[added.name] = added
    elif known.loader != added.loader:
        raise InputError(f"{where} has the name {added.name!r}, which belongs to the metric "
                         f"{known.loader}; give it another name")
    return added.name


def no_such(name: str) -> str:
    """An error message, which suggests a similar name."""
    if name in AGAINST_GOLD:
        return (f"{name!r} compares responses with reference responses; the metric that compares "
                f"them with the knowledge is {AGAINST_GOLD[name]!r}")
    close = difflib.get_close_matches(name, METRICS, n=1)
    meant = MEANT.get(name.replace("-", "_").replace(" ", "_")) or (close[0] if close else "")
    hint = f"; did you mean {meant!r}? The" if meant else (
        "; give your own metric as package.module:Class; the" if "." in name else "; the")
    return f"there is no metric {name!r}{hint} metrics are {', '.join(METRICS)}"


_SIMILAR = {
    "groundedness": "faithfulness faithful hallucination hallucinations grounded factuality "
                    "factual_consistency consistency factual_correctness support supported "
                    "attribution answer_faithfulness",
    "nli": "entailment summac alignscore",
    "knowledge_f1": "token_f1 rouge",
    "bertscore": "bert_score similarity",
    "q2": "qags questeval qafacteval q_squared q²",
}
MEANT = {other: name for name, others in _SIMILAR.items() for other in others.split()}
"""Names of similar metrics in other tools, each mapped to the name of our metric."""


def warn_of_unused(given: Mapping[str, Any], names: Sequence[str]) -> None:
    used = {*RUNTIME_FIELDS, *(keyword for name in names for keyword in entry(name).keywords())}
    for keyword, value in given.items():
        if value is not None and keyword not in used:
            takers = [metric.name for metric in METRICS.values() if keyword in metric.keywords()]
            _LOG.warning("%s has no effect here: only %s uses it, and this run computes %s",
                         keyword, ", ".join(takers), ", ".join(names))


# --- metrics outside of this package: by a path "package.module:Class", or by an entry point of the
# group ``q2_metric.metrics`` that names a class or its Entry. Their modules are imported whenever
# metrics are listed. They must not import this module.


def by_path(where: str) -> Entry:
    """Imports a metric or its :class:`Entry` at "package.module:Class"; ``InputError`` if none."""
    if not _PATH.fullmatch(where):
        raise InputError(f"the metric {where!r} is not of the form package.module:Class")
    try:
        one = named(where)
    except Exception as error:  # importing other code can raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the metric {where} cannot be imported: {why}") from error
    if isinstance(one, Entry):
        return one
    own = getattr(one, "name", None)
    if not isinstance(one, type) or not isinstance(own, str) or not callable(
            getattr(one, "score", None)):
        raise InputError(
            f"the metric {where} is not a class with a name, a signature and a method score")
    return Entry(own, own, where)


def check_name(entry: Entry, others: Mapping[str, Entry]) -> None:
    """Raises ``InputError`` if a name of the metric or a column is invalid, reserved or used."""
    if entry.name in others:
        raise InputError(f"the name {entry.name!r} already belongs to the metric "
                         f"{others[entry.name].loader}")
    taken = {column.name for one in others.values() for column in one.columns}
    for column in entry.columns:
        if not _NAME.fullmatch(column.name):
            raise InputError(f"the name {column.name!r} of a metric or column is not valid; a name "
                             "may contain only small letters, digits and _")
        if column.name in RESERVED or column.name in taken:
            raise InputError(f"the name {column.name!r} already belongs to a column of outputs; "
                             "give the metric another name")


def installed(ours: Mapping[str, Entry]) -> dict[str, Entry]:
    """By name, without the metrics that cannot be used; for each of these a warning is logged."""
    entries: dict[str, Entry] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            entry = by_path(f"{point.module}:{point.attr}")
            check_name(entry, {**ours, **entries})
        except InputError as error:
            package = point.dist.name if point.dist else "?"
            _LOG.warning("the metric %r of the package %s is left out: %s",
                         point.name, package, error)
        else:
            entries[entry.name] = entry
    return entries


METRICS |= installed(METRICS)
