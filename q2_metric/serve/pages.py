"""Makes two pages of ``q2 serve``: the form, and a page that shows one message."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from q2_metric.report.encode import source_hash


@cache
def form() -> tuple[bytes, str]:
    """(HTML of the page with the form, value of its Content-Security-Policy header)."""
    style, script = _read("serve.css"), _read("serve.js")
    page = _read("form.html").replace("{style}", style).replace("{script}", script)
    policy = (f"default-src 'none'; img-src data:; style-src {source_hash(style)}; "
              f"script-src {source_hash(script)}; frame-src 'self'; form-action 'self'; "
              "base-uri 'none'; frame-ancestors 'none'")
    return page.encode(), policy


@cache
def _message() -> tuple[str, str]:
    style = _read("serve.css")
    policy = f"default-src 'none'; img-src data:; style-src {source_hash(style)}"
    return _read("message.html").replace("{style}", style), policy


def message(text: str) -> tuple[bytes, str]:
    """(HTML of a page that shows ``text``, value of its Content-Security-Policy header)."""
    from markupsafe import escape

    page, policy = _message()
    shown = page.replace("{message}", str(escape(text)))
    return shown.encode(errors="replace"), policy


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
