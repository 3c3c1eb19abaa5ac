"""The recipe that made the bundled weights: ``python -m q2_metric.training``."""
