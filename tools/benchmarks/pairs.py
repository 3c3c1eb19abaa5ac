"""Scores pairs of a supported and an unsupported response: is the supported one higher?

    python -m tools.benchmarks pairs [FILE] [--failures METRIC]

Each line of FILE is a pair, a JSON object with id, kind, knowledge, supported, unsupported and, if
there is one, the question that both responses answer. The default is ``dev/pairs.jsonl`` in the
folder that Q2_DATA_DIR names. ``tests/golden/summaries.jsonl`` contains 30 pairs of fluent
summaries. Each unsupported summary has one error: a wrong word, two facts that are merged wrongly,
or a wrong generalisation.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from q2_metric import scoring
from q2_metric.types import Example, Judgement, Score

METRICS = ("q2", "scale", "groundedness")
MIDDLE = 0.5
"""A response with a higher score counts as supported. A missing score is replaced by this value."""
SHARES = ("in order", "ties", "unsupported > 0.5", "supported < 0.5")
"""The columns of the table: for which share of the pairs the supported response has the higher
score, both scores are equal, and so on."""


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A pair, and the scores of its two responses by one metric."""

    fields: Mapping[str, Any]
    supported: Score
    unsupported: Score

    @property
    def values(self) -> tuple[float, float]:
        """The scores of the supported response and of the unsupported response."""
        found = (self.supported.value, self.unsupported.value)
        first, second = (MIDDLE if one is None else one for one in found)
        return first, second

    @property
    def verdicts(self) -> tuple[bool, bool, bool, bool]:
        """For each statement in :data:`SHARES`, whether it is true of this pair."""
        yes, no = self.values
        return yes > no, yes == no, no > MIDDLE, yes < MIDDLE

    @property
    def fails(self) -> bool:
        in_order, _, too_high, too_low = self.verdicts
        return not in_order or too_high or too_low


def read(path: Path) -> list[dict[str, Any]]:
    """Reads the pairs of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def scored(pairs: Sequence[Mapping[str, Any]], metrics: Sequence[str],
           **settings: Any) -> dict[str, list[ScoredPair]]:
    """Scores the pairs with each metric. Returns, by metric, the pairs with their scores."""
    examples = [
        Example(pair[side], pair["knowledge"], question=pair.get("question"))
        for pair in pairs for side in ("supported", "unsupported")
    ]
    found = scoring.score(scoring.load(list(metrics), settings), examples, evidence=True)
    return {
        name: [ScoredPair(pair, found[2 * i][name], found[2 * i + 1][name])
               for i, pair in enumerate(pairs)]
        for name in metrics
    }


def shares(pairs: Sequence[ScoredPair]) -> list[float]:
    """For each statement in :data:`SHARES`, the share of the pairs for which it is true."""
    return [sum(column) / len(pairs) for column in zip(*(p.verdicts for p in pairs), strict=True)]


def by_kind(found: Mapping[str, Sequence[ScoredPair]]) -> Iterator[str]:
    """Yields a line for each kind of pairs that has failures: how many of its pairs fail for each
    metric."""
    kinds = sorted({pair.fields["kind"] for pairs in found.values() for pair in pairs})
    for kind in kinds:
        of_kind = {name: [pair for pair in pairs if pair.fields["kind"] == kind]
                   for name, pairs in found.items()}
        failed = {name: sum(pair.fails for pair in pairs) for name, pairs in of_kind.items()}
        if any(failed.values()):
            size = len(next(iter(of_kind.values())))
            yield f"{kind:22}{size:4}" + "".join(f"{failed[name]:14}" for name in found)


def told(pair: ScoredPair) -> Iterator[str]:
    """Yields the lines that describe a failed pair: its texts, its scores and the claims of both
    responses."""
    fields = pair.fields
    yield f"\n{fields['id']}  {'  '.join(f'{value:.2f}' for value in pair.values)}"
    yield f"  {fields['knowledge'][:300]!r}"
    for side, score in (("+", pair.supported), ("-", pair.unsupported)):
        yield f"  {side} {score.example.response!r}"
        for item in score.evidence:
            if isinstance(item, Judgement):
                yield f"      {item.support:.2f} {item.verdict}: {item.claim.text!r}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="-m tools.benchmarks pairs", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=Path(
        os.environ.get("Q2_DATA_DIR", ""), "dev", "pairs.jsonl"))
    parser.add_argument("--preset", default="bundled")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--metrics", default=",".join(METRICS))
    parser.add_argument("--failures", metavar="METRIC",
                        help="print the pairs on which this metric fails")
    options = parser.parse_args()
    found = scored(read(options.file), options.metrics.split(","), preset=options.preset,
                   dtype=options.dtype)
    print(f"{'':14}" + "".join(f"{name:>19}" for name in SHARES))
    for name, pairs in found.items():
        print(f"{name:14}" + "".join(f"{share:19.1%}" for share in shares(pairs)))
    print(f"\n{'pairs that fail':22}{'of':>4}" + "".join(f"{name:>14}" for name in found))
    print("\n".join(by_kind(found)))
    for pair in found.get(options.failures or "", ()):
        if pair.fails:
            print("\n".join(told(pair)))
