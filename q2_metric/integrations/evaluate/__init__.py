"""The metrics for the library ``evaluate``, such as ``evaluate.load("q2")``.

Environments with different releases may share the cache with our scripts, so every release must
offer the classes under these names.
"""

from q2_metric.integrations.evaluate.modules import Q2, Groundedness, Scale

__all__ = ["Q2", "Groundedness", "Scale"]
