"""Benchmarks, by name: ``python -m benchmarks --list``."""
