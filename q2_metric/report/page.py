"""Writes the page: one HTML file that needs nothing else.

The system's scores come first on the page and are known last. So rows go into a
:class:`Spool` on disk while they are scored, and :func:`write_page` renders them one by
one: memory does not grow with the number of rows.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from q2_metric._version import __version__
from q2_metric.errors import InputError
from q2_metric.io import STDIN, OutputRow
from q2_metric.render import NONE, TITLES
from q2_metric.types import Example

if TYPE_CHECKING:
    from q2_metric.engine.results import FileResult
    from q2_metric.io import BadRow

State = Literal["supported", "differs", "open"]
"""What the questions about a span found; ``open``: no answer, or a neutral verdict."""

SIGNS: Mapping[State, str] = {"supported": "✓", "differs": "✗", "open": "?"}
MEANINGS: Mapping[State, str] = {
    "supported": "supported by the knowledge",
    "differs": "differs from the knowledge",
    "open": "not answered by the knowledge, or undecided",
}

_WORST_FIRST: tuple[State, ...] = ("differs", "open", "supported")

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that HTML does not allow, and lone surrogates, which UTF-8 does not."""

_CHUNK = 64
"""Pieces of the page written at a time."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a response: in spans of one state or in none; ``sign`` where one ends."""

    text: str
    state: State | None = None
    sign: State | None = None


class Spool:
    """The rows of the page, in order, in a file that is open for writing and reading."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, rows: Sequence[Example | BadRow], found: Sequence[OutputRow]) -> None:
        """Appends rows with what :func:`q2_metric.io.output_row` made of them."""
        for row, out in zip(rows, found, strict=True):
            shown: dict[str, Any] = {"found": out}
            if isinstance(row, Example):
                shown["response"] = row.response
                shown["knowledge"] = row.knowledge
                shown["history"] = row.history
            self._file.write(json.dumps(shown) + "\n")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)


@contextmanager
def open_page(path: str | Path, results: Sequence[FileResult]) -> Iterator[Spool]:
    """Takes the rows, and writes the page at the end, unless there was an error.

    Args:
        path: file to write.
        results: looked at when the page is written; may be filled until then.

    Raises:
        InputError: the file cannot be written.
    """
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        spool = Spool(file)
        yield spool
        write_page(path, results, spool)


def write_page(
    path: str | Path, results: Sequence[FileResult], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Writes the page; a page that is already there stays until the new one is complete.

    Args:
        path: file to write.
        results: the system's scores, file by file.
        rows: of all files, in the order of the results, as a :class:`Spool` gives them:
            ``found`` is the row of the output, next to it ``response``, ``knowledge``
            and ``history`` where the row could be read.

    Raises:
        InputError: the file cannot be written.
    """
    path = Path(path)
    unfinished = path.with_name(path.name + ".tmp")
    try:
        with open(unfinished, "w", encoding="utf-8") as file:
            file.writelines(_UNSAFE.sub("�", text) for text in _rendered(results, rows))
        os.replace(unfinished, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


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


def _rendered(results: Sequence[FileResult], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The page in pieces; a row is taken only when its turn comes."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("q2_metric", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["percent"] = _percent
    remaining = iter(rows)
    stream = environment.get_template("page.html.j2").stream(
        results=results,
        files=((result, islice(remaining, result.rows)) for result in results),
        titles=TITLES,
        dash=NONE,
        signs=SIGNS,
        meanings=MEANINGS,
        pieces=pieces,
        state=state,
        version=__version__,
    )
    stream.enable_buffering(_CHUNK)
    yield from stream


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"


def state(question: Mapping[str, Any]) -> State:
    """What one question found.

    Args:
        question: an item of ``questions`` of the output.
    """
    if question["how"] == "no_answer" or question["verdict"] == "neutral":
        return "open"
    return "supported" if question["score"] >= 0.5 else "differs"


def pieces(response: str, questions: Sequence[Mapping[str, Any]]) -> list[Piece]:
    """The response, cut where spans begin and end; joined, the texts are the response.

    Where spans overlap or a span has several questions, the worst state is shown.

    Args:
        response: the whole text.
        questions: items of ``questions`` of the output.
    """
    spans: list[tuple[int, int, State]] = []
    for question in questions:
        start = question["start"]
        end = start + len(question["span"])
        # Places are those of the resolved response where coreference was resolved.
        if end > start and response[start:end] == question["span"]:
            spans.append((start, end, state(question)))
    edges = sorted({0, len(response), *(edge for span in spans for edge in span[:2])})
    return [
        Piece(
            response[left:right],
            _worst(state for start, end, state in spans if start < right and end > left),
            _worst(state for _, end, state in spans if end == right),
        )
        for left, right in pairwise(edges)
    ]


def _worst(states: Iterable[State]) -> State | None:
    found = set(states)
    return next((state for state in _WORST_FIRST if state in found), None)
