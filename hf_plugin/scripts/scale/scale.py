"""``evaluate.load("scale")``: the class lives in the package."""

from hf_plugin.modules import Scale
