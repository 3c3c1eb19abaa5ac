"""``evaluate.load("q2")``: the class lives in the package."""

from hf_plugin.modules import Q2
