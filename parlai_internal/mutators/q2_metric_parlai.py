"""ParlAI imports every module of this namespace package; this one brings q2-metric's plug-in."""

from parlai_plugin import install

install()
