"""Measures the tables and figures of the papers again (``q2 reproduce``).

Each module has the tables of one kind of data. A table is a :class:`~.table.PaperTable` whose
``measure`` returns figures by the same keys as :mod:`q2_metric.evaluation.published`.
"""
