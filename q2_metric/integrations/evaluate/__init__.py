"""The metrics for the library ``evaluate``: ``evaluate.load("q2")`` and ``evaluate.load("scale")``.

    modules.py   the classes of the two metrics
    scripts/     the scripts that ``evaluate`` loads. Each imports a class from this package

:mod:`q2_metric.registration` copies the scripts to the cache folder of ``evaluate``. Several
environments, with different releases of this package, may share this folder. So every release must
offer the two classes under this name.
"""

from q2_metric.integrations.evaluate.modules import Q2, Scale

__all__ = ["Q2", "Scale"]
