"""Installs q2-metric's plug-in. The command ``parlai`` imports each module of
``parlai_internal.scripts`` when it starts."""

from parlai_plugin import export, install

install()

__all__ = ["export"]
