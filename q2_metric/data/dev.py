"""Reads the development sets: responses of real systems, with human labels.

A line of ``Q2_DATA_DIR/dev/NAME.jsonl.gz`` has ``premise`` (the knowledge), ``hypothesis`` (the
response) and ``label``. Any label other than "supported" means unsupported.
"""

import gzip
import json
import os
from pathlib import Path
from random import Random

from q2_metric.data.download import ENVIRONMENT
from q2_metric.data.labelled import Labelled
from q2_metric.data.set_rows import SetRow
from q2_metric.errors import DataError
from q2_metric.metrics.bootstrap import SEED
from q2_metric.types import Example

SUFFIX = ".jsonl.gz"


def dev_files() -> dict[str, Path]:
    """The files of the development sets, by name of the set; DataError if there are none."""
    folder = Path(os.environ.get(ENVIRONMENT, "")) / "dev"
    paths = {path.name.removesuffix(SUFFIX): path for path in sorted(folder.glob(f"*{SUFFIX}"))}
    if not os.environ.get(ENVIRONMENT) or not paths:
        raise DataError(f"there is no development set on this machine; put files dev/NAME{SUFFIX} "
                        f"into the folder that {ENVIRONMENT} names")
    return paths


def read_dev(path: str | Path, limit: int | None = None) -> list[Labelled]:
    """Reads the labelled responses of a development set. Their ids are row numbers, from 0.

    From a file of more than ``limit`` rows, the same rows are drawn at random in every call.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [SetRow(json.loads(line), path, n) for n, line in enumerate(file, start=1)]
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    rows = [Labelled(Example(line.text("hypothesis"), line.text("premise"),
                             id=str(line.number - 1)), line.text("label") == "supported")
            for line in lines]
    if limit is None or limit >= len(rows):
        return rows
    return [rows[i] for i in sorted(Random(SEED).sample(range(len(rows)), limit))]
