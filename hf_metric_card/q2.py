"""The metric Q² (Honovich et al., EMNLP 2021); the class lives in the package q2-metric."""

from q2_metric.hf.modules import Q2
