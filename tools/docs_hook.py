"""A hook of mkdocs (``mkdocs.yml``): the README becomes the first page, and links that leave
``docs/`` become text. ``tests/docs/test_pages.py`` checks that what these name exists."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def inside(text: str, page: str) -> str:
    """The Markdown of a page for the site; ``page`` is its path in the repository.

    >>> inside("[rules](CONTRIBUTING.md#a), [claims](docs/claims.md#b)", "README.md")
    'rules (`CONTRIBUTING.md`), [claims](claims.md#b)'
    """
    def replaced(match: re.Match[str]) -> str:
        words, link, anchor = match[1], match[2], match[3] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
        if target.startswith("docs/") and not (ROOT / target).is_dir():
            kept = link if page.startswith("docs/") else target.removeprefix("docs/")
            return f"[{words}]({kept}{anchor})"
        return words if target in words else f"{words} (`{target}`)"

    return LINK.sub(replaced, text)


def on_files(files: Any, config: Any, **_: Any) -> Any:
    from mkdocs.structure.files import File

    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / "README.md")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    name = page.file.src_uri
    return inside(markdown, "README.md" if name == "index.md" else f"docs/{name}")
