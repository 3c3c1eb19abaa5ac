"""The metric Q² (Honovich et al., EMNLP 2021). Its class is in the package q2-metric.

>>> import evaluate
>>> q2 = evaluate.load("q2")
>>> found = q2.compute(
...     predictions=["it opened in 1889 .", "it opened in 1901 ."],
...     references=["The tower in Paris opened in 1889."] * 2)
>>> round(found["q2"], 2), found["no_answer_rate"]
(0.49, 0.0)
"""

# A script of q2-metric: every release knows it by the next line and has what it imports.
from q2_metric.integrations.evaluate import Q2
