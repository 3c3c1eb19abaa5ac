"""Agreement with people: statistics, the papers' experiments, calibration, figures.

::

    statistics.py   every statistic, on plain arrays
    scores.py       columns of scores over the rows of a data set, cached; foreign columns
    wow.py true.py dnli.py usr.py evidence.py   an experiment each: rows and scores -> Report
    published.py    the papers' figures that stand beside ours
    tables.py       Report and Table: to the terminal, JSON, CSV, markdown
    figures.py      the figures of a Report
    calibrate.py    fits what q2_metric.metrics.calibration applies
    cli.py          q2 meta-eval, q2 calibrate

A new experiment is one module that returns a :class:`~q2_metric.evaluation.tables.Report` and one
command in ``cli.py``.
"""
