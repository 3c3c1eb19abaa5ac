"""One file for each framework, or a folder where it takes more: ``evaluate``, the Trainer,
lm-evaluation-harness, TRL, torchmetrics, lighteval, Inspect AI, MLflow, DeepEval,
promptfoo, LlamaIndex.

Each turns the framework's rows into examples, and the scores into what the framework wants back;
``judge`` has what the small ones share. Importing this package loads none of them. The rest of
``q2_metric`` does not import it.
"""
