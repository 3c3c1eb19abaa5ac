"""Wizard of Wikipedia: the experiments of the Q² paper, for any metric.

::

    experiment.py   all of it -> Report
    paper.py        the paper's tables: absolute scores, system level, robustness
    controls.py     knowledge of other turns, length
    responses.py    samples and pairs of the annotated responses
"""
