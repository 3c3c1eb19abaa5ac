"""Runs the command line ``q2`` when Python is started with ``python -m q2_metric``."""

import sys

from q2_metric.errors import machine_fault


def main() -> None:
    """Runs ``q2``. Ctrl-C or a fault of the machine, even during imports, gives one line and exit
    code 130 or 3."""
    try:
        from q2_metric.cli.main import main as command

        command(prog_name="q2")
    except KeyboardInterrupt:
        sys.stderr.write("q2: error: stopped\n")
        sys.exit(130)
    except Exception as error:
        if (words := machine_fault(error)) is None:
            raise
        sys.stderr.write(f"q2: error: {words}\n")
        sys.exit(3)


if __name__ == "__main__":
    main()
