"""Reads responses with human labels, from a file in any format that ``q2 score`` reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from q2_metric.data.labelled import Labelled
from q2_metric.errors import InputError
from q2_metric.rows.columns import ALIASES, Columns, as_label
from q2_metric.rows.formats import fields_of, records, shown
from q2_metric.rows.read import BadRow, read_rows


def read_labelled(
    path: str | Path, columns: Columns, label: str | None = None, form: str | None = None
) -> list[Labelled]:
    """Reads the rows of a file with their human labels, by default from a column like "label".

    Raises:
        InputError: a row cannot be read or has no label; the message says which row.
    """
    lines = list(records(path, shown(path), form))  # read once: it may be a pipe
    labels = _labels(fields_of(lines), label)
    rows = list(read_rows(path, columns, given=lines))
    labelled = []
    for row, consistent in zip(rows, labels, strict=True):
        if isinstance(row, BadRow):
            raise InputError(f"{row.error}; every row of a labelled file must be readable")
        labelled.append(Labelled(row, consistent))
    if not labelled:
        raise InputError(f"{path}: has no rows")
    return labelled


def _labels(rows: Iterable[tuple[str, Mapping[str, object]]], label: str | None) -> list[bool]:
    labels: list[bool] = []
    for where, fields in rows:
        if label is None:
            by_lower = {key.strip().lower(): key for key in fields}
            label = next((by_lower[name] for name in ALIASES["label"] if name in by_lower), None)
        if label is None or label not in fields:
            columns = ", ".join(map(repr, fields))
            raise InputError(
                f"{where}: there is no column {label or 'label'!r}; the columns are {columns}; "
                "name the column of the human labels with --label")
        known = as_label(fields[label])
        if known is None:
            raise InputError(f"{where}: the label is {fields[label]!r}, not 0 or 1")
        labels.append(known)
    return labels
