"""Remembers values that are computed from texts, and frees the memory of a GPU."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from q2_metric import forks

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def remembered(
    compute: Callable[[list[K]], Sequence[V]], keys: Iterable[K], known: dict[K, V]
) -> list[V]:
    """The value of each key. ``compute`` gives those that are not in ``known``; they are added."""
    keys = list(keys)
    new = [key for key in dict.fromkeys(keys) if key not in known]
    if new:
        known.update(zip(new, compute(new), strict=True))
    return [known[key] for key in keys]


def free_gpu_memory() -> None:
    """Returns the memory that torch holds but does not use to the GPU."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


class LruCache(Generic[K, V]):
    """A cache of ``most`` values, from texts of ``characters`` (or tokens) in total. The least
    recently used values are removed, but never the newest, even if its text is longer."""

    def __init__(self, most: int, characters: int) -> None:
        self.most, self.characters = most, characters
        self._lock = threading.Lock()
        self._empty()
        forks.tell(self)

    def _empty(self) -> None:
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._held = 0

    def in_child(self) -> None:
        """Empties the cache after a fork if another thread was changing it at that moment."""
        if self._lock.locked():
            self._lock = threading.Lock()
            self._empty()

    def __reduce__(self) -> tuple[type[LruCache[K, V]], tuple[int, int]]:
        """Pickles the cache without its values."""
        return type(self), (self.most, self.characters)

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V, characters: int) -> None:
        """``characters`` is the length of the text that the value was computed from."""
        with self._lock:
            self._held += characters - self._values.get(key, (None, 0))[1]
            self._values[key] = value, characters
            self._values.move_to_end(key)
            while len(self._values) > max(1, self.most) or (
                self._held > self.characters and len(self._values) > 1
            ):
                _, (_, size) = self._values.popitem(last=False)
                self._held -= size
