"""Reads parquet files, Arrow files, and folders that ``datasets`` (which need not be installed) has
saved. The memory depends on the size of the file, not on its unpacked size.

A parquet file of 1 KB can say "this text of 1 MB, a million times". So rows with the same text
share one copy, and a column that unpacks to far more than the size of the file is an error.
"""

from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, Any

from q2_metric.errors import InputError, optional
from q2_metric.files import read_json
from q2_metric.rows.record import LONGEST_LINE, Record, repeated

_ROWS = 1024
"""Most rows that are read at a time."""

_BATCH = 2**31
"""Most bytes of a batch of texts that share no copy."""

_RATIO = 200
"""A column of a row group may unpack to at most this many times its compressed size, or to
:data:`~q2_metric.rows.record.LONGEST_LINE` bytes. Real texts unpack to 10 to 50 times theirs."""


def read_columns(file: IO[bytes], name: str, form: str) -> Iterator[Record]:
    """Yields the rows of a file in parquet, or (``form`` "Arrow") in Arrow's file or stream format.
    While rows are read, raises InputError if the file has another format, is damaged, or unpacks to
    far more than its size."""
    pa, parquet = pyarrow()
    try:
        if form == "parquet":
            opened = parquet.ParquetFile(file)
            names, batches = opened.schema_arrow.names, _batches(parquet, opened, file, name)
        else:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            opened = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
            names, batches = opened.schema.names, _checked(opened, is_file)
        twice = repeated(names)
        note = twice and f"the file has the column {twice!r} twice; the last is read"
        rows = (zip(*(_values(pa, column) for column in batch.columns), strict=True)
                for batch in batches)
        for number, row in enumerate(chain.from_iterable(rows), start=1):
            problem = _problem(row)
            fields = {} if problem else dict(zip(names, row, strict=True))
            yield Record(f"{name}, row {number}", fields, problem, note)
            note = None
    # Also Python's errors, on damaged names and numbers, but not those of the disk.
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        if isinstance(error, InputError) or getattr(error, "errno", None):
            raise
        raise InputError(f"{name}: is not a readable {form} file: {error}") from error


def _batches(parquet: Any, opened: Any, file: IO[bytes], name: str) -> Iterator[Any]:
    """Yields batches that fit in memory. Raises InputError before the first if a column of a row
    group has far more bytes in memory, where equal texts share a copy, than in the file."""
    about = opened.metadata
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    columns = [opened.schema.column(place) for place in range(about.num_columns)]
    sizes = {column.path: 1 for column in columns}
    for place, column in enumerate(columns):
        for chunk in (group.column(place) for group in groups):
            # One row may hold all values of a list, each of at least 4 bytes.
            least = 4 * chunk.num_values if column.max_repetition_level else 0
            size, packed = max(chunk.total_uncompressed_size, least), chunk.total_compressed_size
            if size > max(LONGEST_LINE, _RATIO * packed):
                raise InputError(
                    f"{name}: the column {column.path!r} has {packed:,} bytes that unpack to "
                    f"{size:,}; write the file again with smaller row groups")
            sizes[column.path] = max(sizes[column.path], size)
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"
             and column.logical_type.type in ("STRING", "NONE")]
    # As a dictionary, equal texts share a copy. Each batch copies it, so it must be small. Of
    # columns with the same name, pyarrow reads only the last as a dictionary.
    shared = [path for path in texts if sizes[path] <= LONGEST_LINE]
    all_shared = shared == texts and repeated(texts) is None
    most = _ROWS if all_shared else max(1, min(_ROWS, _BATCH // max(sizes.values())))
    reader = parquet.ParquetFile(
        file, metadata=about, page_checksum_verification=True, read_dictionary=shared)
    for number in range(len(groups)):
        yield from reader.iter_batches(batch_size=most, row_groups=[number])


def _values(pa: Any, array: Any) -> list[Any]:
    """Converts a column to Python values. Rows with equal texts share one string object."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        used = array.indices.dictionary_encode()  # only the values in this batch
        known = _values(pa, array.dictionary.take(used.dictionary))
        return [None if i is None else known[i] for i in used.indices.to_pylist()]
    if pa.types.is_struct(kind):
        fields = [field.name for field in kind]
        rows = zip(*(_values(pa, one) for one in array.flatten()), strict=True)
        return [dict(zip(fields, row, strict=True)) if there else None
                for row, there in zip(rows, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(kind):  # no field is read from such a column
        return [None] * len(array)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        items = iter(_values(pa, array.flatten()))
        lengths = import_module("pyarrow.compute").list_value_length(array).to_pylist()
        return [None if n is None else [next(items) for _ in range(n)] for n in lengths]
    return _plain(array)


def _plain(array: Any) -> list[Any]:
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:  # bytes that are not UTF-8 become lone surrogates, as in csv
        texts = (value.as_buffer() for value in array)
        return [text if text is None else str(text, "utf-8", "surrogateescape") for text in texts]
    # Some dates and time zones have no Python value. No error, because the column may be unneeded.
    except (ValueError, OverflowError, LookupError):
        return [None] * len(array)


def _problem(row: tuple[Any, ...]) -> str | None:
    size, waiting = 0, list(row)
    while waiting and size <= LONGEST_LINE:
        value = waiting.pop()
        if isinstance(value, (str, bytes)):
            size += len(value)
        elif isinstance(value, (dict, list)):
            waiting += value.values() if isinstance(value, dict) else value
    return f"is longer than {LONGEST_LINE:,} characters" if size > LONGEST_LINE else None


def pyarrow() -> tuple[Any, Any]:
    """The modules ``pyarrow`` and ``pyarrow.parquet``. Raises MissingExtra if they are not
    installed."""
    why = "a parquet or Arrow file", "pyarrow", "parquet"
    return optional("pyarrow", *why), optional("pyarrow.parquet", *why)


# --- Arrow ------------------------------------------------------------------------------------


def _checked(opened: Any, is_file: bool) -> Iterator[Any]:
    """Checks each batch: the file says at which memory offsets the values are."""
    batches = (opened.get_batch(i) for i in range(opened.num_record_batches)) if is_file else opened
    for batch in batches:
        batch.validate(full=True)
        yield batch


_STATE = "state.json"


def arrow_files(folder: Path) -> list[Path]:
    """The Arrow files of a folder that ``save_to_disk`` wrote, in order. Raises InputError if
    ``save_to_disk`` did not write the folder, or the folder has several splits."""
    if not (folder / _STATE).exists():
        splits = sorted(state.parent for state in folder.glob(f"*/{_STATE}"))
        if len(splits) == 1:
            return arrow_files(splits[0])
        raise InputError(f"{folder}: " + (
            f"has the splits {', '.join(one.name for one in splits)}; name one of them: {splits[0]}"
            if splits else "is a folder, but not one that datasets saved with save_to_disk (it has "
            "no state.json); name a file"))
    state = read_json(folder / _STATE)
    files = state.get("_data_files") if isinstance(state, dict) else None
    names = [str(one.get("filename")) for one in files or () if isinstance(one, dict)]
    paths = [folder / name for name in names]
    if not paths or any(path.parent != folder for path in paths):
        raise InputError(f"{folder / _STATE}: does not name the Arrow files of its folder")
    return paths
