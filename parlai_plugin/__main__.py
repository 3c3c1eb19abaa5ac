"""``python -m parlai_plugin``: says whether ParlAI finds the plug-in, and if not, why."""

import sys

from parlai_plugin import shadowed
from q2_metric.errors import InputError, installed


def state() -> str:
    """A line that says that ParlAI finds the metrics, with ParlAI's version. InputError: ParlAI is
    not installed, or does not find the plug-in; the message says what to do."""
    if (parlai := installed("parlai")) is None:
        raise InputError("ParlAI is not installed: pip install --no-deps parlai==1.7.2")
    if problem := shadowed.problem():
        raise InputError(problem.removeprefix("q2-metric: "))
    return f"ParlAI {parlai} finds the metrics: parlai eval_model … --metrics q2,scale"


def main() -> int:
    """Prints whether ParlAI finds the plug-in. Returns the exit code: 0 if it does, otherwise 1."""
    try:
        print(state())
    except InputError as error:
        print(f"q2-metric: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
