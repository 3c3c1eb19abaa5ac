"""Reads Dialogue NLI (Welleck et al., ACL 2019), a JSON array although its name ends in ``.jsonl``.

``dialogue_nli_verified_test.jsonl`` is the part of the test set whose labels people verified.
https://wellecks.com/dialogue_nli
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from q2_metric.data.set_rows import read_rows
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
    pairs = []
    for row in read_rows(path, "json", ("sentence1", "sentence2", "label")):
        if row["label"] not in LABELS:
            raise row.wrong(f"the label is {row['label']!r}, not one of {', '.join(LABELS)}")
        example = Example(row.text("sentence2"), row.text("sentence1"),
                          id=str(row.get("id") or row.number))
        pairs.append(SentencePair(example, LABELS[row["label"]]))
    return pairs
