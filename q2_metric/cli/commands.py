"""What all commands share: errors of one line, and protection against overwriting files.

All paths of options of the types :class:`Read` and :class:`Written` are checked before a command
runs (:func:`q2_metric.files.check_written`).
"""

import errno
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import click

from q2_metric import errors
from q2_metric.files import check_free, check_written, has_mark
from q2_metric.report import MARK

READ = "q2_metric.read"
"""Key in ``ctx.meta`` of the models that the user names: files and folders that are read."""

ROWS_FAILED, WRONG_USE, COULD_NOT, TOO_LOW, STOPPED = 1, 2, 3, 4, 130
"""See docs/usage.md#exit-codes. 130 is Ctrl-C, as in shells."""


_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters (but tab and newline), changes of writing direction, and lone surrogates."""


def plain(text: str) -> str:
    """The text with U+FFFD in place of each character that could control a terminal."""
    return _UNSAFE.sub("�", text)


class OneLineError(click.ClickException):
    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click has one for a class

    @classmethod
    def of(cls, error: errors.Q2Error) -> Self:
        kinds = {errors.BadRowError: ROWS_FAILED, errors.WriteError: COULD_NOT,
                 errors.InputError: WRONG_USE, errors.DownloadError: COULD_NOT,
                 errors.DataError: WRONG_USE, errors.Q2Error: COULD_NOT}
        code = next(code for kind, code in kinds.items() if isinstance(error, kind))
        message = str(error)
        if isinstance(error, errors.PicklesRefused):
            name, _, models = error.allow.partition("=")
            message += f": {name}={shlex.quote(models)} q2 {shlex.join(sys.argv[1:])}"
        return cls(message, code)

    def show(self, file: IO[Any] | None = None) -> None:
        if self.exit_code == STOPPED and on_terminal():
            click.echo(err=True)  # ends the line on which the terminal shows ^C
        click.echo(f"q2: error: {' '.join(plain(self.message).split())}", file, err=file is None)


class _Named(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("is empty; name a file (a variable in the command may be empty)", param, ctx)
        if value == "-" and not self.allow_dash:
            self.fail("cannot be standard output; name a file", param, ctx)
        return super().convert(value, param, ctx)


class Read(_Named):
    """Names a file or folder to read, or something else, such as ``-`` for standard input."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(allow_dash=True, readable=False, **keywords)


FILE = Read(exists=True, dir_okay=False, path_type=Path)


class Written(_Named):
    """Names a file or folder to write. ``also`` returns the other paths that are then written.
    ``guard`` raises an error if only ``--overwrite`` may replace the file there; ``None`` does not
    add the option."""

    def __init__(
        self, also: Callable[[str], Iterable[str | os.PathLike[str]]] = lambda _path: (), *,
        guard: Callable[[Any], None] | None = check_free, **keywords: Any,
    ) -> None:
        super().__init__(readable=False, **keywords)
        self.also, self.guard = also, guard


_OVERWRITE = "q2_metric.overwrite"


def overwriting() -> bool:
    return bool(click.get_current_context().meta.get(_OVERWRITE))


