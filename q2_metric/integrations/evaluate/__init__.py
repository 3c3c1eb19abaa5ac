"""``evaluate.load("q2")`` and ``evaluate.load("scale")``.

    modules.py   the classes
    scripts/     what ``evaluate`` loads: a line that imports a class from here

:mod:`q2_metric.registration` puts the scripts where ``evaluate`` looks. Environments with
different releases share the cache of ``evaluate``, so every release keeps the classes here.
"""

from q2_metric.integrations.evaluate.modules import Q2, Scale

__all__ = ["Q2", "Scale"]
