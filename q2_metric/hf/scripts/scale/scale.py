"""``evaluate.load("scale")``: the class lives in the package."""

from q2_metric.hf.modules import Scale
