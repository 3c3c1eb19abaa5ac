"""Q² and SCALE as metrics of ParlAI: ``parlai eval_model --metrics q2,scale``.

ParlAI finds the plug-in by itself. It imports every module of ``parlai_internal.mutators`` and (for
the command ``parlai``) of ``parlai_internal.scripts``. Both are namespace packages, and this
project adds one module to each. Both modules call :func:`install`.

    scores.py      the lazy metric: collects responses, scores all of them when its value is read
    knowledge.py   where each ParlAI task keeps the text that a response is grounded in
    hook.py        what is wrapped in ParlAI, and why
    options.py     the options --q2-… and the presets -o q2/…
    notices.py     warnings about mistyped metric names and about examples that are left out
    export.py      the command ``parlai q2_export``
    presets/       ``-o q2/memnet`` and ``-o q2/dodeca``
    shadowed.py    finds a user's own ``parlai_internal`` that hides ours

Models and their libraries are imported only when a response is scored.
"""

from __future__ import annotations


def install() -> None:
    """Adds the metrics, options and presets to ParlAI. Only the first call does anything."""
    from parlai_plugin import hook

    hook.install()
