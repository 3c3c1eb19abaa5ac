"""The metric groundedness: the probability that the knowledge supports a response. Its class is in
the package q2-metric.

>>> import evaluate
>>> groundedness = evaluate.load("groundedness")
>>> found = groundedness.compute(
...     predictions=["The tower in Paris opened in 1889.", "The tower in Paris opened in 1901."],
...     references=["The tower in Paris opened in 1889."] * 2, return_scores=True)
>>> found["groundedness_scores"][0] > 0.5 > found["groundedness_scores"][1]
True
"""

# A script of q2-metric: every release knows it by the next line and has what it imports.
from q2_metric.integrations.evaluate import Groundedness
