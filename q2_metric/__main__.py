"""``python -m q2_metric`` is the command ``q2``."""

import sys


def main() -> None:
    """Runs the command. Ctrl-C, even during imports, prints one line and gives exit code 130."""
    try:
        from q2_metric.cli.main import main as command
    except KeyboardInterrupt:
        sys.stderr.write("q2: error: stopped\n")
        sys.exit(130)
    command(prog_name="q2")


if __name__ == "__main__":
    main()
