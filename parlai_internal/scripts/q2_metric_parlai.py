"""The command ``parlai`` imports every module of this namespace package before it starts."""

from parlai_plugin import export, install

install()

__all__ = ["export"]
