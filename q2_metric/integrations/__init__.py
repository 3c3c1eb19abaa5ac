"""Integrations: one file, or one folder, for each framework.

The frameworks are ``evaluate``, the Trainer, lm-evaluation-harness, TRL, torchmetrics, lighteval,
Inspect AI, MLflow, DeepEval, promptfoo and LlamaIndex. Each module turns the framework's rows into
examples, and the scores into the framework's results. ``judge`` contains the code that the small
modules share. Importing this package imports no framework. The rest of ``q2_metric`` does not
import this package.
"""
