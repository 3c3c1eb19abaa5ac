"""Q² and SCALE inside ``transformers.Trainer``.

    callback.py     the callback and the ``compute_metrics``
    responding.py   how a trainer's model generates its responses
"""

from q2_metric.integrations.trainer.callback import Q2Callback, Q2ComputeMetrics, Row

__all__ = ["Q2Callback", "Q2ComputeMetrics", "Row"]
