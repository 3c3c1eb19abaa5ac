"""Installs q2-metric's plug-in. ParlAI imports each module of ``parlai_internal.mutators``."""

from parlai_plugin import install

install()
