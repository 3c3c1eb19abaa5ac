"""The command ``lm_eval``, without its own 13,000 tasks, whose files it reads at each start, and
without the survey of the machine that follows a run."""

from __future__ import annotations

from functools import partialmethod

from lm_eval import evaluator
from lm_eval.__main__ import cli_evaluate
from lm_eval.tasks import TaskManager

if __name__ == "__main__":
    evaluator.add_env_info = lambda results: None
    TaskManager.__init__ = partialmethod(  # type: ignore[method-assign, assignment]
        TaskManager.__init__, include_defaults=False)
    cli_evaluate()