class Command(click.Command):
    """A command that never overwrites its input files. It replaces an output only with
    ``--overwrite`` (``overwrites`` is its help), or if an earlier run of the same command wrote it.

    ``groups`` is for commands with many options: by title, the names of the parameters that
    ``--help`` shows together. Other options follow in a last group.
    """

    def __init__(
        self, *arguments: Any, overwrites: str = "Replace existing files.",
        groups: Mapping[str, Sequence[str]] | None = None, **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self.groups = groups
        if any(isinstance(param.type, Written) and param.type.guard for param in self.params):
            self.params.append(click.Option(
                ["--overwrite"], is_flag=True, expose_value=False, help=overwrites,
                callback=lambda ctx, _option, given: ctx.meta.update({_OVERWRITE: given})))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hints = [param.hint(error.option_name) for param in self.params
                     if hasattr(param, "hint")]
            words = " ".join(filter(None, [error.message, *hints]))
            raise click.NoSuchOption(
                error.option_name, words, error.possibilities, error.ctx) from error
        if ctx.resilient_parsing:  # the shell asks for completions
            return rest
        given = [(param.type, path) for param in self.params for path in _paths(ctx, param)]
        read = [path for kind, path in given if isinstance(kind, Read)]
        outputs = [(kind, path) for kind, path in given if isinstance(kind, Written)]
        written = [out for kind, path in outputs for out in (path, *kind.also(str(path)))]
        if written:  # evaluation sets are read by name
            from q2_metric.data.catalogue import files_here

            read += files_here({Path(path).name for path in written})
        check_written(written, [*ctx.meta.get(READ, ()), *read])
        for kind, path in outputs:
            if kind.guard is not None and not ctx.meta.get(_OVERWRITE):
                kind.guard(path)
        if "cache" in ctx.params and (ctx.params["cache"] or not ctx.params["no_cache"]):
            ctx.meta[_KEPT] = ("; the scores so far are in the cache: the same command resumes "
                               "from there")
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.groups is None:
            super().format_options(ctx, formatter)
            return
        rows = {param.name: row for param in self.get_params(ctx)
                if isinstance(param, click.Option) and (row := param.get_help_record(ctx))}
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([rows.pop(name) for name in names])
        with formatter.section("Other"):
            formatter.write_dl(list(rows.values()))


_KEPT = "q2_metric.kept"
"""Key in ``ctx.meta`` of words for a stopped command whose scores so far are in the cache."""


def _paths(ctx: click.Context, param: click.Parameter) -> Iterable[Any]:
    given = ctx.params.get(param.name or "")
    return given if isinstance(given, tuple) else filter(None, [given])


def ours(mark: str, what: str) -> Callable[[str], None]:
    """A guard that raises InputError if the file is not ``what`` ("a report page of q2"), by the
    ``mark`` in it."""
    def guard(path: str) -> None:
        if not has_mark(path, mark.encode()):
            check_free(path, what)

    return guard


PAGE = ours(MARK, "a report page of q2")


class Group(click.Group):
    """Prints errors as one line, without a traceback."""

    command_class = Command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except errors.Q2Error as error:
            raise OneLineError.of(error) from error
        except KeyboardInterrupt as error:
            raise OneLineError(f"stopped{ctx.meta.get(_KEPT, '')}", STOPPED) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            words = errors.machine_fault(error)
            if isinstance(error, OSError):
                if error.filename is None and error.errno not in _NO_STREAM:
                    raise  # the error of a stream that is closed or full
                words = words or f"{error.filename}: {error.strerror or error}"
            if words is None:
                raise
            raise OneLineError(words, COULD_NOT) from error

    def main(self, *arguments: Any, **keywords: Any) -> Any:
        _open_standard_streams()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # for characters that the terminal lacks
        try:
            try:
                return super().main(*arguments, **keywords)
            finally:
                sys.stdout.flush()
        except OSError as error:
            _give_up_output(error)
            sys.exit(COULD_NOT)


_NO_STREAM = (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""These do not occur when a text is written to an open stream."""


def _open_standard_streams() -> None:
    """Connects standard streams that are closed to the null device. Otherwise the next file that is
    opened would get their descriptor, and libraries would print into it."""
    with suppress(OSError):
        while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:  # standard error's descriptor
            os.set_inheritable(nowhere, True)
        os.close(nowhere)
    if sys.stdout is None:
        sys.stdout = io.TextIOBase()  # raises an OSError if something is written


def _give_up_output(error: OSError) -> None:
    """Python would otherwise try to write to standard output again at exit."""
    with suppress(OSError):
        click.echo(f"q2: error: standard output: {error.strerror or 'is closed'}", err=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


command = partial(click.command, cls=Command)


def on_terminal() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def warn(text: str) -> None:
    click.echo(f"q2: {plain(text)}", err=True)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
