"""What is remembered of texts, and what goes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from q2_metric.memory import LruCache


def test_the_least_recently_used_goes() -> None:
    memory: LruCache[str, int] = LruCache(2, 100)
    memory.put("a", 1, 1)
    memory.put("b", 2, 1)
    assert memory.get("a") == 1
    memory.put("c", 3, 1)
    assert [memory.get(key) for key in "abc"] == [1, None, 3]


def test_long_texts_leave_room_for_few() -> None:
    memory: LruCache[str, int] = LruCache(100, 10)
    for n, key in enumerate("abcd"):
        memory.put(key, n, 4)
    assert [memory.get(key) for key in "abcd"] == [None, None, 2, 3]
    memory.put("d", 5, 1)  # again, and shorter
    memory.put("e", 6, 5)
    assert [memory.get(key) for key in "cde"] == [2, 5, 6]
    memory.put("huge", 7, 1000)
    assert [memory.get(key) for key in ("c", "d", "e", "huge")] == [None, None, None, 7]


def test_threads_share_it() -> None:
    memory: LruCache[int, int] = LruCache(8, 1000)

    def use(seed: int) -> None:
        for i in range(2000):
            key = (i * seed) % 50
            found = memory.get(key)
            assert found in (None, key)
            memory.put(key, key, key)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(use, seed) for seed in range(1, 9)]:
            done.result()
    assert sum(memory.get(key) is not None for key in range(50)) <= 8
