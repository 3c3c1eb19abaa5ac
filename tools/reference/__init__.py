"""Plain, slow versions that tests and benchmarks compare with."""
