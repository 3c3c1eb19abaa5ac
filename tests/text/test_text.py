"""Normalisation, overlap, alignment, chunks and tree search."""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from q2_metric.text.alignment import (
    N_TYPES,
    QUERY,
    QUERY_EXACT,
    QUERY_FUNCTION,
    QUERY_NUMBER,
    QUERY_RUN,
    QUERY_STEM,
    TEXT,
    TEXT_EXACT,
    TEXT_STEM,
    align,
)
from q2_metric.text.normalise import DROPPED, normalise, token_f1
from q2_metric.text.windows import UnitRange, chunks, divide, fitting, tree_search, window_bounds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Joy of Painting.", "joy of painting"),
        ("in our  house", "house"),
        ("Rock'n'Roll!", "rocknroll"),
        ("“quoted”", "quoted"),
        ("An apple a day", "apple day"),
        ("nan", "nan"),
        ("None", "none"),
        ("a the", ""),
        ("Ánna", "ánna"),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    # "the the"-like leftovers and odd case mappings must not appear on the second pass.
    once = normalise(text)
    assert normalise(once) == once


@given(st.text(), st.text())
def test_normalised_words_and_their_overlap(left: str, right: str) -> None:
    found = normalise(left)
    assert found == " ".join(found.split())
    assert DROPPED.isdisjoint(found.split())
    assert not set(found) & set(string.punctuation)
    assert token_f1(left, right) == token_f1(right, left)
    assert 0 <= token_f1(left, right) <= 1
    assert token_f1(left, left) == (1.0 if found else 0.0)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("very acidic", "slightly acidic", 0.5),
        ("the 1980s", "1980s", 1.0),
        ("red hair", "red hair and freckles", 2 * 1.0 * 0.5 / 1.5),
        ("b b", "b", 2 * 0.5 * 1.0 / 1.5),
        ("", "something", 0.0),
        ("the", "a", 0.0),
    ],
)
def test_token_f1(left: str, right: str, expected: float) -> None:
    assert token_f1(left, right) == pytest.approx(expected)
    assert token_f1(right, left) == pytest.approx(expected)


def test_alignment_tells_kinds_of_match_apart() -> None:
    query = ["he", "painted", "happy", "little", "trees", "on", "canvas", "in", "1999"]
    text = ["the", "painter", "made", "happy", "little", "clouds", "of", "canvas"]
    query_types, text_types = align(query, text)
    assert query_types == [
        QUERY_FUNCTION, QUERY_STEM, QUERY_RUN, QUERY_RUN, QUERY, QUERY_FUNCTION, QUERY_EXACT,
        QUERY_FUNCTION, QUERY_NUMBER,
    ]
    assert text_types == [
        TEXT, TEXT_STEM, TEXT, TEXT_EXACT, TEXT_EXACT, TEXT, TEXT, TEXT_EXACT,
    ]


def test_a_function_word_that_is_in_the_text_is_still_one() -> None:
    assert align(["of", "cats"], ["the", "end", "of", "dogs"]) == (
        [QUERY_FUNCTION, QUERY], [TEXT, TEXT, TEXT, TEXT])
    assert align(["end", "of"], ["the", "end", "of"])[0] == [QUERY_RUN, QUERY_RUN]


words = st.lists(st.sampled_from("a the cats cat sat mat 1994 12 of . runs running".split()))


@given(words, words)
def test_alignment_gives_each_word_one_known_type(query: list[str], text: list[str]) -> None:
    query_types, text_types = align(query, text)
    assert len(query_types) == len(query)
    assert len(text_types) == len(text)
    assert all(0 <= kind < N_TYPES for kind in query_types + text_types)
    assert all((kind in (TEXT_EXACT,)) <= (word in query)
               for kind, word in zip(text_types, text, strict=True))


@given(
    st.integers(0, 400), st.integers(1, 60),
    st.floats(0, 0.99, allow_nan=False),
)
def test_chunks_cover_everything_once_and_end(n: int, size: int, overlap: float) -> None:
    offsets = [(3 * i, 3 * i + 2) for i in range(n)]
    found = chunks(offsets, size, overlap)
    covered = {
        i for start, end in found for i, (a, b) in enumerate(offsets) if start <= a and b <= end
    }
    assert covered == set(range(n))
    assert all((end - start + 1) // 3 <= size for start, end in found)
    ends = [end for _, end in found]
    assert ends == sorted(set(ends)), "a chunk lies inside the one before"


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=80),
    st.integers(1, 30),
    st.floats(0, 1, exclude_max=True),
)
def test_chunks_of_tokens_of_any_width(
    tokens: list[tuple[int, int]], size: int, overlap: float
) -> None:
    """Tokens may be empty and stand apart or together, as those of odd characters do."""
    offsets, end = [], 0
    for gap, width in tokens:
        offsets.append((end + gap, end + gap + width))
        end += gap + width
    found = chunks(offsets, size, overlap)
    assert len(found) <= len(offsets)
    if offsets:
        assert found[0][0] == offsets[0][0]
        assert found[-1][1] == offsets[-1][1]
    starts = [start for start, _ in found]
    assert starts == sorted(starts)
    gaps = [(a[1], b[0]) for a, b in itertools.pairwise(found) if b[0] > a[1]]
    wide = [(start, end) for start, end in offsets if start < end]
    assert not [token for token in wide for a, b in gaps if token[0] < b and a < token[1]]


