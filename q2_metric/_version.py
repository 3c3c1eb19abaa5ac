"""Contains only the version, so that builds can read it without importing the package."""

__version__ = "0.1.0"
