"""Benchmarks, by name: ``python -m tools.benchmarks --list``."""
