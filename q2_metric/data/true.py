"""Reads the TRUE benchmark (Honovich et al., NAACL 2022), as SCALE's authors published it."""

from pathlib import Path

from q2_metric.data.download import folder
from q2_metric.data.labelled import Labelled
from q2_metric.data.set_rows import read_rows
from q2_metric.errors import DataError
from q2_metric.types import Example


def read_true(source: str | Path) -> list[Labelled]:
    """Reads the labelled responses of a data set of TRUE. Their ids are row numbers, from 0.

    ``source`` is the name of a set ("q2" for "true/q2"), or a path, with a suffix or a slash, of a
    csv file with the columns ``grounding``, ``generated_text`` and ``label`` (1 = consistent).
    """
    name, path = str(source), Path(source)
    if not path.suffix and len(path.parts) == 1:
        path = folder(f"true/{name}") / f"{name}.csv"
    labelled = [
        Labelled(Example(row["generated_text"], row["grounding"], id=str(row.number - 1)),
                 row.label("label"), row.get("model"))
        for row in read_rows(path, "csv")]
    if not labelled:
        raise DataError(f"{path}: has no rows")
    return labelled
