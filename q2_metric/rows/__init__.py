"""Reads rows of texts from files, and writes rows with scores to files."""
