"""The errors that users meet::

    Q2Error
    |-- InputError        a row, file or argument is wrong (also ValueError)
    |   |-- BadRowError   a row that cannot be scored (only with q2 score --strict)
    |   `-- WriteError    a file cannot be written, for example because the disk is full
    |-- MissingExtra      an optional package is not installed (also ImportError)
    |-- ModelError        a model cannot be loaded or cannot do its task (also OSError)
    |   |-- BrokenModel   the model cannot be opened: damaged files, too little memory
    |   `-- PicklesRefused  the weights exist only as a pickle, which was not allowed
    `-- DataError         a data set cannot be found or read (also OSError)
        `-- DownloadError a data set cannot be downloaded

Each message is one line: what was wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any


class Q2Error(Exception):
    """Base class of all errors that this package raises on purpose.

    Attributes:
        fails_every_row: true if all rows would fail with this error, so that a command stops at
            once instead of trying the next row.
    """

    fails_every_row = False


class InputError(Q2Error, ValueError):
    """A row, a file or an argument is wrong."""


class BadRowError(InputError):
    """A row cannot be scored. This error is raised only with the option ``q2 score --strict``."""


class WriteError(InputError):
    """A file cannot be written. For example, the disk is full, the user may not write to the
    folder, or another process uses the file."""


class MissingExtra(Q2Error, ImportError):
    """An optional package is needed but not installed.

    Args:
        feature: the feature that needs the package, such as "the preset 'paper'".
        package: name of the missing package, such as "torch".
        extra: name of the optional dependency group ("extra") of q2-metric that installs the
            package, such as "torch".
    """

    fails_every_row = True

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package {package!r}: pip install \"q2-metric[{extra}]\""
        )


def optional(module: str, feature: str, package: str, extra: str) -> Any:
    """Imports a module of an optional package, for a feature that needs it.

    Raises:
        MissingExtra: the package is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(feature, package, extra) from error


class ModelError(Q2Error, OSError):
    """A model cannot be loaded, or it cannot do the task it was chosen for. For example, a
    question-answering model cannot classify entailment."""


class BrokenModel(ModelError):
    """A model cannot be opened: its files are damaged, or there is too little memory."""

    fails_every_row = True


class PicklesRefused(ModelError):
    """The weights of some models exist only as pickle files, and the user did not allow pickles.

    Args:
        models: names of these models.
        allow: the environment setting that allows them, such as "Q2_ALLOW_PICKLES=owner/model".
    """

    fails_every_row = True

    def __init__(self, models: Sequence[str], allow: str) -> None:
        has, it = ("have", "them") if len(models) > 1 else ("has", "it")
        super().__init__(
            f"{', '.join(models)}: {has} no weights as safetensors, and a pickle can hold code; "
            f"if you trust {it}, set {allow} in the environment"
        )
        self.allow = allow


class DataError(Q2Error, OSError):
    """A data set cannot be found, downloaded or read."""


class DownloadError(DataError):
    """A data set cannot be downloaded."""
