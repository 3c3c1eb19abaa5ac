"""Forked processes: what a child must not use, destroy or wait for.

A forked child has a copy of its parent's memory, but only the thread that forked. So the child can
neither run nor destroy an ONNX Runtime session of its parent: both wait for the session's threads.
If another thread held a lock, the lock is never released in the child. If another thread was
loading an object, the object is never ready in the child. Code that keeps such objects registers
them here. Forks come from ``DataLoader`` workers, ``datasets.map``, ``joblib``, lm-eval's bootstrap
and ``multiprocessing.Pool``.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class Inherited(Protocol):
    """An object that must be changed in each forked child."""

    def in_child(self) -> None:
        """Drops what belongs to the parent. At this time, the child has only one thread."""
        ...


_kept: WeakSet[object] = WeakSet()
_inherited: WeakSet[Inherited] = WeakSet()
_loading = threading.RLock()
_child = False


def keep_in_child(value: T) -> T:
    """Returns the value, and prevents every forked child from destroying it."""
    _kept.add(value)
    return value


def never_destroy(value: object) -> None:
    """Adds a reference that is never released, so that the object is not destroyed even at exit."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def tell(one: Inherited) -> None:
    """Registers an object. While it is alive, each forked child calls ``one.in_child()``."""
    _inherited.add(one)


def is_child() -> bool:
    """Whether this process was forked after the import of this module."""
    return _child


@contextmanager
def held_off() -> Iterator[None]:
    """Prevents other threads from forking until the block ends.

    Code that imports a module or sets up a native library runs in this block. If another thread
    forked meanwhile, the child could never finish the import or the set-up.
    """
    lock = _loading
    with lock:
        yield


def _in_parent() -> None:
    _loading.release()


def _in_child() -> None:
    global _loading, _child
    _loading, _child = threading.RLock(), True
    for value in list(_kept):
        never_destroy(value)
    for one in list(_inherited):
        one.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _loading.acquire(), after_in_parent=_in_parent, after_in_child=_in_child)
