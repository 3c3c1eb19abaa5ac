"""The registry of metrics: an :class:`Entry` for each, and lookups for other modules.

A metric is a file with a class that implements :class:`q2_metric.types.Metric`, and one entry in
:data:`METRICS`. The command line, reports and plug-ins read a metric's name, title, columns,
settings and models from its entry. So their code contains no metric's name. Importing this module
is fast, because a metric's class is loaded at its first use.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from q2_metric.errors import InputError
from q2_metric.metrics.entry import Details as Details
from q2_metric.metrics.entry import Entry as Entry
from q2_metric.metrics.entry import MetricColumn as MetricColumn
from q2_metric.metrics.others import by_path, check_name, installed
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.runtime_config import RUNTIME_FIELDS
from q2_metric.text.given import all_text, kind

_LOG = logging.getLogger(__name__)

METRICS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "groundedness", "groundedness", "q2_metric.metrics.groundedness:Groundedness",
            settings="q2_metric.metrics.groundedness:GroundednessSettings",
            details="parts", runtime=RUNTIME_FIELDS, cached=True, probability=True,
            bases=("scale", "q2"), evidence=True,
            gloss="probability that people would judge the response supported; 1 is best",
        ),
        Entry(
            "q2", "Q²", "q2_metric.metrics.q2:Q2",
            settings="q2_metric.metrics.q2_settings:Q2Settings",
            more=(MetricColumn("q2_no_nli", "Q² without NLI", "no_nli",
                               "q2_metric.metrics.q2:without_nli",
                               "the same, answers compared by their words alone; 1 is best"),),
            gloss="share of the answers about the response that the knowledge also gives; "
                  "1 is best",
            details="questions",
            models=("question_model", "reader_model", "nli_model", "coreference_model"),
            runtime=RUNTIME_FIELDS, cached=True,
        ),
        Entry(
            "scale", "SCALE", "q2_metric.metrics.scale:Scale",
            settings="q2_metric.metrics.scale:ScaleSettings",
            details="sentences", models=("scale_model",),
            runtime=RUNTIME_FIELDS, cached=True, evidence=True, probability=True,
            gloss="how far the knowledge supports each sentence, on average; 1 is best",
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
            models=("nli_model",), runtime=RUNTIME_FIELDS, cached=True,
            gloss="whether the knowledge as a whole implies the response; 1 is best",
        ),
        Entry(
            "bertscore", "BERTScore", "q2_metric.metrics.bertscore:BertScore",
            models=("bertscore_model",), runtime=("device", "batch_size"), cached=True,
            gloss="words of the response with a similar word in the knowledge; 1 is best",
        ),
    )
}
"""Entries by name, in the order in which they are shown."""

METRICS |= installed(METRICS)


AGAINST_GOLD = {"f1": "knowledge_f1", "bleu": "knowledge_bleu"}
"""Names that other frameworks use for comparisons with reference responses. Each is mapped to the
metric that makes the same comparison with the knowledge."""

DEFAULT = ("groundedness", "q2", "scale")
"""The metrics that are computed if the caller names none. Groundedness is computed from the scores
of the other two, so it adds little cost."""

PAPERS = ("q2", "scale")
"""The papers' metrics. They are the default of integrations that are named after the papers, and of
presets for which groundedness was not fitted."""


def entry(name: str) -> Entry:
    """The entry of the metric with this name. An unregistered name gets a minimal entry."""
    return METRICS.get(name) or Entry(name, name, "")


def know(entries: Iterable[Entry]) -> None:
    """Registers metrics from another process. Metrics that are registered already stay as they are.
    """
    for metric in entries:
        if metric.loader:
            METRICS.setdefault(metric.name, metric)


def columns(names: Iterable[str] | None = None) -> dict[str, MetricColumn]:
    """The columns of these metrics, by column name and in order. Without names, the columns of all
    metrics."""
    return {
        column.name: column
        for name in (METRICS if names is None else names)
        for column in entry(name).columns
    }


def of_column(name: str) -> tuple[Entry, MetricColumn]:
    """The metric that has the column with this name, and the column itself."""
    for metric in METRICS.values():
        for column in metric.columns:
            if column.name == name:
                return metric, column
    one = entry(name)
    return one, one.columns[0]


def title(column: str) -> str:
    """A column's title for people. A metric that is not registered keeps its own name."""
    return of_column(column)[1].title


def signatures(signed: Mapping[str, str]) -> dict[str, str]:
    """The signature of each column, by column name. ``signed`` has the signature of each metric, by
    name."""
    by_column: dict[str, str] = {}
    for name, text in signed.items():
        by_column |= entry(name).signatures(text)
    return by_column


