"""``python -m parlai_plugin``: does ParlAI find the plug-in, and if not, why?"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

from parlai_plugin import shadowed


def main() -> int:
    """Prints one line; the exit code is 0 where the plug-in will be found."""
    try:
        parlai = version("parlai")
    except PackageNotFoundError:
        print("q2-metric: ParlAI is not installed: pip install --no-deps parlai==1.7.2")
        return 1
    problem = shadowed.problem()
    print(problem or f"ParlAI {parlai} finds the metrics: parlai eval_model … --metrics q2,scale")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
