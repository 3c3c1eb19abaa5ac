"""Forked processes: what a child must not use, destroy or wait for.

A forked child has a copy of its parent's memory and one thread, the one that forked. So an ONNX
Runtime session of the parent can neither run nor be destroyed there (both wait for its threads), a
lock that another thread held is never released, and what another thread was loading is never
ready. Whoever keeps such a thing says so here: ``DataLoader`` workers, ``datasets.map``,
``joblib``, lm-eval's bootstrap and ``multiprocessing.Pool`` all fork.
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
    """An object that must change in a forked child."""

    def in_child(self) -> None:
        """Drops what belongs to the parent. The child has no other thread yet."""
        ...


_kept: WeakSet[object] = WeakSet()
_inherited: WeakSet[Inherited] = WeakSet()
_loading = threading.RLock()
_child = False


def keep_in_child(value: T) -> T:
    """The value; no forked child ever destroys it."""
    _kept.add(value)
    return value


def never_destroy(value: object) -> None:
    """Adds a reference that nobody gives back, so that it outlives even Python's own shutdown."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def tell(one: Inherited) -> None:
    """Each forked child calls ``one.in_child()``, as long as somebody holds ``one``."""
    _inherited.add(one)


def is_child() -> bool:
    """Whether this process was forked after this module was imported."""
    return _child


@contextmanager
def held_off() -> Iterator[None]:
    """Other threads fork only when this block has ended.

    For loading: a child could not finish an import, or a native library's set-up, that another
    thread of its parent had begun.
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
