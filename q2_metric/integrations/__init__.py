"""Integrations with other frameworks: a file, or a folder, for each framework.

The frameworks are ``evaluate``, the Trainer of transformers, lm-evaluation-harness, TRL,
torchmetrics, lighteval, Inspect AI, MLflow, DeepEval, promptfoo and LlamaIndex. Each module
converts the framework's rows to examples, and the scores to the framework's results. The small
modules share the code in ``judge``. Importing this package imports no framework. Of the rest of
``q2_metric``, only the command line imports this package.
"""
