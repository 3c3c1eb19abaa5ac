"""Makes the text of the package index's page. Everything else is in setup.cfg."""

import re
from pathlib import Path

from setuptools import setup

RELATIVE = r"\((?!https?:)[^()\s]*\)"
"""The target of a link into this repository. The package index's page has no such files."""


def page(readme: str) -> str:
    """README.md without pictures, comments and links that would break on the package index."""
    text = re.sub(r"<!--.*?-->", "", readme, flags=re.DOTALL)
    text = re.sub(rf"!\[[^]]*\]{RELATIVE}\n*", "", text)
    return re.sub(rf"\[([^]]*)\]{RELATIVE}", r"\1", text)


setup(
    long_description=page(Path(__file__).with_name("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
