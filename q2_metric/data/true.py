"""The TRUE benchmark (Honovich et al., NAACL 2022) in the form SCALE's authors publish.

Columns ``grounding``, ``generated_text``, ``label`` (1 = consistent), for some sets also
``model`` or ``id``.
"""

from __future__ import annotations

from pathlib import Path

from q2_metric.data.download import folder
from q2_metric.data.labelled import Labelled, read_csv, read_label
from q2_metric.types import Example


def read_true(source: str | Path) -> list[Labelled]:
    """The responses of a TRUE set, in order; ids are row numbers, from 0.

    Args:
        source: "q2", "summeval", "qags_cnndm", "dialfact" or "dialfact_a", or the path
            of a file of that form (something with a suffix).

    Raises:
        DataError: there is no such set, or its file is missing or not what it should be.
    """
    name = str(source)
    path = Path(source) if Path(source).suffix else folder(f"true/{name}") / f"{name}.csv"
    return [
        Labelled(
            Example(row["generated_text"], row["grounding"], id=str(number - 1)),
            consistent=read_label(row["label"], path, number),
            system=row.get("model"),
        )
        for number, row in enumerate(
            read_csv(path, ("grounding", "generated_text", "label")), start=1
        )
    ]
