"""The data sets for evaluation: finds them on this machine, and downloads those that are missing.

``sets.tsv`` has one line for each set, and ``files.tsv`` one for each file. A file is looked up
first in the folder that ``Q2_DATA_DIR`` names, then in the user's cache.
"""

import hashlib
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from q2_metric.errors import DataError, DownloadError
from q2_metric.files import fingerprint

ENVIRONMENT = "Q2_DATA_DIR"
_GIT = 40  # digits of a file's name in Git


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


_FILES = [(name, DataFile(file, digest, url or None))
          for name, url, digest, file in _lines("files.tsv")]
CATALOGUE: Mapping[str, DataSet] = {
    name: DataSet(name, description, licence,
                  tuple(file for of, file in _FILES if of == name), by_hand)
    for name, licence, by_hand, description in _lines("sets.tsv")}


def select(name: str) -> list[DataSet]:
    """The data set with this name ("true/q2"), or all of a group ("true"). DataError: there is no
    such set or group; the message lists the names."""
    chosen = [item for item in CATALOGUE.values() if name in (item.name, item.folder)]
    if not chosen:
        raise DataError(f"there is no data set {name!r}; the sets are {', '.join(CATALOGUE)}")
    return chosen


def cache_folder() -> Path:
    """The user's cache folder for data sets. It may not exist yet."""
    import pooch  # here, because its import is slow

    return Path(pooch.os_cache("q2-metric"))


def folder(name: str) -> Path:
    """The folder that contains all files of the data set with this name. Nothing is downloaded.
    DataError: there is no set with this name, or it is not on this machine."""
    (dataset,) = select(name)
    place = _place(dataset)
    if place is None:
        raise DataError(f"the data set {name!r} is not here yet; {_remedy(dataset)}")
    return place


def download(name: str) -> list[Path]:
    """Downloads a data set ("true/q2"), or all published ones of a group ("true"), to the cache.

    A set that is complete in ``Q2_DATA_DIR`` is not downloaded. DataError: there is no set or group
    with this name, or the set is not published. DownloadError: the download fails, or a file does
    not have its checksum."""
    paths, chosen = [], select(name)
    for dataset in [one for one in chosen if one.published] if len(chosen) > 1 else chosen:
        place = _place(dataset)
        if place is not None and place != cache_folder() / dataset.folder:
            paths += [place / file.name for file in dataset.files]
        else:
            paths += [_fetch(dataset, file) for file in dataset.files]
    return paths


def here(name: str) -> bool:
    """Whether all files of the data set with this name are on this machine."""
    return _place(CATALOGUE[name]) is not None


def files_here(names: set[str]) -> list[Path]:
    """The files with these names, of the data sets that are complete on this machine."""
    return [place / file.name for dataset in CATALOGUE.values() for file in dataset.files
            if file.name in names and (place := _place(dataset))]


def state(dataset: DataSet) -> Literal["here", "differs", "missing"]:
    """A data set "differs" if a file does not have its published checksum."""
    place = _place(dataset)
    if place is None:
        return "missing"
    same = all(_is(place / file.name, file) for file in dataset.files)
    return "here" if same else "differs"


def _is(path: Path, file: DataFile) -> bool:
    """Whether a file has its published digest, if that is known."""
    if len(file.digest) != _GIT:
        return file.digest in ("", fingerprint(path))
    content = path.read_bytes()
    head = f"blob {len(content)}\0".encode()
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest() == file.digest


def _place(dataset: DataSet) -> Path | None:
    own = os.environ.get(ENVIRONMENT)
    roots = [Path(own), cache_folder()] if own else [cache_folder()]
    return next((place for place in (root / dataset.folder for root in roots)
                 if all((place / file.name).is_file() for file in dataset.files)), None)


def _fetch(dataset: DataSet, file: DataFile) -> Path:
    """Downloads a file into the cache, unless it is there with the right checksum."""
    import pooch

    if file.url is None:
        raise DataError(f"the data set {dataset.name!r} is not here; {_remedy(dataset)}")
    pooch.get_logger().setLevel("WARNING")  # otherwise it announces each file
    try:
        fetched = pooch.retrieve(
            file.url, None if len(file.digest) == _GIT else f"sha256:{file.digest}",
            file.name, cache_folder() / dataset.folder)
    # requests raises OSErrors. pooch raises a ValueError if the checksum differs.
    except (OSError, ValueError) as error:
        raise DownloadError(
            f"cannot download {file.url} ({_reason(error)}); try again with a network, or put the "
            f"file at {dataset.folder}/{file.name} in a folder that {ENVIRONMENT} names"
        ) from error
    path = Path(fetched)
    if not _is(path, file):
        path.unlink()
        raise DownloadError(f"{file.url}: the file is not the published one; try again")
    return path


def _reason(error: Exception) -> str:
    from requests import ConnectionError, Timeout

    if isinstance(error, (ConnectionError, Timeout)):
        return "the server cannot be reached"  # the error's own text is too long
    return " ".join(str(error).split()) or type(error).__name__


def _remedy(dataset: DataSet) -> str:
    if dataset.published:
        return f"run: q2 data download {dataset.name}"
    names = ", ".join(f"{dataset.folder}/{file.name}" for file in dataset.files)
    if dataset.by_hand:
        return (f"{dataset.by_hand}, and put {names} in a folder that {ENVIRONMENT} names; "
                f"licence: {dataset.licence}; its checksum is not known, so it is not checked")
    return f"it is not published: put {names} in a folder that {ENVIRONMENT} names"
