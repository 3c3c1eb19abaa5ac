"""Stores scores as JSON values by key, in one SQLite file that several processes may share.

Each value begins with a seal, the SHA-256 of key and value: a changed or moved value is ignored.
Only its owner can read a new file, because it contains parts of users' texts. The library diskcache
is slower (20,000 look-ups in 2.0 s, not 0.4 s), and its write-ahead log fails on network drives."""

import hashlib
import json
import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from q2_metric import forks
from q2_metric.errors import InputError
from q2_metric.files import opener

WAITS = 5
"""Seconds to wait for another process that locks the file."""

_EVICTED = 0.1
"""The share of a full file that is freed, so that it does not fill up again at once."""

_FRESH = 3600
"""Seconds in which the time of an entry's last use is updated at most once, to save writes."""


def default_path() -> Path:
    from q2_metric.data.catalogue import cache_folder

    return cache_folder() / "score-cache.sqlite"


def largest_size() -> int:
    """The maximum size of the file in bytes: 1 GB, or the megabytes in ``Q2_CACHE_SIZE``
    (InputError: this is no whole number above 0). The least recently used entries are removed."""
    text = os.environ.get("Q2_CACHE_SIZE", "1000")
    if not (text.isascii() and text.isdigit() and int(text)):
        raise InputError(f"Q2_CACHE_SIZE is {text!r}; it is a number of megabytes, such as 1000")
    return int(text) * 1_000_000


class Cache:
    """Stores JSON values by key in a SQLite file, or in memory if the path is ``None``.

    If the file cannot be opened, read or written, ``warn`` (by default, a RuntimeWarning) is called
    once with one line. Afterwards :meth:`get` finds no values, and :meth:`put` does nothing.
    ``largest`` (by default, :func:`largest_size`) is in bytes."""

    def __init__(
        self, path: Path | None, *, largest: int | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._largest = path, largest or largest_size()
        self._warn = warn or partial(warnings.warn, category=RuntimeWarning, stacklevel=2)
        self._database: sqlite3.Connection | None = None
        self._newest = 0
        """The newest row when the file was opened."""
        forks.tell(self)
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                with suppress(FileExistsError):
                    open(path, "xb", opener=opener).close()
            # A rollback journal instead of WAL, because home folders may be on a network.
            # A Ray actor calls this object from different threads, but never at the same time.
            database = self._database = sqlite3.connect(
                path or ":memory:", timeout=WAITS, check_same_thread=False)
            tables = [name for name, in database.execute("select name from sqlite_master")]
            if tables and "scores" not in tables:
                raise sqlite3.DatabaseError("the file is a database of another program")
            database.execute("pragma auto_vacuum = incremental")
            database.execute("pragma synchronous = normal")
            with database:
                database.execute("create table if not exists scores "
                                 "(key text primary key, value text, used integer)")
                database.execute("create index if not exists by_use on scores (used)")
            self._newest = database.execute("select max(rowid) from scores").fetchone()[0] or 0
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def get(self, keys: Iterable[str], earlier: set[str] | None = None) -> dict[str, Any]:
        """The stored values by key. Keys without a stored value are left out.
        ``earlier`` receives the keys whose values were stored before the cache was opened."""
        values: dict[str, Any] = {}
        if self._database is None:
            return values
        now, stale = int(time.time()), []
        try:
            rows = self._database.execute(
                "select key, value, used, rowid from scores where key in "
                "(select value from json_each(?))", [json.dumps([*keys])])
            for key, value, used, row in rows:
                text = str(value)[_SEAL:]
                if value == _sealed(key, text):  # it is unchanged
                    values[key] = json.loads(text)
                    if earlier is not None and row <= self._newest:
                        earlier.add(key)
                if not isinstance(used, int) or now - used > _FRESH:
                    stale.append((now, key))
            with self._database:
                self._database.executemany("update scores set used = ? where key = ?", stale)
        except sqlite3.Error as error:
            self._give_up(error)
        return values

    def put(self, items: Mapping[str, Any]) -> None:
        """Stores JSON values. One with NaN or an infinity is left out."""
        if self._database is None or not items:
            return
        now, rows = int(time.time()), []
        for key, value in items.items():
            with suppress(ValueError):
                rows.append((key, _sealed(key, json.dumps(value, allow_nan=False)), now))
        try:
            with self._database:
                self._database.executemany("insert or replace into scores values (?, ?, ?)", rows)
            pages, each = (int(self._database.execute(f"pragma {name}").fetchone()[0])
                           for name in ("page_count", "page_size"))
            if pages * each > self._largest:
                self._evict(self._database, pages * each)
        except sqlite3.Error as error:
            self._give_up(error)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def in_child(self) -> None:
        """Switches the cache off: a forked child must not use or close its parent's connection."""
        forks.never_destroy(self._database)
        self._database = None

    def _evict(self, database: sqlite3.Connection, size: int) -> None:
        """Removes the least recently used entries and returns their space to the disk."""
        with database:
            share = max(_EVICTED, 1 - (1 - _EVICTED) * self._largest / size)
            count = database.execute("select count(*) from scores").fetchone()[0]
            database.execute(
                "delete from scores where key in (select key from scores order by used limit ?)",
                (int(count * share) + 1,))
        # "execute" would free only one page of the file; "executescript" frees all of them.
        database.executescript("pragma incremental_vacuum")

    def _give_up(self, error: Exception) -> None:
        self.close()
        self._warn(
            f"{self._path}: cannot be used as a cache of scores ({error}); continuing without it")


_SEAL = 16
"""Number of hexadecimal digits in a seal."""


def _sealed(key: str, text: str) -> str:
    return hashlib.sha256(f"{key} {text}".encode()).hexdigest()[:_SEAL] + text
