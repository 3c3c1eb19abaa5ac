"""Measures how well metrics agree with human labels, and calibrates metrics.

::

    statistics/     every statistic, on plain arrays
    scores.py       columns of scores over the rows of a data set: ours (cached) or from a file
    wow/ true.py dnli.py usr.py evidence.py dev.py   one experiment each: rows, scores -> Report
    published.py papers/   the figures of the papers' tables, shown beside ours
    detection.py    the tables and curves that several experiments use
    tables.py       Report and Table
    files.py markdown.py figures.py drawings.py   write a Report as JSON, CSV, markdown, figures
    calibrate.py thresholds.py   fit thresholds and calibrations, which q2_metric.metrics applies
    labels.py       reads human labels from a file

A new experiment is one module that returns a :class:`~q2_metric.evaluation.tables.Report` and
one command in ``q2_metric/cli/evaluation.py``.
"""
