"""Runs the command line ``q2`` when Python is started with ``python -m q2_metric``."""

import sys


def main() -> None:
    """Runs the command ``q2``. After Ctrl-C, even during imports, it prints one line and exits with
    code 130."""
    try:
        from q2_metric.cli.main import main as command
    except KeyboardInterrupt:
        sys.stderr.write("q2: error: stopped\n")
        sys.exit(130)
    command(prog_name="q2")


if __name__ == "__main__":
    main()
