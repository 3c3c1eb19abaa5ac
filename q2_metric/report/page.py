"""Writes the report page: a single HTML file that needs no other file and no internet access.

It contains the scores and rows as JSON, which the scripts in this folder show. Rows wait in a
temporary file and are written one by one, so the memory does not grow with their number.
"""

import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import IntFlag
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from q2_metric._version import __version__
from q2_metric.engine.result import SystemRun
from q2_metric.files import replacing
from q2_metric.metrics.registry import columns, of_column, title
from q2_metric.metrics.signature import shortened
from q2_metric.report import MARK, systems
from q2_metric.report.findings import DROPPED, MEANINGS, NO_SUPPORT, SIGNS, shipped, view
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.plain import NONE, REASONS, number, percent
from q2_metric.rows.writers import each_text
from q2_metric.scoring.outcome import CLAIMLESS
from q2_metric.scoring.verdict import GATED, VerdictCounts, unsupported

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that HTML does not allow, and lone surrogates, which UTF-8 does not allow."""

_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026",
                            "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""Afterwards the JSON contains neither ``</script>`` nor ``<!--``."""

Flag = IntFlag("Flag", [
    "ERROR", "ASKED", "DIFFERS", "UNANSWERED", "SUPPORTED", "UNSUPPORTED", "CONTRADICTED",
    "MISCITED", "CLAIMED", "SILENT"])
"""Properties by which a reader can filter rows. ``browse.js`` uses the same numbers."""


