"""The data sets for evaluation. A reader raises DataError, which names file and row."""
