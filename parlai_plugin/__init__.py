"""Q² and SCALE as metrics of ParlAI: ``parlai eval_model --metrics q2,scale``.

ParlAI finds the plug-in by itself. It imports each module of the package
``parlai_internal.mutators`` and, for the command ``parlai``, of ``parlai_internal.scripts``. This
project adds one module to each of these namespace packages. Both modules call :func:`install`.

    scores.py      a ParlAI metric that scores all responses when its value is read
    knowledge.py   finds the knowledge in the messages of each ParlAI task
    hook.py        replaces functions of ParlAI by wrappers, and says why
    options.py     the options --q2-… and the presets -o q2/…
    notices.py     warnings, such as about mistyped metric names and left-out examples
    export.py      the command ``parlai q2_export``
    presets/       the options of ``-o q2/memnet`` and ``-o q2/dodeca``
    shadowed.py    finds a user's package ``parlai_internal`` that hides the plug-in

The models and their libraries are imported only when a response is scored.
"""


def install() -> None:
    """Adds the metrics, options and presets to ParlAI. Further calls have no effect."""
    from parlai_plugin import hook

    hook.install()
