"""The metric Q² (Honovich et al., EMNLP 2021); the class lives in the package q2-metric."""

from hf_plugin.modules import Q2
