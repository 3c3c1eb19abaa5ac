"""Tools for the development of the package. They are not installed with it."""
