"""Q² and SCALE inside ``transformers.Trainer``."""

from q2_metric.integrations.trainer.callback import Q2Callback, Q2ComputeMetrics, Row

__all__ = ["Q2Callback", "Q2ComputeMetrics", "Row"]
