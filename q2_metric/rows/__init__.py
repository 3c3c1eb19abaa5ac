"""Reads rows and writes scores: jsonl, csv, tsv, parquet and standard input.

    record.py, delimited.py, formats.py    a file -> its rows, unchanged
    columns.py, texts.py, read.py          rows -> examples, and rows that cannot be scored
    fields.py, writers.py                  scores -> rows of the output -> a file
"""
