"""The version, and nothing else, so that builds read it without importing the package."""

__version__ = "0.1.0"
