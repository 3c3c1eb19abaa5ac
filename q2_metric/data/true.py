"""The TRUE benchmark (Honovich et al., NAACL 2022), in the form that SCALE's authors published.

The columns are ``grounding``, ``generated_text``, ``label`` (1 = consistent), and for some sets
``model`` or ``id``.
"""

from __future__ import annotations

from pathlib import Path

from q2_metric.data.download import folder
from q2_metric.data.labelled import Labelled, read_label
from q2_metric.data.set_rows import read_rows
from q2_metric.errors import DataError
from q2_metric.types import Example


def read_true(source: str | Path) -> list[Labelled]:
    """The responses of a TRUE set, in order. Their ids are row numbers, from 0.

    Args:
        source: the name of a set in the catalogue (SET for "true/SET"), or the path of a file in
            this form. A source with a suffix or a slash is a path, so pipes are paths too.

    Raises:
        DataError: there is no such set, or its file is missing, empty or malformed.
    """
    name, path = str(source), Path(source)
    if not path.suffix and len(path.parts) == 1:
        path = folder(f"true/{name}") / f"{name}.csv"
    labelled = [
        Labelled(
            Example(row["generated_text"], row["grounding"], id=str(number - 1)),
            consistent=read_label(row["label"], path, number),
            system=row.get("model"),
        )
        for number, row in enumerate(
            read_rows(path, "csv", ("grounding", "generated_text", "label")), start=1
        )
    ]
    if not labelled:
        raise DataError(f"{path}: has no rows")
    return labelled