def write_page(path: str | Path, runs: Sequence[SystemRun], rows: Iterable[OutputRow]) -> None:
    """Writes the report page; an existing page is replaced only when the new one is complete.
    ``rows`` are those of all systems, one system after the other; they are iterated several times.
    Raises InputError if the file cannot be written."""
    steps = systems.series([run.name for run in runs], [run.date for run in runs])
    comparisons = systems.compare_runs(runs, rows, neighbours=steps is not None)
    with_first = [comparison for comparison in comparisons if comparison.against == 0]
    measured = [shipped().covers(score.signature for score in run.scores) for run in runs]
    verdicts = [VerdictCounts() for _ in runs]
    for place, row in zip(systems.places(runs), rows, strict=True):
        verdicts[place].add(row)
    groups = systems.groupings(runs, rows)
    facts: dict[str, Any] = {
        "systems": [run.name for run in runs],
        **_facts([score.name for run in runs for score in run.scores], measured),
        "pairs": [{"system": c.system, "against": c.against, "rows": c.pairs}
                  for c in comparisons],
        "series": None if steps is None else {
            **asdict(steps), "curves": systems.curves(runs, verdicts)},
        "groups": list(map(asdict, groups)),
        "grouped": systems.chosen(groups, runs),
        # By system, the columns in whose means a response without a claim counts as 0.
        "zero": [[score.name for score in run.scores] if run.no_claim == "zero" else []
                 for run in runs],
    }
    page = _page(
        facts, runs=runs, verdicts=verdicts, gated=GATED,
        # The newest of dated runs or checkpoints comes first, and is compared.
        order=list(range(len(runs)))[::-1 if steps else 1],
        versus=[c for c in (with_first[-1:] if steps else with_first) if c.deciding],
        several=len(runs) > 1, comparisons=with_first, reach=_reach(with_first), mixed=_mixed(runs),
        signed=any(score.signature for run in runs for score in run.scores),
        rows=json_rows(rows, systems.places(runs), list(facts["titles"]), measured, groups))
    with replacing(Path(path)) as unfinished, \
            open(unfinished, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(page)


def explanation(row: OutputRow, signatures: Sequence[str] = ()) -> str:
    """The HTML of a page that shows a single response and, below it, signatures."""
    measured = [shipped().covers(signatures)]
    facts = {"alone": True, **_facts([name for name in columns() if name in row], measured)}
    rows = json_rows([row], [0], list(facts["titles"]), measured)
    return "".join(_page(facts, rows=rows, signatures=signatures))


def _facts(shown: Sequence[str], measured: Sequence[Collection[str]]) -> dict[str, Any]:
    """Data for the page on the columns ``shown``. ``metrics`` has each metric's columns, main one
    first. ``measured`` has, for each system, the kinds of evidence that were measured with its
    models."""
    # Columns of the registry come first, in its order.
    names = [name for name in dict.fromkeys([*columns(), *shown]) if name in shown]
    owners = {name: of_column(name)[0] for name in names}
    table = shipped()
    return {
        "titles": {name: title(name) for name in names},
        "metrics": [
            {"columns": [name for name in names if owners[name] == metric],
             "details": metric.details,
             **({} if metric.evidence_class() is None else {"listed": metric.listed})}
            for metric in dict.fromkeys(owners.values())],
        "measured": [bool(covered) for covered in measured],
        "findings": {kind: [finding.share, finding.low, finding.high, finding.n]
                     for kind, finding in table.findings.items()} if any(measured) else {},
        "glosses": {name: of_column(name)[1].gloss for name in shown},
        "ranked": {name: table.ranked[name] for name in shown
                   if any(measured) and name in table.ranked},
        "words": {"signs": SIGNS, "meanings": MEANINGS, "dropped": DROPPED,
                  "no_support": NO_SUPPORT, "reasons": REASONS},
    }


def _page(facts: Mapping[str, Any], **values: Any) -> Iterator[str]:
    """Fills in the template with ``facts``, which the scripts of the page also read, and values."""
    names = ["report.css", "marks.js", "explain.js"]
    if not facts.get("alone"):
        names += ["runs.js", "agree.js", "groups.js", "label.js", "browse.js"]
    style, *scripts = (
        files(__package__).joinpath(name).read_text(encoding="utf-8") for name in names)
    return map(safe, _template()(
        {"alone": False, **facts, **values}, facts=facts, scripts=scripts, style=style,
        mark=MARK, dash=NONE, version=__version__))


@cache
def _template() -> Callable[..., Iterator[str]]:
    """A function that yields the page in pieces, from the values that its template needs."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("q2_metric", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": number, "signed": _signed, "percent": percent,
                            "count": "{:,}".format, "shortened": shortened, "json": to_json,
                            "source_hash": source_hash}
    return environment.get_template("page.html.j2").generate


def _mixed(runs: Sequence[SystemRun]) -> list[str]:
    """The score columns for which the systems used different models or settings."""
    signatures = defaultdict[str, set[str]](set)
    for run in runs:
        for score in run.scores:
            signatures[score.name].add(score.signature)
    return [name for name, known in signatures.items() if len(known - {""}) > 1]


def _reach(comparisons: Sequence[systems.SideBySide]) -> float:
    """The right end of the axis of differences: all intervals fit."""
    ends = [abs(end) for c in comparisons for d in c.differences for end in d.interval or ()]
    return next((reach for reach in (0.05, 0.1, 0.2, 0.5) if reach >= max(ends, default=1)), 1)


def _signed(value: float | None) -> str:
    """With a true minus sign."""
    text = NONE if value is None else f"{value:+.3f}".replace("-", "−")
    return "±0.000" if text[1:] == "0.000" else text


def flags(row: OutputRow) -> Flag:
    """The properties of a row that comes from :func:`~q2_metric.report.findings.view`."""
    states = [question["state"] for question in row["questions"]]
    claims = row.get("claims") or ()
    return Flag(
        Flag.ERROR * (row.get("error") is not None)
        | Flag.ASKED * bool(states)
        | Flag.DIFFERS * ("differs" in states)
        | Flag.UNANSWERED * any(question["how"] == "no_answer" for question in row["questions"])
        | Flag.SUPPORTED * (bool(states) and set(states) == {"supported"})
        | Flag.UNSUPPORTED * bool(unsupported(claims))
        | Flag.CONTRADICTED * any(claim["verdict"] == "contradicted" for claim in claims)
        | Flag.CLAIMED * bool(claims)
        | Flag.MISCITED * any(claim.get("citation") == "wrong passage" for claim in claims)
        | Flag.SILENT * (row.get("reason") in CLAIMLESS)
    )


def json_rows(
    rows: Iterable[OutputRow], places: Iterable[int], columns: Sequence[str],
    measured: Sequence[Collection[str]], groupings: Sequence[systems.Grouping] = (),
) -> Iterator[str]:
    """Yields each row as a line of JSON, ``[numbers, row]``.

    The page parses the numbers of all rows, but parses a row only to show it. They are: index of
    the row's system (``places``), :class:`Flag`, human label (1, 0 or null), lowest support of an
    unsupported claim or null, the scores, and for each grouping a bit mask of the row's groups.
    ``measured`` has the argument of :func:`~q2_metric.report.findings.view` for each system.
    """
    for index, (row, place) in enumerate(zip(rows, places, strict=True)):
        shown = {**view(row, measured[place]), "system": place}
        for field in ("questions", "claims"):
            if shown.get(field):  # without null values, and ``plain``, which the row repeats
                shown[field] = [{name: value for name, value in item.items()
                                 if value is not None and name != "plain"}
                                for item in shown[field]]
        label = row.get("label")
        failed = unsupported(shown.get("claims") or ())
        numbers = [place, int(flags(shown)), None if label is None else int(label),
                   min((claim["support"] for claim in failed), default=None),
                   *(row.get(name) for name in columns),
                   *(grouping.bits(row) for grouping in groupings)]
        yield f"{',' * bool(index)}\n[{to_json(numbers)},{to_json(shown)}]"


def to_json(value: object) -> str:
    """Encodes a value as JSON that can stand in a script element of an HTML page."""
    return json.dumps(each_text(value, safe), ensure_ascii=False, allow_nan=False,
                      separators=(",", ":")).translate(_IN_SCRIPT)


def source_hash(text: str) -> str:
    """The source "'sha256-…'" of a Content-Security-Policy for a script or style with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def safe(text: str) -> str:
    """Replaces characters that HTML does not allow by U+FFFD. Character offsets stay the same."""
    return _UNSAFE.sub("�", text)
