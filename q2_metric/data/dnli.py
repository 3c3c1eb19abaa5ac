"""Reads Dialogue NLI (Welleck et al., ACL 2019), a JSON array although its name ends in ``.jsonl``.

``dialogue_nli_verified_test.jsonl`` is the part of the test set whose labels people verified.
https://wellecks.com/dialogue_nli
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from q2_metric.data.set_rows import read_rows, text_of
from q2_metric.errors import DataError
from q2_metric.types import Example, Label

LABELS: Mapping[str, Label] = {
    "positive": "entailment",
    "neutral": "neutral",
    "negative": "contradiction",
}


@dataclass(frozen=True, slots=True)
class SentencePair:
    """The first sentence is the knowledge of ``example``, and the second the response."""

    example: Example
    label: Label

    @property
    def consistent(self) -> bool:
        """Neutral pairs are not consistent (Q², section 5.3)."""
        return self.label == "entailment"


def read_dnli(path: str | Path) -> list[SentencePair]:
    path = Path(path)
    pairs = []
    needed = ("sentence1", "sentence2", "label")
    for number, row in enumerate(read_rows(path, "json", needed), start=1):
        if row["label"] not in LABELS:
            raise DataError(
                f"{path}, row {number}: the label is {row['label']!r}, not one of "
                f"{', '.join(LABELS)}"
            )
        example = Example(
            response=text_of(row, "sentence2", path, number),
            knowledge=text_of(row, "sentence1", path, number),
            id=str(row.get("id") or number),
        )
        pairs.append(SentencePair(example, LABELS[row["label"]]))
    return pairs
