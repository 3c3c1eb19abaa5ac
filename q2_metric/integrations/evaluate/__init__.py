"""``evaluate.load("q2")`` and ``evaluate.load("scale")``.

    modules.py   the classes
    scripts/     the scripts that ``evaluate`` loads: each imports a class from here

:mod:`q2_metric.registration` puts the scripts where ``evaluate`` looks for them. Environments with
different releases of this package share the cache of ``evaluate``. So every release must keep the
classes in this module.
"""

from q2_metric.integrations.evaluate.modules import Q2, Scale

__all__ = ["Q2", "Scale"]
