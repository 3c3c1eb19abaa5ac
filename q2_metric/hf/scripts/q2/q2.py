"""``evaluate.load("q2")``: the class lives in the package."""

from q2_metric.hf.modules import Q2
