"""The errors that users meet::

    Q2Error
    |-- InputError        a row, file or argument is not what it should be (also ValueError)
    |   |-- BadRowError   a row, where none was to be passed over (q2 score --strict)
    |   `-- WriteError    a file cannot be written now, whatever its name (a full disk)
    |-- MissingExtra      an optional package is not installed (also ImportError)
    |-- ModelError        a model cannot be loaded or does not fit its role (also OSError)
    |   |-- BrokenModel   whatever the row: its files cannot be read, memory does not suffice
    |   `-- PicklesRefused  its weights are only to be had as a pickle, which was not allowed
    `-- DataError         a data set cannot be found or read (also OSError)
        `-- DownloadError or be downloaded

Each message is one line: what was wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence


class Q2Error(Exception):
    """Base of all errors raised on purpose by this package.

    Attributes:
        whatever_the_row: no row is to blame, and every other would fail as well.
    """

    whatever_the_row = False


class InputError(Q2Error, ValueError):
    """A row, a file or an argument is not what it should be."""


class BadRowError(InputError):
    """A row that cannot be scored, where none was to be passed over."""


class WriteError(InputError):
    """A file cannot be written now: the disk is full, not ours, or another process is at it."""


class MissingExtra(Q2Error, ImportError):
    """An optional package is needed.

    Args:
        what: what was asked for ("the preset 'paper'").
        package: the package that is missing ("torch").
        extra: the extra of q2-metric that installs it ("torch").
    """

    whatever_the_row = True

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package!r}: pip install \"q2-metric[{extra}]\""
        )
        self.package = package
        self.extra = extra


class ModelError(Q2Error, OSError):
    """A model cannot be loaded, or it does not fit the role it was given."""


class BrokenModel(ModelError):
    """A model that cannot be opened."""

    whatever_the_row = True


class PicklesRefused(ModelError):
    """Models whose weights are only to be had as pickles, which nobody has allowed.

    Args:
        models: all of them.
        allow: what allows them in the environment, as "Q2_ALLOW_PICKLES=owner/model".
    """

    whatever_the_row = True

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
