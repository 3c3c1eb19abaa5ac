"""Tools for the development of this package: training, reference implementations and benchmarks.

They are not installed with the package.
"""
