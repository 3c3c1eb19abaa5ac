"""Reads ScreenEval (Lattimer et al., EMNLP 2023): sentences about long dialogues.

``convo`` is a list of utterances, or a text with one a line; ``original_convo`` is read instead if
there is one. ``rel_utt`` holds the indices of the utterances that support the sentence.
https://github.com/asappresearch/scale-score
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from q2_metric.data.set_rows import read_rows, text_of
from q2_metric.errors import DataError
from q2_metric.types import Example


@dataclass(frozen=True, slots=True)
class Supported:
    """A sentence (the response) about a dialogue (the knowledge, one utterance a line).

    ``relevant`` holds the lines, from 0, of the utterances that support the sentence.
    """

    example: Example
    consistent: bool
    relevant: frozenset[int]


def read_screeneval(path: str | Path) -> list[Supported]:
    """Reads the labelled sentences of a file. Their ids are row numbers, from 0."""
    path = Path(path)
    supported = []
    needed = ("convo", "inferred_summary", "agg_label")
    for number, row in enumerate(read_rows(path, "json", needed), start=1):
        lines = _utterances(row, path, number)
        if row["agg_label"] not in (0, 1):
            raise DataError(f"{path}, row {number}: 'agg_label' is not true or false")
        relevant = row.get("rel_utt") or []
        if not isinstance(relevant, list) or not all(
            isinstance(place, int) and 0 <= place < len(lines) for place in relevant
        ):
            raise DataError(
                f"{path}, row {number}: 'rel_utt' is {relevant!r}, not a list of indices of the "
                f"{len(lines)} utterances"
            )
        sentence = " ".join(text_of(row, "inferred_summary", path, number).split())
        example = Example(sentence, "\n".join(lines), id=str(number - 1))
        supported.append(Supported(example, bool(row["agg_label"]), frozenset(relevant)))
    return supported


def _utterances(row: dict[str, Any], path: Path, number: int) -> list[str]:
    name = "convo" if row.get("original_convo") is None else "original_convo"
    lines = row[name].split("\n") if isinstance(row[name], str) else row[name]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise DataError(f"{path}, row {number}: {name!r} is not a dialogue")
    return [" ".join(line.split()) for line in lines]
