"""Responses that people labelled, out of a file of any form that ``q2 score`` reads."""

from __future__ import annotations

from pathlib import Path

from q2_metric.data.labelled import Labelled
from q2_metric.errors import InputError
from q2_metric.evaluation.scores import number_of
from q2_metric.rows.columns import ALIASES, Columns, as_label
from q2_metric.rows.formats import read_fields
from q2_metric.rows.read import BadRow, read_rows


def read_labelled(
    path: str | Path, columns: Columns, label: str | None = None
) -> list[Labelled]:
    """The rows of a file with people's labels (:data:`~q2_metric.rows.columns.LABELS`), in order.

    Raises:
        InputError: a row cannot be read, or there is no label; the message says where.
    """
    labels = read_labels(path, label)
    rows = list(read_rows(path, columns))
    found = []
    for row, consistent in zip(rows, labels, strict=True):
        if isinstance(row, BadRow):
            raise InputError(f"{row.error}; a labelled file must be whole")
        found.append(Labelled(row, consistent))
    if not found:
        raise InputError(f"{path}: has no rows")
    return found


def read_labels(path: str | Path, label: str | None = None) -> list[bool]:
    """The labels of a file.

    Args:
        label: their column; by default the first of the usual names that is there.

    Raises:
        InputError: there is no such column, or a value is no label.
    """
    found: list[bool] = []
    for where, fields in read_fields(path):
        if label is None:
            by_lower = {key.strip().lower(): key for key in fields}
            label = next((by_lower[name] for name in ALIASES["label"] if name in by_lower), None)
        if label is None or label not in fields:
            columns = ", ".join(map(repr, fields))
            raise InputError(
                f"{where}: there is no column {label or 'label'!r}; the columns are {columns}; "
                "name the one with people's labels with --label"
            )
        known = as_label(fields[label])
        if known is None:
            raise InputError(f"{where}: the label is {fields[label]!r}, not 0 or 1")
        found.append(known)
    return found


def read_scores(path: str | Path, column: str) -> list[float]:
    """A column of numbers.

    Raises:
        InputError: there is no such column, or a value is missing or no number.
    """
    found = []
    for where, fields in read_fields(path):
        if column not in fields:
            columns = ", ".join(map(repr, fields))
            raise InputError(f"{where}: there is no column {column!r}; the columns are {columns}")
        number = number_of(fields[column], column, where)
        if number is None:
            raise InputError(f"{where}: has no score (field {column!r}); leave the row out")
        found.append(number)
    return found
