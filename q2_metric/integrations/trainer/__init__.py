"""Q² and SCALE inside ``transformers.Trainer``.

    callback.py     ``Q2Callback``, and ``Q2ComputeMetrics`` for ``compute_metrics``
    responding.py   generates responses with the trainer's model
"""

from q2_metric.integrations.trainer.callback import Q2Callback, Q2ComputeMetrics, Row

__all__ = ["Q2Callback", "Q2ComputeMetrics", "Row"]
