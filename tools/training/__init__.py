"""Trains the bundled models. ``python -m tools.training`` runs the recipe that made their weights.
"""
