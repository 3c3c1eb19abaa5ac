"""Reads Dialogue NLI (Welleck et al., ACL 2019), a JSON array although its name ends in ``.jsonl``.

``dialogue_nli_verified_test.jsonl`` is the part of the test set whose labels people verified.
https://wellecks.com/dialogue_nli
"""

from pathlib import Path

from q2_metric.data.labelled import Labelled
from q2_metric.data.set_rows import read_rows
from q2_metric.types import Example

LABELS = ("positive", "neutral", "negative")


def read_dnli(path: str | Path, *, neutral: bool = True) -> list[Labelled]:
    """Reads pairs of sentences: the first is the knowledge, and the second the response. Neutral
    pairs are not consistent (Q², section 5.3); if ``neutral`` is false, they are left out."""
    pairs = []
    for row in read_rows(path, "json"):
        if row["label"] not in LABELS:
            raise row.wrong(f"the label is {row['label']!r}, not one of {', '.join(LABELS)}")
        example = Example(row.text("sentence2"), row.text("sentence1"),
                          id=str(row.get("id") or row.number))
        if neutral or row["label"] != "neutral":
            pairs.append(Labelled(example, row["label"] == "positive"))
    return pairs