@given(st.integers(1, 200), st.integers(2, 9))
def test_divide_is_even_and_complete(count: int, branches: int) -> None:
    parts = divide(0, count, branches)
    sizes = [last - first for first, last in parts]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1
    assert parts[0][0] == 0
    assert all(a[1] == b[0] for a, b in itertools.pairwise(parts))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 80))
def test_fitting_parts_fit_or_are_single(sizes: list[int], limit: int) -> None:
    parts = fitting(sizes, 0, len(sizes), limit)
    assert [i for first, last in parts for i in range(first, last)] == list(range(len(sizes)))
    assert all(last - first == 1 or sum(sizes[first:last]) <= limit for first, last in parts)


@given(
    st.lists(st.integers(0, 40), max_size=6), st.integers(2, 5), st.data(),
)
def test_tree_search_finds_the_planted_unit(
    lengths: list[int], branches: int, data: st.DataObject
) -> None:
    targets = [data.draw(st.integers(0, max(0, n - 1))) for n in lengths]
    calls = 0

    def judge(parts: Sequence[UnitRange]) -> list[float]:
        nonlocal calls
        calls += 1
        return [
            1.0 if part.first <= targets[part.search] < part.last else 0.1 for part in parts
        ]

    found = tree_search([[5] * n for n in lengths], judge, branches, limit=1000)
    for n, target, result in zip(lengths, targets, found, strict=True):
        assert result == (target if n else None)
    # One batch a level, whatever the number of searches.
    assert calls <= math.ceil(math.log(max([*lengths, 2]), 2)) + 1


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=4), st.integers(2, 6),
    st.integers(1, 60), st.data(),
)
def test_tree_search_ends_at_a_unit_whatever_the_scores(
    sizes: list[list[int]], branches: int, limit: int, data: st.DataObject
) -> None:
    asked = 0

    def judge(parts: Sequence[UnitRange]) -> list[float]:
        nonlocal asked
        asked += len(parts)
        for part in parts:
            units = sizes[part.search][part.first : part.last]
            assert len(units) == 1 or sum(units) <= limit
        return [data.draw(st.sampled_from([0.0, 0.5, 1.0, math.nan])) for _ in parts]

    found = tree_search(sizes, judge, branches, limit)
    for units, best in zip(sizes, found, strict=True):
        assert (best is None) == (not units)
        assert best is None or 0 <= best < len(units)
    assert asked <= sum(3 * len(units) + 1 for units in sizes)


def test_each_unit_can_be_judged_alone() -> None:
    asked: list[UnitRange] = []

    def judge(parts: Sequence[UnitRange]) -> list[float]:
        asked.extend(parts)
        return [[0.2, 0.9, 0.9][part.first] for part in parts]

    assert tree_search([[1] * 3, [], [1]], judge, branches=3) == [1, None, 0]
    assert asked == [UnitRange(0, 0, 1), UnitRange(0, 1, 2), UnitRange(0, 2, 3), UnitRange(2, 0, 1)]


def test_tree_search_divides_what_does_not_fit() -> None:
    seen: list[UnitRange] = []

    def judge(parts: Sequence[UnitRange]) -> list[float]:
        seen.extend(parts)
        return [float(part.first <= 7 < part.last) for part in parts]

    assert tree_search([[10] * 8], judge, 2, limit=15) == [7]
    assert all(part.last - part.first == 1 for part in seen)


@given(st.integers(0, 300), st.integers(1, 60), st.integers(1, 60), st.booleans())
def test_windows_cover_everything_once(count: int, size: int, step: int, full_last: bool) -> None:
    step = min(step, size)
    found = window_bounds(count, size, step, full_last=full_last)
    assert {i for first, last in found for i in range(first, last)} == set(range(count))
    lengths = [last - first for first, last in found]
    assert set(lengths[: None if full_last else -1]) <= {min(size, count)}
    assert lengths[-1] <= size
    for earlier, later in itertools.pairwise(found):
        assert earlier[0] < later[0] <= earlier[0] + step
        assert earlier[1] < later[1]
