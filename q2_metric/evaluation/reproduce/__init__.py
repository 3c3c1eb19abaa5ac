"""Measures the tables and figures of the papers again (``q2 reproduce``).

Each module has the tables of one paper. A table is a :class:`~.table.PaperTable`.
"""
