"""Reads Arrow files, and folders that ``datasets`` (which need not be installed) has saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from q2_metric.errors import InputError
from q2_metric.files import read_json
from q2_metric.rows.parquet import pyarrow, rows_of
from q2_metric.rows.record import Record

_STATE, _SPLITS = "state.json", "dataset_dict.json"


def read_arrow(file: IO[bytes], name: str) -> Iterator[Record]:
    """Yields the rows of a file in Arrow's file format or stream format. While rows are read,
    raises InputError if the file has neither format or is damaged."""
    pa, _ = pyarrow("Arrow files")
    try:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        opened = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        yield from rows_of(pa, _checked(opened, is_file), opened.schema.names, name)
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        if isinstance(error, InputError) or getattr(error, "errno", None):  # of the disk
            raise
        raise InputError(f"{name}: is not a readable Arrow file: {error}") from error


def _checked(opened: Any, is_file: bool) -> Iterator[Any]:
    """Checks each batch: the file says at which memory offsets the values are."""
    batches = (opened.get_batch(i) for i in range(opened.num_record_batches)) if is_file else opened
    for batch in batches:
        batch.validate(full=True)
        yield batch


def arrow_files(folder: Path) -> list[Path]:
    """The Arrow files of a folder that ``save_to_disk`` wrote, in order. Raises InputError if
    ``save_to_disk`` did not write the folder, or the folder has several splits."""
    if (folder / _SPLITS).exists():
        saved = read_json(folder / _SPLITS)
        names = saved.get("splits") if isinstance(saved, dict) else None
        splits = list(map(str, names)) if isinstance(names, list) else []
        if len(splits) == 1 and (folder / splits[0]).is_dir():
            return arrow_files(folder / splits[0])
        raise InputError(f"{folder}: has the splits {', '.join(splits)}; "
                         f"name one of them: {folder / (splits or ['test'])[0]}")
    if not (folder / _STATE).exists():
        raise InputError(f"{folder}: is a folder, but not one that datasets saved with "
                         "save_to_disk (it has no state.json); name a file")
    state = read_json(folder / _STATE)
    files = state.get("_data_files") if isinstance(state, dict) else None
    names = [str(one.get("filename")) for one in files or () if isinstance(one, dict)]
    paths = [folder / name for name in names]
    if not paths or any(path.parent != folder for path in paths):
        raise InputError(f"{folder / _STATE}: does not name the Arrow files of its folder")
    return paths
