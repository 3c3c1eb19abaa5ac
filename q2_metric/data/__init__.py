"""Evaluation sets: what there is, how to get it, how to read it."""
