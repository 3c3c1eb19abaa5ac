"""Reads rows of texts from files, and writes rows with scores to files.

    formats.py, record.py          read a file's rows unchanged: jsonl, standard input
    delimited.py, documents.py     … csv and tsv; JSON documents
    arrow.py, parquet.py           … Arrow files and folders of ``datasets``; parquet
    columns.py, shapes.py          find the columns, and read texts, passages and chats from cells
    examples.py, read.py           convert rows to examples, and to errors for unusable rows
    fields.py, plain.py            convert scores to output rows, with plain sentences
    writers.py, spreadsheet.py     write output rows as jsonl, csv or parquet
"""
