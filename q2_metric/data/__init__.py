"""The data sets for evaluation: a catalogue, downloads, and readers of their files.

A reader raises DataError if its file is missing or malformed; the message names file and row.
"""
