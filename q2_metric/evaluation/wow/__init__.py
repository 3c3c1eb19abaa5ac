"""Evaluates metrics on Wizard of Wikipedia, with the experiments of the Q² paper.

::

    experiment.py   runs all experiments -> Report
    paper.py        the paper's tables: absolute scores, system level, robustness
    controls.py     control experiments: knowledge of other turns, length of responses
    responses.py    samples and pairs of the annotated responses
"""
