"""The page of ``q2 serve``: a form, and the explanation of the answer that was entered."""

import logging
import re
import threading
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

from markupsafe import escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from q2_metric import scoring
from q2_metric.errors import InputError, Q2Error, machine_fault
from q2_metric.report.page import explanation, source_hash
from q2_metric.serve.queue import LONGEST_ANSWER, LONGEST_SOURCES
from q2_metric.serve.server import Guard, Server, body, check_type
from q2_metric.text.citations import has_labels
from q2_metric.text.given import is_blank
from q2_metric.types import Metric

_LOG = logging.getLogger(__name__)
_FIELDS = ("answer", "sources", "question")
_FORM = "application/x-www-form-urlencoded"


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_STYLE, _SCRIPT = _read("serve.css"), _read("serve.js")
_BARE = f"default-src 'none'; img-src data:; style-src {source_hash(_STYLE)}"
"""The Content-Security-Policy of a page that shows one message."""


class Explainer:
    """Scores one answer at a time, and makes the page that shows the scores and their evidence. It
    loads the models when it is created. Several threads may use the same explainer."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self._lock = threading.Lock()
        self.row("It opened in 1889.", "The tower opened in 1889.")  # loads the models

    def row(self, answer: str, sources: str, question: str = "") -> dict[str, Any]:
        """An answer's output row as ``q2 score --out`` writes it, with the texts and the evidence.
        Raises InputError if a text is too long, not Unicode or, except the question, blank."""
        for name, text, longest in (
            ("answer", answer, LONGEST_ANSWER), ("sources", sources, LONGEST_SOURCES),
            ("question", question, LONGEST_ANSWER),
        ):
            if is_blank(text) and name != "question":
                raise InputError(f"The field “{name}” is empty.")
            if len(text) > longest:
                raise InputError(f"The field “{name}” has {len(text):,} characters; this page "
                                 f"takes at most {longest:,}. Use q2 score for longer texts.")
        example = scoring.given(answer, passages(sources), None, "this page", question)
        with self._lock:
            scored = scoring.ScoredRows.over(self.metrics, [example], evidence=True)
        [row] = scored.explanations(texts=True)
        return row

    def page(self, row: dict[str, Any]) -> str:
        """The HTML page of an output row, as ``q2 report`` shows it."""
        return explanation(row, [metric.signature for metric in self.metrics])


def passages(sources: str) -> str | list[str]:
    """Splits pasted sources into passages: at blank lines, or at each line that is not of a table.

    Sources whose passages are already numbered ("[2] …") are returned unchanged.

    >>> passages("One.\\nStill one.\\n\\nTwo."), passages("One.\\n| a | b |\\n| 1 | 2 |")
    (['One.\\nStill one.', 'Two.'], ['One.', '| a | b |\\n| 1 | 2 |'])
    """
    if has_labels(sources):
        return sources
    blocks = [one for one in re.split(r"\n[^\S\n]*\n", sources) if one.strip()]
    if len(blocks) > 1:
        return blocks
    found: list[str] = []
    for line in filter(str.strip, sources.split("\n")):
        in_table = line.lstrip().startswith("|")
        if in_table and found and found[-1].lstrip().startswith("|"):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def page(explainer: Explainer, server: Server) -> Starlette:
    """The pages at ``/`` and ``/explanation``."""
    html = _read("form.html").replace("{style}", _STYLE).replace("{script}", _SCRIPT)

    form = _shown(html, f"{_BARE}; script-src {source_hash(_SCRIPT)}; frame-src 'self'; "
                  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'")

    async def explain(request: Request) -> Response:
        fields = await _fields(request)
        try:
            found = await run_in_threadpool(lambda: explainer.page(explainer.row(**fields)))
        except Q2Error as error:
            return _message(str(error), 400)
        except Exception as error:  # the server continues
            _LOG.error("%s: %s", type(error).__name__, " ".join(str(error).split()))
            why = machine_fault(error) or error
            return _message(f"The answer could not be scored: {why}", 500)
        # The page itself contains a stricter policy. This one also protects the page if it is
        # opened outside the frame of the form.
        return _shown(found, "sandbox allow-scripts; frame-ancestors 'self'")

    hint = _message("Enter an answer and its sources. The result appears here.")
    routes = [Route("/", form, methods=["GET"]), Route("/explanation", hint, methods=["GET"]),
              Route("/explanation", explain, methods=["POST"])]
    guard = Middleware(Guard, check=server.check)
    return Starlette(routes=[Mount("/", routes=routes, middleware=[guard])],
                     exception_handlers={HTTPException: _refused})


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = "There is no such page." if error.status_code == 404 else error.detail
    shown = _message(words, error.status_code)
    shown.headers.update(error.headers or {})
    return shown


async def _fields(request: Request) -> Mapping[str, str]:
    text = await body(request)
    check_type(request, _FORM, f"{_FORM}, with the fields {', '.join(_FIELDS)}")
    try:
        form = parse_qs(text.decode("ascii"), keep_blank_values=True, errors="strict",
                        max_num_fields=len(_FIELDS))
    except ValueError as error:
        raise HTTPException(400, "The body is not a form in UTF-8 with the fields "
                            f"{', '.join(_FIELDS)}.") from error
    # In a form, browsers end each line with CR LF.
    return {name: form.get(name, [""])[0].replace("\r\n", "\n") for name in _FIELDS}


def _message(words: str, status: int = 200) -> Response:
    html = _read("message.html").replace("{style}", _STYLE)
    return _shown(html.replace("{message}", str(escape(words))), _BARE, status)


def _shown(html: str, policy: str, status: int = 200) -> Response:
    same = ("Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Referrer-Policy")
    return Response(html.encode(errors="replace"), status, media_type="text/html", headers={
        "Content-Security-Policy": policy, "Cache-Control": "no-store",
        **dict.fromkeys(same, "same-origin"), "X-Content-Type-Options": "nosniff"})
