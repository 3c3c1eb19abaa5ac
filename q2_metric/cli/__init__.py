"""The command ``q2``."""
