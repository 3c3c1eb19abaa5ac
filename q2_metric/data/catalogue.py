"""The data sets for evaluation: their files, addresses, checksums and licences.

``sets.tsv`` has one line for each set, and ``files.tsv`` one for each file.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import NamedTuple

from q2_metric.errors import DataError


class DataFile(NamedTuple):
    """``digest`` is the SHA-256 of the file, or, of 40 digits, its name in Git; "" if it is not
    known. ``url`` is ``None`` if the package cannot download the file."""

    name: str
    digest: str
    url: str | None = None


class DataSet(NamedTuple):
    """The files are in the subfolder ``folder`` of ``Q2_DATA_DIR`` or of the cache: the group of a
    set ("true/q2"), or its name. ``by_hand`` says where the user finds files that the package
    cannot download."""

    name: str
    description: str
    licence: str
    files: tuple[DataFile, ...]
    by_hand: str = ""

    @property
    def folder(self) -> str:
        return self.name.partition("/")[0]

    @property
    def published(self) -> bool:
        return all(file.url for file in self.files)


def _lines(name: str) -> list[list[str]]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]


def _sets() -> Iterator[DataSet]:
    by_set: dict[str, tuple[DataFile, ...]] = defaultdict(tuple)
    for name, url, digest, file in _lines("files.tsv"):
        by_set[name] += (DataFile(file, digest, url or None),)
    for name, licence, by_hand, description in _lines("sets.tsv"):
        yield DataSet(name, description, licence, by_set[name], by_hand)


_SETS = tuple(_sets())
CATALOGUE: Mapping[str, DataSet] = {item.name: item for item in _SETS}


def select(name: str) -> list[DataSet]:
    """The data set with this name ("true/q2"), or all of a group ("true"). DataError: there is no
    such set or group; the message lists the names."""
    chosen = [item for item in _SETS if name in (item.name, item.folder)]
    if not chosen:
        raise DataError(f"there is no data set {name!r}; the sets are {', '.join(CATALOGUE)}")
    return chosen
