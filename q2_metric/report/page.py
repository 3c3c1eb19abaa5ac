"""Writes the report page: a single HTML file that needs no other file and no internet access.

The file contains the systems' scores and then the rows, as JSON. These scripts show them:

- ``marks.js`` marks claims and passages in texts;
- ``explain.js`` shows a response with the evidence of its scores;
- ``browse.js`` lists, filters and sorts the responses;
- ``agree.js`` shows how the scores agree with human labels;
- ``label.js`` stores labels that the reader gives on the page, and saves rows to a file;
- ``groups.js`` compares groups of rows, such as the models;
- ``runs.js`` shows how the scores change over checkpoints or dates.

Rows are stored in a temporary file (:class:`~q2_metric.report.spool.Spool`) and written one by one,
so the memory does not grow with the number of rows. Only the ids and scores that a comparison of
systems needs are all in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric._version import __version__
from q2_metric.files import has_mark, replacing
from q2_metric.metrics.registry import columns, of_column, title
from q2_metric.metrics.signature import shortened
from q2_metric.report.compare import How
from q2_metric.report.encode import json_rows, safe, source_hash, to_json
from q2_metric.report.findings import MEANINGS, NO_SUPPORT, SIGNS, shipped
from q2_metric.report.groups import chosen, groupings
from q2_metric.report.spool import Spool, spool
from q2_metric.report.systems import SideBySide, SystemRun, compare_runs, curves, places, series
from q2_metric.report.view import DROPPED
from q2_metric.report.words import WORDS
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.plain import REASONS
from q2_metric.scoring.verdict import VerdictCounts

if TYPE_CHECKING:
    from jinja2 import Environment

    from q2_metric.engine.result import FileResult

MATCHED_BY: Mapping[How, str] = {
    "id": "id",
    "number": "row number, because the files have no ids",
    "knowledge": "knowledge, question and history",
    "order": "row number, because the texts are unknown",
}
"""What the page says about how the rows of two systems were matched."""

_NONE = "–"

_MOST_VERDICTS = 4
"""At the top, the page says how many responses have an unsupported claim, for at most this many
systems. The others are folded away."""

_CHUNK = 64
"""Number of pieces of the rendered template that are written at a time."""


@contextmanager
def open_page(path: str | Path, results: Sequence[FileResult]) -> Iterator[Spool]:
    """A context for collecting rows. When it ends without an error, the report page is written.

    Args:
        path: path of the page.
        results: the result of each scored file. The list is read when the context ends, so the
            caller can add results until then.

    Raises:
        InputError: the file cannot be written.
    """
    with spool() as rows:
        yield rows
        runs = [SystemRun(result.file, result.rows, result.failed, result.systems,
                          group_by=tuple(result.groups)) for result in results]
        write_page(path, runs, rows)


def write_page(path: str | Path, runs: Sequence[SystemRun], rows: Iterable[OutputRow]) -> None:
    """Writes the report page. An existing page is replaced only when the new page is complete.

    Args:
        path: path of the page.
        runs: the systems. Each is compared with the first.
        rows: the output rows of all systems, one system after the other. They are iterated several
            times.

    Raises:
        InputError: the file cannot be written.
    """
    with replacing(Path(path)) as unfinished, \
            open(unfinished, "w", encoding="utf-8") as file:
        file.writelines(_rendered(runs, rows))


def is_page(path: str | Path) -> bool:
    """Whether a file is a report page that :func:`write_page` wrote."""
    return has_mark(path, _MADE_BY)


_MADE_BY = b'<meta name="generator" content="q2-metric">'
"""A line that every report page contains. It tells report pages from other files."""


def explanation(row: OutputRow, signatures: Sequence[str] = ()) -> str:
    """The HTML of a page that shows a single response. Another page can show it in a frame.

    Args:
        row: the output row of the response, with its texts.
        signatures: lines to show below the response. Each records a metric's models and settings.
    """
    shown = [name for name in columns() if name in row]
    measured = shipped().covers(signatures)
    facts = {"alone": True, **_named(shown), **_measured(shown, [measured])}
    page = _environment().get_template("page.html.j2").generate(
        **_parts(facts),
        alone=True,
        rows=json_rows([row], [0], list(facts["titles"]), [measured]),
        signatures=signatures,
    )
    return "".join(map(safe, page))


def _rendered(runs: Sequence[SystemRun], rows: Iterable[OutputRow]) -> Iterator[str]:
    """Yields the HTML of the report page in pieces. Each row is read only when it is needed."""
    steps = series([run.name for run in runs], [run.date for run in runs])
    comparisons = compare_runs(runs, rows, neighbours=steps is not None)
    with_first = [comparison for comparison in comparisons if comparison.against == 0]
    shown = [score.name for run in runs for score in run.scores]
    measured = [shipped().covers(score.signature for score in run.scores) for run in runs]
    verdicts = _verdicts(runs, rows)
    named = _named(shown)
    groups = groupings(runs, rows, list(named["titles"]))
    facts = {
        "systems": [run.name for run in runs],
        **named,
        **_measured(shown, measured),
        "pairs": [{"system": c.system, "against": c.against, "rows": c.pairs}
                  for c in comparisons],
        "series": None if steps is None else {**asdict(steps), "curves": curves(runs, verdicts)},
        "groups": [group.as_json() for group in groups],
        "grouped": chosen(groups, runs),
        # By system, the columns in whose means a response without a claim counts as 0.
        "zero": [[score.name for score in run.scores] if run.no_claim == "zero" else []
                 for run in runs],
    }
    stream = _environment().get_template("page.html.j2").stream(
        **_parts(facts),
        alone=False,
        runs=runs,
        verdicts=verdicts,
        # The newest of dated runs or checkpoints comes first.
        order=list(range(len(runs)))[::-1 if steps else 1],
        most=_MOST_VERDICTS,
        several=len(runs) > 1,
        matched_by=MATCHED_BY,
        comparisons=with_first,
        reach=_reach(with_first),
        signed=any(score.signature for run in runs for score in run.scores),
        mixed=_mixed(runs),
        series=steps,
        rows=json_rows(rows, places(runs), list(facts["titles"]), measured, groups),
    )
    stream.enable_buffering(_CHUNK)
    return (safe(text) for text in stream)


def _verdicts(runs: Sequence[SystemRun], rows: Iterable[OutputRow]) -> list[VerdictCounts]:
    """Counts, for each system, how many of its responses have an unsupported claim."""
    verdicts = [VerdictCounts() for _ in runs]
    for place, row in zip(places(runs), rows, strict=True):
        verdicts[place].add(row)
    return verdicts


def _named(shown: Sequence[str]) -> dict[str, Any]:
    """The titles and metrics of the score columns ``shown``, as data for the page.

    The result has two keys. "titles" contains the title of each column. "metrics" contains, for
    each metric, its columns (the main column first) and its kind of evidence.
    """
    known = columns()
    names = [*(name for name in known if name in shown),
             *(name for name in dict.fromkeys(shown) if name not in known)]
    metrics: dict[str, dict[str, Any]] = {}
    for name in names:
        metric, _ = of_column(name)
        described = metrics.setdefault(metric.name, {"columns": [], "details": metric.details})
        described["columns"].append(name)
    return {
        "titles": {name: title(name) for name in names},
        "metrics": list(metrics.values()),
    }


def _measured(shown: Sequence[str], measured: Sequence[Collection[str]]) -> dict[str, Any]:
    """How often people agree with findings, and the words that describe scores and findings, as
    data for the page.

    Args:
        shown: names of the score columns on the page.
        measured: for each system, the kinds of evidence for which agreement was measured with its
            models and settings. Empty if it was not measured.
    """
    table = shipped()
    return {
        "measured": [bool(covered) for covered in measured],
        "findings": {kind: [finding.share, finding.low, finding.high, finding.n]
                     for kind, finding in table.findings.items()} if any(measured) else {},
        "glosses": {name: of_column(name)[1].gloss for name in shown},
        "ranked": {name: table.ranked[name] for name in shown
                   if any(measured) and name in table.ranked},
        "words": {"signs": SIGNS, "meanings": MEANINGS, "dropped": DROPPED,
                  "no_support": NO_SUPPORT, "reasons": REASONS},
    }


def _parts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of the template that every page needs: scripts, style and data."""
    from markupsafe import Markup

    style, *scripts = (
        files(__package__).joinpath(name).read_text(encoding="utf-8")
        for name in ("report.css", "marks.js", "explain.js",
                     *(() if facts.get("alone") else
                       ("runs.js", "agree.js", "groups.js", "label.js", "browse.js")))
    )
    return {
        "scripts": [Markup(script) for script in scripts],
        "style": Markup(style),
        "script_hashes": [source_hash(script) for script in scripts],
        "style_hash": source_hash(style),
        "facts": Markup(to_json(facts)),
        "titles": facts["titles"],
        "glosses": facts["glosses"],
        "ranked": facts["ranked"],
        "findings": facts["findings"],
        "words": WORDS,
        "dash": _NONE,
        "version": __version__,
    }


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("q2_metric", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "signed": _signed, "percent": _percent,
                            "count": "{:,}".format, "shortened": shortened}
    return environment


def _mixed(runs: Sequence[SystemRun]) -> list[str]:
    """The score columns for which the systems used different models or settings."""
    signatures: dict[str, set[str]] = {}
    for score in (score for run in runs for score in run.scores):
        signatures.setdefault(score.name, set()).add(score.signature)
    return [name for name, known in signatures.items() if len(known - {""}) > 1]


def _reach(comparisons: Sequence[SideBySide]) -> float:
    """The value at the right end of the axis on which differences are drawn.

    It is chosen so that all intervals fit on the axis.
    """
    ends = [abs(end) for c in comparisons for d in c.differences for end in d.interval or ()]
    return next((reach for reach in (0.05, 0.1, 0.2, 0.5) if reach >= max(ends, default=1)), 1)


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    """A number with three decimals and its sign, such as "+0.120" or "−0.120" (a true minus)."""
    if value is None:
        return _NONE
    text = f"{value:+.3f}".replace("-", "−")
    return "±0.000" if text[1:] == "0.000" else text


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{share:.1%}"
