"""Writes questions by rules over the dependency parse."""
