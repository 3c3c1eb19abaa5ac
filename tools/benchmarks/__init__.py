"""Benchmarks of speed, memory and quality. ``python -m tools.benchmarks --list`` lists them."""
