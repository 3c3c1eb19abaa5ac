"""Plain, slow versions for comparison in tests and benchmarks."""
