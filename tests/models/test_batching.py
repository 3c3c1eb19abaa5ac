"""How rows become batches, with no device and no library."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from q2_metric.errors import ModelError, is_out_of_memory
from q2_metric.models.batching import Budget, in_batches

LENGTHS = (3, 1, 7, 2, 7, 40, 12, 5)


class Device:
    """It fails above ``capacity`` padded tokens, and keeps the batches that it ran."""

    def __init__(self, capacity: int = 10**9) -> None:
        self.capacity = capacity
        self.batches: list[list[int]] = []
        self.failed = 0

    def __call__(self, places: Sequence[int]) -> list[int]:
        if len(places) * max(LENGTHS[place] for place in places) > self.capacity:
            self.failed += 1
            raise MemoryError
        self.batches.append(list(places))
        return [place * 10 for place in places]


def run(device: Device, budget: Budget, *, at_once: int = 1) -> list[int]:
    return in_batches(LENGTHS, device, budget, name="it", at_once=at_once)


@pytest.mark.parametrize("budget", [Budget(24), Budget(0, rows=3), Budget(10**6)])
def test_results_keep_the_rows_order(budget: Budget) -> None:
    device = Device()
    assert run(device, budget) == [i * 10 for i in range(8)]
    seen = [LENGTHS[place] for batch in device.batches for place in batch]
    assert seen == sorted(LENGTHS, reverse=True)


def test_a_batch_fits_the_budget_of_tokens() -> None:
    device = Device()
    run(device, Budget(24))
    assert [len(batch) for batch in device.batches] == [1, 2, 3, 2]


def test_beams_and_what_they_generate_count() -> None:
    assert Budget(200, copies=5, extra=10).take([10] * 6) == 2


@pytest.mark.parametrize("budget", [Budget(10**6), Budget(0, rows=8)])
def test_what_did_not_fit_is_halved_and_remembered(budget: Budget) -> None:
    device = Device(capacity=40)
    assert run(device, budget) == [i * 10 for i in range(8)]
    assert device.failed
    failed = device.failed
    run(device, budget)
    assert device.failed == failed


@pytest.mark.parametrize("budget", [Budget(24), Budget(0, rows=3), Budget(10**6)])
def test_batches_that_run_at_once_are_those_that_run_alone(budget: Budget) -> None:
    alone, device = Device(), Device()
    run(alone, budget)
    assert run(device, budget, at_once=3) == [i * 10 for i in range(8)]
    assert sorted(device.batches) == sorted(alone.batches)


def test_batches_run_at_once() -> None:
    """Each waits until the other has begun; one after the other they would never end."""
    both = threading.Barrier(2, timeout=60)

    def meet(places: Sequence[int]) -> list[int]:
        both.wait()
        return list(places)

    assert in_batches([1, 1], meet, Budget(0, rows=1), name="it",
                      at_once=2) == [0, 1]


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_memory_that_runs_out_or_an_error_ends_all_that_run_at_once(at_once: int) -> None:
    device = Device(capacity=40)
    assert run(device, Budget(0, rows=3), at_once=at_once) == [
        i * 10 for i in range(8)]
    assert device.failed
    with pytest.raises(ModelError, match="it: a single row of 40 tokens does not fit"):
        run(Device(capacity=39), Budget(10**6), at_once=at_once)

    def broken(places: Sequence[int]) -> list[int]:
        raise ValueError(f"rows {places}")

    with pytest.raises(ValueError, match=r"rows \[5\]"):
        in_batches(LENGTHS, broken, Budget(0, rows=1), name="it",
                   at_once=at_once)


def test_one_row_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ModelError, match="it: a single row of 40 tokens does not fit"):
        run(Device(capacity=39), Budget(10**6))


def test_other_errors_are_not_hidden() -> None:
    def broken(places: Sequence[int]) -> list[int]:
        raise ValueError("out of memory")

    with pytest.raises(ValueError, match="out of memory"):
        in_batches(LENGTHS, broken, Budget(9), name="it")
    assert is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_a_batch_has_a_row_at_least() -> None:
    assert Budget(1).take([5, 5]) == 1


def test_rows_of_one_length_share_a_batch_where_padding_counts() -> None:
    budget = Budget(tokens=64, step=8)
    assert budget.take([9, 15, 16, 17]) == 3
    assert budget.take([17, 18]) == 2
    assert Budget(tokens=64, rows=1, step=8).take([9, 9]) == 1
    assert Budget(tokens=64).take([9, 15, 16, 17]) == 3  # 4 of 17 are beyond 64
