"""Functions on strings, in pure Python and without models."""
