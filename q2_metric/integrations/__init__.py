"""One file, or one folder, for each framework.

The frameworks are ``evaluate``, the Trainer, lm-evaluation-harness, TRL, torchmetrics, lighteval,
Inspect AI, MLflow, DeepEval, promptfoo and LlamaIndex. Each module turns the framework's rows into
examples, and the scores into the framework's results. ``judge`` has the shared parts of the small
modules. Importing this package loads no framework, and the rest of ``q2_metric`` does not import
it.
"""
