"""Finds the citations in a response ("[2]"), and the passages of the knowledge that they name."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import islice

from q2_metric.text.markup import NAME, NAMES, SOURCE
from q2_metric.text.sentences import split_sentences

_CITATION = re.compile(
    rf"\[\s*(?:{SOURCE})?({NAMES})\s*\](?![(:])"
    rf"|\(\s*(?:see\s+)?{SOURCE}({NAMES})\s*\)", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")
_MOST = 20
"""Maximum number of passages in one citation. A longer range, as in "[1-50]", is none."""

_LABEL = re.compile(rf"^\s*(?:\[\s*(?:{SOURCE})?({NAME})\s*\]:?"
                    rf"|{SOURCE}({NAME})\s*[:.)])", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s.,;:!?)\"'”’*_]*")
_OPENING = re.compile(rf"(?:{_CITATION.pattern}|{_BETWEEN.pattern[:-1]})*", re.IGNORECASE)
"""The start of a sentence without its words. Citations there belong to the sentence before."""


def has_labels(knowledge: str) -> bool:
    """Whether the knowledge begins with a passage number, as in "[2] …" or "Source 2: …"."""
    return _LABEL.match(knowledge.lstrip().partition("\n")[0]) is not None


def passages(knowledge: str) -> dict[str, tuple[int, int]]:
    """The range of each passage, by the name that citations use. A passage begins with a number
    ("[2] …", "Source 2: …"). If the knowledge does not begin with one, each line that is not blank
    is a passage, numbered from 1.

    >>> passages("[4] One.\\nMore.\\n[7] Two.")
    {'4': (0, 14), '7': (15, 23)}
    >>> passages("One.\\n\\nTwo.")
    {'1': (0, 4), '2': (6, 10)}
    """
    places: dict[str, tuple[int, int]] = {}
    labelled, last, start = has_labels(knowledge), "", 0
    for line in knowledge.split("\n"):
        end = start + len(line)
        if line.strip() and not labelled:
            places[str(len(places) + 1)] = (start, end)
        elif label := _LABEL.match(line):
            last = str(int((label[1] or label[2]).lstrip("^#")))
            places[last] = (start, end)
        elif line.strip():
            places[last] = (places[last][0], end)
        start = end + 1
    return places


def cited(response: str, places: Sequence[tuple[int, int]]) -> list[list[str]]:
    """For each claim, the names of the passages that it cites. The first claim of a sentence has
    the citations before it, too. A claim without any gets those that follow in its sentence or
    directly after the sentence.

    >>> cited("It is old [1], and tall. [2] It is red.", [(0, 9), (11, 24), (29, 39)])
    [['1'], ['2'], []]
    >>> cited("As stated in [2], it is old.", [(18, 28)])
    [['2']]
    """
    marks = [(mark.start(), mark.end(), _names(mark[1] or mark[2]))
             for mark in _CITATION.finditer(response)]
    if not marks:
        return [[] for _ in places]
    lefts = [left for left, _, _ in marks]
    sentences = split_sentences(response)
    begins = [0, *(begin for begin, _ in sentences)]
    ends = [*(end for _, end in sentences), len(response)]
    starts = sorted(start for start, _ in places)
    by_claim = []
    for start, end in places:
        begin = begins[bisect_right(begins, start) - 1]
        first = bisect_right(lefts, start)
        opening = _OPENING.match(response, begin)
        if opening and starts[bisect_left(starts, begin)] == start:
            first = min(first, bisect_left(lefts, opening.end()))
        last = bisect_left(lefts, end)
        names = [name for _, _, some in marks[first:last] for name in some]
        reached = ends[min(bisect_left(ends, end), len(ends) - 1)]
        at = end
        for left, right, some in islice(marks, last, None):
            if not (_BETWEEN.fullmatch(response, at, left) or (not names and left < reached)):
                break
            names += some
            at = right
        by_claim.append(list(dict.fromkeys(names)))
    return by_claim


def _names(text: str) -> list[str]:
    names: list[str] = []
    for first, last in _RANGE.findall(text):
        cited_range = range(int(first), int(last or first) + 1)
        if len(cited_range) <= _MOST:
            names += map(str, cited_range)
    return names


def texts(knowledge: str, names: Sequence[str], places: Mapping[str, tuple[int, int]]) -> list[str]:
    """Names that ``places`` lacks are skipped."""
    return [knowledge[slice(*places[name])] for name in names if name in places]
