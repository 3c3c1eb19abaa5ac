"""The errors that users meet. A message is one line: what was wrong, where, and what to do."""

import errno
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any


class Q2Error(Exception):
    """Base class of all errors that this package raises on purpose. ``fails_every_row`` is true if
    all rows would fail with this error, so that a command stops."""

    fails_every_row = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles also the errors whose ``__init__`` takes other arguments than the message."""
        return type(self).__new__, (type(self),), {**vars(self), "args": self.args}


class InputError(Q2Error, ValueError):
    """A row, a file or an argument is wrong."""


class BadRowError(InputError):
    """A row cannot be scored; raised only with ``q2 score --strict``."""


class WriteError(InputError):
    """A file cannot be written, for example because the disk is full."""


class MissingExtra(Q2Error, ImportError):
    """An optional package is not installed. The extra of q2-metric named ``extra`` installs it."""

    fails_every_row = True

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package {package!r}: pip install \"q2-metric[{extra}]\"")


def optional(module: str, feature: str, package: str, extra: str) -> Any:
    """Imports a module of an optional package, for a feature that needs it. Raises MissingExtra if
    the package is not installed, and MachineFault if it cannot be imported."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(feature, package, extra) from error
    except ImportError as error:
        raise MachineFault(f"{feature} needs the package {package!r}, which cannot be "
                           f"imported: {first_line(error)}") from error


def installed(package: str) -> str | None:
    """The version of an installed package; ``None`` if it is not installed."""
    from importlib import metadata  # slow, and few need it

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


class ModelError(Q2Error, OSError):
    """A model cannot be loaded, or it cannot do the task it was chosen for."""


class MachineFault(ModelError):
    """The machine cannot go on, and no row is the cause: memory, open files, a library, a model."""

    fails_every_row = True


class PicklesRefused(ModelError):
    """The weights of some models exist only as pickle files, and the user did not allow pickles.
    ``allow`` is the setting that allows them, such as "Q2_ALLOW_PICKLES=owner/model"."""

    fails_every_row = True

    def __init__(self, models: Sequence[str], allow: str) -> None:
        has, it = ("have", "them") if len(models) > 1 else ("has", "it")
        super().__init__(
            f"{', '.join(models)}: {has} no weights as safetensors, and a pickle can hold code; "
            f"if you trust {it}, set {allow} in the environment")
        self.allow = allow


class DataError(Q2Error, OSError):
    """A data set cannot be found, downloaded or read."""


class DownloadError(DataError):
    """A data set cannot be downloaded."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or an error that caused it, means that memory ran out. A SystemError does
    if code in C failed without a message."""
    return any(map(_is_memory, causes(error)))


def _is_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, SystemError):
        return "exception" in str(error)
    runtimes = isinstance(error, RuntimeError) or type(error).__module__.startswith("onnxruntime")
    return runtimes and any(mark in str(error).lower() for mark in MARKS)


MARKS = ("out of memory", "allocate memory", "not enough memory", "alloc_failed",
         "bad allocation", "bad_alloc")
"""Parts of the messages of CUDA, cuBLAS, MPS, torch's CPU and ONNX Runtime."""


def machine_fault(error: BaseException) -> str | None:
    """Words for a fault of the machine, which no row causes; ``None`` for other errors."""
    if is_out_of_memory(error):
        return "out of memory; free some, or use a machine with more"
    for cause in causes(error):
        if isinstance(cause, RuntimeError) and "start new thread" in str(cause):
            return "no thread can be started; free memory, or allow more processes (ulimit -u)"
        if isinstance(cause, OSError) and cause.errno in _SHORTAGES:
            where = f"{cause.filename}: " if cause.filename else ""
            return where + system_problem(cause)
    if isinstance(error, ImportError):
        return f"a library cannot be imported: {first_line(error)}"
    return None


_SHORTAGES = {
    errno.EMFILE: "; allow more open files (ulimit -n)", errno.ENFILE: "", errno.EAGAIN: "",
    errno.ENOSPC: "", errno.EDQUOT: "", errno.EIO: "", errno.EROFS: "",
}
"""What to do about an operating system's error that no row causes."""


def unreadable(path: object, error: OSError, wrong: type[Q2Error] = InputError) -> Q2Error:
    """The error, of class ``wrong`` unless the machine is to blame, if a file cannot be read."""
    kind = MachineFault if machine_fault(error) else wrong
    return kind(f"{path}: cannot be read: {system_problem(error)}")


def system_problem(error: OSError) -> str:
    """The operating system's words for an error, and what to do about it."""
    if error.errno == errno.ELOOP:
        return "its symbolic links form a loop; name the file itself"
    return f"{error.strerror or error}{_SHORTAGES.get(error.errno or 0, '')}"


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, then the error that caused it, and so on."""
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        yield link
        seen.append(link)
        link = link.__cause__ or link.__context__


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