def models() -> tuple[str, ...]:
    """The keywords of all metrics that replace a preset's model."""
    return tuple(dict.fromkeys(name for metric in METRICS.values() for name in metric.models))


def keywords() -> tuple[str, ...]:
    """All keywords of ``load_metrics``: those for the runtime, models and settings."""
    settings = (field.name for metric in METRICS.values() for field in metric.setting_fields())
    return tuple(dict.fromkeys([*RUNTIME_FIELDS, *models(), *settings]))


def check_names(names: Iterable[str] | str) -> list[str]:
    """Normalises and checks names of metrics, given as a sequence or as a text like "q2,scale".

    Raises:
        InputError: a metric is unknown.
    """
    known = listed(names)
    for name in known:
        if name not in METRICS:
            raise InputError(no_such(name))
    return known


def listed(names: Iterable[str] | str) -> list[str]:
    """Normalises names of metrics: lower case, each name once. The metrics need not exist.

    A name "package.module:Class" registers that metric and is replaced by the metric's own name.

    Raises:
        InputError: the value is not a list of names, or the class does not exist.
    """
    several = names.split(",") if isinstance(names, str) else names
    if not isinstance(several, Iterable) or not all_text(several := list(several)):
        raise InputError(f"metrics are {kind(several)}, not a list of names or \"q2,scale\"")
    known = (_registered(one.strip()) if ":" in one else one.strip().lower() for one in several)
    return [name for name in dict.fromkeys(known) if name]


def _registered(where: str) -> str:
    """Registers the metric "package.module:Class" in :data:`METRICS` and returns its name."""
    added = by_path(where)
    if METRICS.get(added.name, added) != added:
        known = METRICS[added.name]
        if known.loader != where:
            raise InputError(f"{where} has the name {added.name!r}, which belongs to the metric "
                             f"{known.loader}; give it another name")
        return known.name
    check_name(added, METRICS)
    METRICS[added.name] = added
    return added.name


def no_such(name: str) -> str:
    """The error message about an unknown metric."""
    if name in AGAINST_GOLD:
        return (f"{name!r} compares with people's responses; "
                f"with the knowledge it is {AGAINST_GOLD[name]!r}")
    close = difflib.get_close_matches(name, METRICS, n=1)
    meant = MEANT.get(name.replace("-", "_").replace(" ", "_")) or (close[0] if close else "")
    hint = f"; did you mean {meant!r}?" if meant else ""
    return f"there is no metric {name!r}{hint} There are {', '.join(METRICS)}" if hint else (
        f"there is no metric {name!r}; there are {', '.join(METRICS)}")


MEANT = {
    **dict.fromkeys(("faithfulness", "faithful", "hallucination", "hallucinations", "grounded",
                     "factuality", "factual_consistency", "consistency", "factual_correctness",
                     "support", "supported", "attribution", "answer_faithfulness"),
                    "groundedness"),
    **dict.fromkeys(("entailment", "summac", "alignscore"), "nli"),
    **dict.fromkeys(("f1", "token_f1", "rouge", "overlap"), "knowledge_f1"),
    **dict.fromkeys(("bert_score", "similarity"), "bertscore"),
    **dict.fromkeys(("qags", "questeval", "qafacteval", "q_squared", "q²"), "q2"),
}
"""Names by which other tools call similar measures, each mapped to our metric's name."""


def check_keywords(given: Iterable[str]) -> None:
    """Checks that each keyword is known to at least one metric.

    Raises:
        InputError: a keyword is unknown; the message suggests the nearest one.
    """
    refuse_unknown(given, keywords(), "keyword")


def together(names: Iterable[str], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keywords for metrics that are computed in one run. If Q² and groundedness are both
    computed, groundedness counts Q²'s questions unless ``asked`` says otherwise."""
    if {"q2", "groundedness"} <= set(names) and given.get("asked") is None:
        return {**given, "asked": "count"}
    return given


def warn_of_unused(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Logs a warning for each setting or model that none of the computed metrics uses."""
    used = {*RUNTIME_FIELDS, *(keyword for name in names for keyword in entry(name).keywords())}
    for keyword, value in given.items():
        if value is not None and keyword not in used:
            takers = [metric.name for metric in METRICS.values() if keyword in metric.keywords()]
            _LOG.warning("%s has no effect here: only %s uses it, and this run computes %s",
                         keyword, ", ".join(takers), ", ".join(names))
