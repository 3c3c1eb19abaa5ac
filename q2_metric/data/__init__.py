"""Evaluation sets: what exists, how to download it, how to read it."""
