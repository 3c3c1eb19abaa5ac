"""Writes the page: one HTML file that needs nothing else.

The page's head has the systems' scores; the rows follow as JSON: ``explain.js`` shows one of
them and what its scores rest on, ``browse.js`` the list of them.
Rows wait in a :class:`Spool` on disk and are written one by one: memory does not grow with
their number, but for ids and scores where systems are compared.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain, repeat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from q2_metric._version import __version__
from q2_metric.cli.render import NONE, TITLES
from q2_metric.errors import InputError
from q2_metric.files import STDIN, replacing
from q2_metric.report.compare import Column, Difference, How, differences, match
from q2_metric.rows.fields import OutputRow
from q2_metric.types import SystemScore

if TYPE_CHECKING:
    from jinja2 import Environment

    from q2_metric.engine.results import FileResult

State = Literal["supported", "differs", "open"]
"""What a question found; ``open``: no answer, or a neutral verdict."""

MATCHED_BY: Mapping[How, str] = {
    "id": "id",
    "knowledge": "knowledge and history",
    "order": "their order",
}

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that HTML does not allow, and lone surrogates, which UTF-8 does not."""

_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026",
                            "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""JSON in which no ``</script>`` and no ``<!--`` can stand."""

_CHUNK = 64
"""Pieces of the page written at a time."""


@dataclass(frozen=True, slots=True)
class Run:
    """A system on the page: rows, rows that could not be scored, scores by metric.

    A score whose signature is "" has none on record. ``without_texts`` counts scored rows
    whose texts are not known; ``complete`` is false for scores of a run that has not ended.
    """

    name: str
    rows: int
    failed: int
    scores: tuple[SystemScore, ...]
    without_texts: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A system (by place) beside the first one; ``pairs`` are places among all rows."""

    system: int
    how: How
    pairs: list[tuple[int, int]]
    differences: list[Difference]


class Spool:
    """Rows of the output, in order, in a file that is open for writing and reading."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, rows: Iterable[OutputRow]) -> None:
        """Appends rows as :func:`q2_metric.rows.fields.output_row` makes them, with their texts."""
        self._file.writelines(json.dumps(row) + "\n" for row in rows)

    def __iter__(self) -> Iterator[OutputRow]:
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)


@contextmanager
def spool() -> Iterator[Spool]:
    """A spool in a temporary file."""
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        yield Spool(file)


@contextmanager
def open_page(path: str | Path, results: Sequence[FileResult]) -> Iterator[Spool]:
    """Takes the rows, and writes the page at the end, unless there was an error.

    Args:
        path: file to write.
        results: looked at when the page is written; may be filled until then.

    Raises:
        InputError: the file cannot be written.
    """
    with spool() as rows:
        yield rows
        runs = [Run(result.file, result.rows, result.failed, result.systems) for result in results]
        write_page(path, runs, rows)


def write_page(path: str | Path, runs: Sequence[Run], rows: Iterable[OutputRow]) -> None:
    """Writes the page; a page that is already there stays until the new one is complete.

    Args:
        path: file to write.
        runs: the systems; where there are several, the others are compared with the first.
        rows: of all systems, one system after the other; may be asked for several times.

    Raises:
        InputError: the file cannot be written.
    """
    with replacing(Path(path)) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
        file.writelines(_rendered(runs, rows))


def explanation(row: OutputRow, signatures: Sequence[str] = ()) -> str:
    """A page with one response alone, opened, for a frame in another page.

    Args:
        row: of the output, with its texts.
        signatures: shown below.
    """
    page = _environment().get_template("page.html.j2").generate(
        **_parts({"alone": True, "titles": {n: t for n, t in TITLES.items() if n in row}}),
        alone=True,
        rows=_json_rows([row], [0]),
        signatures=signatures,
    )
    return "".join(_UNSAFE.sub("�", text) for text in page)


