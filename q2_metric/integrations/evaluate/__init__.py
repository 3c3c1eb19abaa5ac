"""The metrics for the library ``evaluate``, such as ``evaluate.load("q2")``.

    modules.py   the classes of the metrics
    scripts/     the scripts that ``evaluate`` loads. Each imports a class from this package

:mod:`q2_metric.registration` copies the scripts to the cache folder of ``evaluate``. Several
environments, with different releases of this package, may share this folder. So every release must
offer the classes under these names.
"""

from q2_metric.integrations.evaluate.modules import Q2, Groundedness, Scale

__all__ = ["Q2", "Groundedness", "Scale"]
