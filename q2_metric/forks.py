"""Makes forked processes safe. A child must not use, destroy or wait for some of the parent's
objects.

A forked child has a copy of its parent's memory, but only the thread that forked. So the child can
neither run nor destroy an ONNX Runtime session of its parent: both wait for the session's threads.
If another thread held a lock, the lock is never released in the child. If another thread was
loading an object, the object is never ready in the child. Code that keeps such objects registers
them in this module. ``DataLoader``, ``datasets.map``, ``joblib``, ``multiprocessing.Pool`` and
lm-eval's bootstrap fork processes.
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
    """An object that must drop a part of its state in each forked child process."""

    def in_child(self) -> None:
        """Drops the state that only the parent process can use.

        It is called in the child, right after the fork. The child has only one thread then.
        """
        ...


_kept: WeakSet[object] = WeakSet()
_inherited: WeakSet[Inherited] = WeakSet()
_loading = threading.RLock()
_child = False


def keep_in_child(value: T) -> T:
    """Returns ``value`` unchanged. In every forked child process, it will never be destroyed."""
    _kept.add(value)
    return value


def never_destroy(value: object) -> None:
    """Prevents Python from destroying an object, even at exit, by a reference that is never
    released."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def tell(one: Inherited) -> None:
    """Registers an object, so that each forked child process calls its method ``in_child``. The
    registration ends when the object is destroyed."""
    _inherited.add(one)


def is_child() -> bool:
    """Whether this process is a forked child of the process that imported this module."""
    return _child


@contextmanager
def held_off() -> Iterator[None]:
    """Prevents other threads from forking until the ``with`` block ends.

    Use it around the import of a module or the set-up of a native library. If another thread forked
    during the import, the child process could never finish it.
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
