"""The TRUE benchmark (Honovich et al., NAACL 2022) in the form SCALE's authors publish.

Columns ``grounding``, ``generated_text``, ``label`` (1 = consistent), for some sets also
``model`` or ``id``.
"""

from __future__ import annotations

from pathlib import Path

from q2_metric.data.download import folder
from q2_metric.data.labelled import Labelled, read_csv, read_label
from q2_metric.errors import DataError
from q2_metric.types import Example


def read_true(source: str | Path) -> list[Labelled]:
    """The responses of a TRUE set, in order; ids are row numbers, from 0.

    Args:
        source: of "true/SET" in the catalogue, SET; or the path of a file of that form
            (something with a suffix or a slash, as pipes have it).

    Raises:
        DataError: there is no such set, or its file is missing, has no rows or is not what it
            should be.
    """
    name, path = str(source), Path(source)
    if not path.suffix and len(path.parts) == 1:
        path = folder(f"true/{name}") / f"{name}.csv"
    found = [
        Labelled(
            Example(row["generated_text"], row["grounding"], id=str(number - 1)),
            consistent=read_label(row["label"], path, number),
            system=row.get("model"),
        )
        for number, row in enumerate(
            read_csv(path, ("grounding", "generated_text", "label")), start=1
        )
    ]
    if not found:
        raise DataError(f"{path}: has no rows")
    return found
