"""ParlAI imports every module of this namespace package. This one loads q2-metric's plug-in."""

from parlai_plugin import install

install()
