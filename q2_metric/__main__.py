"""``python -m q2_metric`` is the command ``q2``."""

from q2_metric.cli.main import main

if __name__ == "__main__":
    main(prog_name="q2")
