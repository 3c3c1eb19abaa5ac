"""Wizard of Wikipedia: the experiments of the Q² paper, for any metric.

::

    experiment.py   runs all experiments -> Report
    paper.py        the paper's tables: absolute scores, system level, robustness
    controls.py     control experiments: knowledge of other turns, length
    responses.py    samples and pairs of the annotated responses
"""
