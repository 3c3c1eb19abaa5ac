"""One file for each framework that needs no more: TRL, torchmetrics, lighteval, Inspect AI,
MLflow, DeepEval.

Each turns the framework's rows into examples for :class:`q2_integrations.judge.Judge`, and what
it says into what the framework wants back. Importing this package loads none of them.
"""
