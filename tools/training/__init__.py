"""The recipe that made the bundled weights. Run it with ``python -m tools.training``."""
