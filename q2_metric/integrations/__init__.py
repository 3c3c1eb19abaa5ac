"""One file for each framework, or a folder where it takes more: ``evaluate``, the Trainer,
lm-evaluation-harness, TRL, torchmetrics, lighteval, Inspect AI, MLflow, DeepEval,
promptfoo, LlamaIndex.

Each turns the framework's rows into examples, and the scores into the framework's results.
``judge`` has what the small ones share. Importing this package loads no framework, and the rest of
``q2_metric`` does not import it.
"""
