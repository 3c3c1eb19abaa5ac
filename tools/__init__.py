"""Tools of the project beside the package; they are not installed."""