def check_page(path: str | Path, others: Sequence[str | Path] = ()) -> None:
    """Refuses a path that cannot become the page, without touching the file.

    Args:
        path: file to write later.
        others: files that are read, or written too.

    Raises:
        InputError: no such folder, ``path`` is a folder, or it is one of the others.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise InputError(f"{path}: cannot be written: it is a folder")
    if any(path.resolve() == Path(other).resolve() for other in others if str(other) != STDIN):
        raise InputError(f"{path}: is read or written too; choose another name for the report")


def state(question: Mapping[str, Any]) -> State:
    """What one question found.

    Args:
        question: an item of ``questions`` of the output.
    """
    score = question["score"]
    if score is None or question["how"] == "no_answer" or question["verdict"] == "neutral":
        return "open"
    return "supported" if score >= 0.5 else "differs"


def compare_runs(runs: Sequence[Run], rows: Iterable[OutputRow]) -> list[SideBySide]:
    """Each system after the first beside the first, where their rows can be matched."""
    if len(runs) < 2:
        return []
    columns = [Column() for _ in runs]
    metrics = [[score.name for score in run.scores] for run in runs]
    for place, row in zip(_places(runs), rows, strict=True):
        columns[place].add(row, metrics[place])
    first, found, offset = columns[0], [], runs[0].rows
    for place, (run, column) in enumerate(zip(runs[1:], columns[1:], strict=True), start=1):
        if matched := match(first, column):
            how, pairs = matched
            there = [(a, b + offset) for a, b in pairs]
            found.append(SideBySide(place, how, there, differences(first, column, pairs)))
        offset += run.rows
    return found


def _places(runs: Sequence[Run]) -> Iterator[int]:
    """The place of each row's system."""
    return chain.from_iterable(repeat(place, run.rows) for place, run in enumerate(runs))


# --- rendering -------------------------------------------------------------------------


def _rendered(runs: Sequence[Run], rows: Iterable[OutputRow]) -> Iterator[str]:
    """The page in pieces; a row is taken only when its turn comes."""
    comparisons = compare_runs(runs, rows)
    shown = {score.name for run in runs for score in run.scores}
    facts = {
        "systems": [run.name for run in runs],
        "titles": {name: title for name, title in TITLES.items() if name in shown},
        "pairs": [{"system": c.system, "rows": c.pairs} for c in comparisons],
    }
    stream = _environment().get_template("page.html.j2").stream(
        **_parts(facts),
        alone=False,
        runs=runs,
        several=len(runs) > 1,
        matched_by=MATCHED_BY,
        comparisons=comparisons,
        reach=_reach(comparisons),
        signed=any(score.signature for run in runs for score in run.scores),
        mixed=_mixed(runs),
        rows=_json_rows(rows, _places(runs)),
    )
    stream.enable_buffering(_CHUNK)
    return (_UNSAFE.sub("�", text) for text in stream)


def _parts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the template needs whatever it shows."""
    from markupsafe import Markup

    style, *scripts = (
        files(__package__).joinpath(name).read_text(encoding="utf-8")
        for name in ("report.css", "explain.js", *(() if facts.get("alone") else ("browse.js",)))
    )
    return {
        "scripts": [Markup(script) for script in scripts],
        "style": Markup(style),
        "script_hashes": [_hash(script) for script in scripts],
        "style_hash": _hash(style),
        "facts": Markup(_json(facts)),
        "titles": facts["titles"],
        "dash": NONE,
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
    environment.filters |= {"number": _number, "signed": _signed, "percent": _percent}
    return environment


def _json_rows(rows: Iterable[OutputRow], places: Iterable[int]) -> Iterator[str]:
    from markupsafe import Markup

    for number, (row, place) in enumerate(zip(rows, places, strict=True)):
        questions = [item | {"state": state(item)} for item in row.get("questions") or ()]
        shown = {**row, "questions": questions, "system": place}
        yield Markup((",\n" if number else "") + _json(shown))


def _json(value: object) -> str:
    return json.dumps(_clean(value), ensure_ascii=False, allow_nan=False).translate(_IN_SCRIPT)


def _clean(value: object) -> object:
    """The value with each character that HTML does not allow replaced by one: places stay."""
    if isinstance(value, str):
        return _UNSAFE.sub("�", value)
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


def _hash(text: str) -> str:
    """A source of the content security policy that allows this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _mixed(runs: Sequence[Run]) -> list[str]:
    """Metrics whose scores come from different models or settings."""
    signatures: dict[str, set[str]] = {}
    for score in (score for run in runs for score in run.scores):
        signatures.setdefault(score.name, set()).add(score.signature)
    return [name for name, found in signatures.items() if len(found - {""}) > 1]


def _reach(comparisons: Sequence[SideBySide]) -> float:
    """Where the axis of the differences ends, so that their intervals are on it."""
    ends = [abs(end) for c in comparisons for d in c.differences for end in d.interval or ()]
    return next((reach for reach in (0.05, 0.1, 0.2, 0.5) if reach >= max(ends, default=1)), 1)


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    """With its sign, in typography: −0.120."""
    if value is None:
        return NONE
    text = f"{value:+.3f}".replace("-", "−")
    return "±0.000" if text[1:] == "0.000" else text


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"
