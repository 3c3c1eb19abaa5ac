"""Scores the rows of files in blocks, in this process or on a Ray cluster. All engines give the
models the same batches, and get equal scores."""
