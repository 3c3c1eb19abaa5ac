"""What the reader learns from: extractive questions, answerable and not."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

from training.examples import Example, Source, read_jsonl

RATES = {
    "squad2_dev_half": 1.0, "squad2_dev_inferred": 1.0, "squad1_dev": 1.0,
    "squad_train_pieces": 1.0, "squad_train_sample": 1.0, "squadshifts_wiki": 1.0,
    "squadshifts_reddit": 0.35, "squadshifts_amazon": 0.25, "qed_dev_nq": 1.0,
    "nq_swap": 0.7, "multispanqa_valid": 1.0, "qamr": 1.0, "qasrl_gs": 0.3, "qanom": 0.2,
    "qadiscourse": 0.3, "fairytaleqa_extractive": 0.5, "friendsqa": 0.6,
    "mctest_extractive": 0.6, "tweetqa": 0.5, "quoref_contrast": 1.0, "ropes_contrast": 0.3,
    "drop_contrast": 0.5, "covidqa": 0.3, "policyqa": 0.15, "subjqa": 0.15,
}
"""How often a source's rows are seen in an epoch: Wikipedia most, reviews least."""
NEGATIVE_RATE, EDIT_RATE = 0.4, 0.5
"""Of the automatic negatives of a source, times the source's own rate."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'(])")


def shorten(example: Example, rng: random.Random) -> Example:
    """Often cuts the passage to a few sentences around the answer.

    Knowledge in dialogue is a sentence or two; passages of the public sets are longer,
    and dear on a CPU. An unanswerable question keeps a random part: whatever the part,
    there is no answer in it.
    """
    if rng.random() < 0.3:
        return example
    bounds = [0, *(m.end() for m in _SENTENCE_END.finditer(example.text)), len(example.text)]
    if len(bounds) <= 2:
        return example
    last = len(bounds) - 2
    if example.target is None:
        first = final = rng.randint(0, last)
    else:
        start, end = example.target
        first = max(i for i in range(last + 1) if bounds[i] <= start)
        final = min(i for i in range(first, last + 1) if end <= bounds[i + 1])
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 4))):
        if rng.random() < 0.5:
            first = max(0, first - 1)
        else:
            final = min(last, final + 1)
    left, right = bounds[first], bounds[final + 1]
    target = example.target and (example.target[0] - left, example.target[1] - left)
    return Example(example.query, example.text[left:right], target, example.source)


def sources(folder: Path) -> list[Source]:
    """The question sets of ``folder`` at their rates.

    Raises:
        FileNotFoundError: a set is missing.
    """
    found = []
    for name, rate in RATES.items():
        for suffix, share in (("", 1.0), ("-neg", NEGATIVE_RATE), ("-edit", EDIT_RATE)):
            path = folder / f"{name}{suffix}.jsonl.gz"
            if suffix and not path.exists():
                continue
            rows = [
                Example(
                    row["question"],
                    row["context"],
                    None if row["answer"] is None
                    else (row["start"], row["start"] + len(row["answer"])),
                    name + suffix,
                )
                for row in read_jsonl(path)
            ]
            found.append(Source(name + suffix, rate * share, rows, shorten))
    return found


def asked(folder: Path, seed: int = 0, sentences: int = 12_000) -> Sequence[Source]:
    """Self-labelled questions about supported claims and retold sentences.

    Args:
        folder: the training-data folder.
        sentences: encyclopaedic sentences that are retold.
    """
    from q2_metric.models.english.parser import Parser, SpacySpans
    from q2_metric.models.questions.syntactic import SyntacticQuestions
    from training.asked import questions
    from training.entailment_data import claims, retold

    rng = random.Random(seed)
    pairs = [claim for claim in claims(folder) if claim.target == "supported"]
    pairs += retold(folder / "qa", rng, sentences).examples
    parser = Parser()
    return questions(pairs, SpacySpans(parser), SyntacticQuestions(parser), rng)
