"""The recipe that made the bundled weights: ``python -m tools.training``."""
