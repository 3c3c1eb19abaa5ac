"""Simple and slow reference implementations. Tests and benchmarks compare the package with them."""
