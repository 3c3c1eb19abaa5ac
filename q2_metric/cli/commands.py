"""What every command shares: errors in one line, and the rule for outputs.

A command says with the types of its options which files it reads (:class:`Read`) and which it
writes (:class:`Written`); before it runs, :func:`q2_metric.files.check_written` sees them all.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import IO, Any

import click

from q2_metric.errors import BadRowError, Q2Error
from q2_metric.files import check_written


class OneLineError(click.ClickException):
    """An error of ours, shown as one line: nothing could be done."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        from q2_metric.cli.render import plain

        click.echo(f"q2: error: {' '.join(plain(self.message).split())}", file, err=file is None)


class OneBadRow(OneLineError):
    """A row that cannot be scored, under --strict; others could have been."""

    exit_code = 1


class Read(click.Path):
    """A file, or a folder, that a command reads; ``-``, and what is no path, may be among them."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{"readable": False, "allow_dash": True, **keywords})


class Written(click.Path):
    """A file, or a folder, that a command writes.

    Args:
        also: other paths that are written for a path.
        keywords: of ``click.Path``.
    """

    def __init__(
        self, also: Callable[[str], Iterable[str | os.PathLike[str]]] = lambda _path: (),
        **keywords: Any,
    ) -> None:
        super().__init__(**{"readable": False, "dir_okay": True, **keywords})
        self.also = also


class Command(click.Command):
    """A command whose outputs overwrite nothing that it reads or writes under another name."""

    def invoke(self, ctx: click.Context) -> Any:
        read: list[Any] = []
        written: list[Any] = []
        for param in self.params:
            for path in _values(ctx.params.get(param.name or "")):
                if isinstance(param.type, Read):
                    read.append(path)
                elif isinstance(param.type, Written):
                    written += [path, *param.type.also(str(path))]
        check_written(written, read)
        return super().invoke(ctx)


def _values(value: Any) -> Iterator[Any]:
    """What was given for an option: nothing, one value or several."""
    if isinstance(value, tuple):
        yield from value
    elif value is not None:
        yield value


class Group(click.Group):
    """A group whose commands report a :class:`Q2Error` as one line, without traceback."""

    command_class = Command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Q2Error as error:
            kind = OneBadRow if isinstance(error, BadRowError) else OneLineError
            raise kind(str(error)) from error
        except OSError as error:
            if error.filename is None:  # of a stream that is closed or full
                raise
            raise OneLineError(f"{error.filename}: {error.strerror or error}") from error

    def main(self, *arguments: Any, **keywords: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # of signs that a terminal does not have
        try:
            try:
                return super().main(*arguments, **keywords)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
        except OSError as error:
            _give_up_output(error)
            sys.exit(OneLineError.exit_code)


def _give_up_output(error: OSError) -> None:
    """Says once that the output cannot be written, and lets Python not try again at its end."""
    with suppress(OSError):
        click.echo(f"q2: error: standard output: {error.strerror or error}", err=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


command = partial(click.command, cls=Command)
"""``click.command`` for commands that follow the rule."""


def warn(text: str) -> None:
    """A line on stderr."""
    from q2_metric.cli.render import plain

    click.echo(f"q2: {plain(text)}", err=True)
