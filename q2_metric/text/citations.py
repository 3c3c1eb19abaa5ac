"""What a response cites, and which passage of the knowledge each citation names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from q2_metric.text.sentences import split_sentences

_NAME = r"[\^#]?\d{1,3}"
_NAMES = rf"{_NAME}(?:\s*[,;–-]\s*{_NAME})*"
_SOURCE = r"(?:doc|document|source|ref|reference|passage|context|citation|chunk|snippet)s?"
_CITATION = re.compile(
    rf"\[\s*(?:{_SOURCE}[\s.:#_-]*)?({_NAMES})\s*\](?![(:])"
    rf"|\(\s*(?:see\s+)?{_SOURCE}[\s.:#_-]*({_NAMES})\s*\)", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")
_MOST = 20
"""Passages of one citation; a longer range is none."""

_LABEL = re.compile(rf"^\s*(?:\[\s*(?:{_SOURCE}[\s.:#_-]*)?({_NAME})\s*\]:?"
                    rf"|{_SOURCE}[\s.:#_-]*({_NAME})\s*[:.)])", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s.,;:!?)\"'”’*_]*")


def passages(knowledge: str) -> dict[str, tuple[int, int]]:
    """The characters of each passage by what a citation calls it.

    Where lines begin with a number of their own ("[2] …", "Source 2: …"), a passage goes to the
    next such line. Else each line that is not blank is a passage, counted from 1.

    >>> passages("[4] One.\\nMore.\\n[7] Two.")
    {'4': (0, 14), '7': (15, 23)}
    >>> passages("One.\\n\\nTwo.")
    {'1': (0, 4), '2': (6, 10)}
    """
    found: dict[str, tuple[int, int]] = {}
    lines: list[tuple[int, int, str | None]] = []
    start = 0
    for line in knowledge.split("\n"):
        if line.strip():
            label = _LABEL.match(line)
            name = (label[1] or label[2]).lstrip("^#") if label else None
            lines.append((start, start + len(line), name))
        start += len(line) + 1
    labelled = bool(lines) and lines[0][2] is not None
    last = ""
    for count, (left, right, name) in enumerate(lines, start=1):
        if labelled and name is None:
            found[last] = (found[last][0], right)
            continue
        last = str(int(name)) if labelled and name is not None else str(count)
        found[last] = (left, right)
    return found


def cited(response: str, places: Sequence[tuple[int, int]]) -> list[list[str]]:
    """The names that each of these claims cites, by its place in the response.

    A claim cites what stands in it, else what follows it in its sentence or right behind that.

    >>> cited("It is old [1], and tall. [2] It is red.", [(0, 9), (11, 24), (29, 39)])
    [['1'], ['2'], []]
    """
    marks = [(found.start(), found.end(), _names(found[1] or found[2]))
             for found in _CITATION.finditer(response)]
    if not marks:
        return [[] for _ in places]
    # A citation that a sentence begins with belongs to the one before.
    ends = [end for _, end in split_sentences(response)]
    found = []
    for start, end in places:
        inside = [mark for mark in marks if start < mark[0] < end]
        sentence = min((one for one in ends if one >= end), default=len(response))
        reached = max(sentence, end)
        names = [name for _, _, some in inside for name in some]
        at = end
        for left, right, some in marks:
            near = _BETWEEN.fullmatch(response, at, left) if left >= at else None
            if left >= end and (near or (not names and left < reached)):
                names += some
                at = right
        found.append(list(dict.fromkeys(names)))
    return found


def _names(text: str) -> list[str]:
    names: list[str] = []
    for found in _RANGE.finditer(text):
        if found[3]:
            names.append(str(int(found[3])))
        elif 0 <= int(found[2]) - int(found[1]) < _MOST:
            names += map(str, range(int(found[1]), int(found[2]) + 1))
    return names


def texts(knowledge: str, names: Sequence[str], places: Mapping[str, tuple[int, int]]) -> list[str]:
    """The passages of these names; a name that there is not has none."""
    return [knowledge[slice(*places[name])] for name in names if name in places]
