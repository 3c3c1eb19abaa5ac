"""Simple, slow implementations with which tests and benchmarks compare the package."""
