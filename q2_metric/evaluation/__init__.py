"""Measures how well metrics agree with human labels, and calibrates metrics.

A new experiment is one module that returns a :class:`~q2_metric.evaluation.tables.Report` and
one command in ``q2_metric/cli/experiments.py``.
"""
