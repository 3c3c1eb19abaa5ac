"""Counts how often each rule on values acts on labelled claims, and how often it is right.

    python -m tools.benchmarks rules [--rows 1000]

Only the rules judge, and no network. They read each claim of a response, as ``EnglishClaims`` finds
it, and the whole knowledge. Each rule is counted alone, also where an earlier rule has decided. The
sets are WoW, the development sets, the sets of TRUE and ``dev/pairs.jsonl``, with at most
``--rows`` evenly spaced responses of each. In ``dev/answers.jsonl`` and ``train/written``, each
claim has a label. Of the latter, at most twice ``--rows`` claims are read. Nothing is chosen by the
evaluation sets.

A rule is right if its verdict is the label of the claim. Where only responses have labels, a rule
is judged if its claim is the only one of the response. The last line is without the pairs, which
were written together with the rules.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from q2_metric.data.readers import Labelled, dev_files, read_annotated, read_dev, read_true
from q2_metric.english.claims.find import EnglishClaims
from q2_metric.metrics.claims import as_read, unclaimed
from q2_metric.metrics.rules import RULES
from q2_metric.types import Example
from tools.training.examples import read_jsonl
from tools.training.reading import joined

TRUE = ("dialfact_a", "qags_cnndm", "summeval")
"""The sets of TRUE, without the one that has WoW's responses."""


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim, the knowledge of its response, and whether people judged the claim supported.
    ``supported`` is ``None`` if only the response has a label, and has several claims."""

    claim: str
    knowledge: str
    supported: bool | None


def cases(rows: int) -> Iterator[tuple[str, list[LabelledClaim]]]:
    """Yields the name of each set and its claims. ``rows`` is the maximum number of responses."""
    yield "wow", _of_responses(read_annotated(), rows)
    for name, path in dev_files().items():
        yield f"dev/{name}", _of_responses(read_dev(path), rows)
    folder = Path(os.environ["Q2_DATA_DIR"])
    yield "dev/answers", [
        _case(claim, item["knowledge"]) for item in read_jsonl(folder / "dev" / "answers.jsonl")
        for said in item["responses"] for claim in said["claims"]]
    written = [(claim, item["knowledge"])
               for path in sorted((folder / "train" / "written").glob("*.jsonl"))
               for item in read_jsonl(path) for claim in item.get("claims", ())]
    yield "train/written", [_case(*one) for one in _some(written, 2 * rows)]
    for name in TRUE:
        yield f"true/{name}", _of_responses(read_true(name), rows)
    sides = [(pair, side) for pair in read_jsonl(folder / "dev" / "pairs.jsonl")
             for side in ("supported", "unsupported")]
    yield "dev/pairs", _of_responses(
        [Labelled(Example(pair[side], pair["knowledge"], question=pair.get("question")),
                  side == "supported") for pair, side in sides], rows)


def _some(items: list[Any], most: int) -> list[Any]:
    return items[:: max(1, -(-len(items) // most))]


def _case(claim: dict[str, str], knowledge: str | list[str]) -> LabelledClaim:
    example, _ = as_read(Example(claim["text"], joined(knowledge)))
    return LabelledClaim(example.response, example.knowledge, claim["label"] == "supported")


def _of_responses(labelled: list[Labelled], rows: int) -> list[LabelledClaim]:
    read = [(as_read(item.example)[0], item.consistent) for item in _some(labelled, rows)
            if not unclaimed(item.example, with_question=True)]
    found = EnglishClaims().find([example for example, _ in read])
    return [LabelledClaim(claim.text, example.knowledge, label if len(claims) == 1 else None)
            for (example, label), claims in zip(read, found, strict=True) for claim in claims]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="-m tools.benchmarks rules", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1000,
                        help="maximum number of responses of each set [default: 1000]")
    given = parser.parse_args()
    print(f"At most {given.rows} responses of each set. Each cell: acts, right/judged\n")
    print(f"{'set':26}{'claims':>7}" + "".join(f"{name:>22}" for name in RULES))
    total: Counter[tuple[str, str]] = Counter()
    for name, some in cases(given.rows):
        counts = counted(some)
        if name != "dev/pairs":
            total += counts
        _print_line(name, len(some), counts)
    _print_line("all but the pairs", 0, total)


def counted(some: list[LabelledClaim]) -> Counter[tuple[str, str]]:
    """By rule, how often it "acts", how often that can be "judged", and how often it is "right"."""
    counts: Counter[tuple[str, str]] = Counter()
    for case in some:
        for name, (decided, applies) in RULES.items():
            if applies(case.claim, case.knowledge):
                counts[name, "acts"] += 1
                counts[name, "judged"] += case.supported is not None
                counts[name, "right"] += (decided == "supported") is case.supported
    return counts


def _print_line(name: str, claims: int, counts: Counter[tuple[str, str]]) -> None:
    cells = (f"{counts[rule, 'acts']}, {counts[rule, 'right']}/{counts[rule, 'judged']}"
             if counts[rule, "acts"] else "–" for rule in RULES)
    print(f"{name:26}{claims or '':>7}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
