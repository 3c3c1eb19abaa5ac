"""Makes forked processes safe, as ``DataLoader``, ``datasets.map`` and ``joblib`` start them.

A child has its parent's memory, but only the thread that forked. There, an ONNX Runtime session
waits for its threads forever, even when it is destroyed. Locks that other threads held are never
released, and objects that they were loading are never ready.
"""

import ctypes
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class Inherited(Protocol):
    """An object that must drop a part of its state in each forked child process."""

    def in_child(self) -> None:
        """Called in the child right after the fork, when it has only one thread."""


_kept: WeakSet[object] = WeakSet()
_inherited: WeakSet[Inherited] = WeakSet()
_changed = threading.Condition()
_loading: Counter[int] = Counter()
"""By thread, the blocks of :func:`held_off` that it is in."""
_child = False


def keep_in_child(value: T) -> T:
    """Returns ``value`` unchanged. In every forked child process, it will never be destroyed."""
    _kept.add(value)
    return value


def never_destroy(value: object) -> None:
    """Prevents Python from destroying an object, even at exit."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def tell(one: Inherited) -> None:
    """Has every forked child call the object's ``in_child``, while the object lives."""
    _inherited.add(one)


def is_child() -> bool:
    """Whether this process is a forked child of the process that imported this module."""
    return _child


@contextmanager
def held_off() -> Iterator[None]:
    """Prevents other threads from forking until the block ends. Use it around an import or the
    set-up of a native library, which a child forked in the meantime could never finish. Several
    threads may be in such blocks at the same time."""
    changed, loading, thread = _changed, _loading, threading.get_ident()
    with changed:
        loading[thread] += 1
    try:
        yield
    finally:
        with changed:
            loading[thread] -= 1
            changed.notify_all()


def _before() -> None:
    """Waits until no other thread is in a block of :func:`held_off`, and lets none into one."""
    thread = threading.get_ident()
    _changed.acquire()
    _changed.wait_for(lambda: not any(
        blocks for other, blocks in _loading.items() if other != thread))


def _in_child() -> None:
    global _changed, _loading, _child
    _changed, _loading, _child = threading.Condition(), Counter(), True
    for value in list(_kept):
        never_destroy(value)
    for one in list(_inherited):
        one.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=lambda: _changed.release(), after_in_child=_in_child)
