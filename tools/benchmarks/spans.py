"""Compares the unsupported characters that SCALE finds with those that people marked.

    python -m tools.benchmarks spans

The responses are biographies by GPT-3 in which people marked each sentence as accurate or not
(``dev/wikibio_gpt3`` in the folder that Q2_DATA_DIR names). The support of a character is the
lowest support of the claims that contain it. The table shows the ROC-AUC over all characters. It
also shows precision, recall and F1, if characters with a support of at most 0.5 count as
unsupported. There are two baselines. For "words not found", the support of all characters of a
sentence is the share of its words that occur in the knowledge. For "all of it", each character is
unsupported.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from q2_metric import scoring
from q2_metric.data.readers import dev_files, read_dev
from q2_metric.text.overlap import known_words
from q2_metric.types import Example, Judgement, Score

SET = "wikibio_gpt3"


@dataclass(frozen=True, slots=True)
class LabelledResponse:
    """A response whose sentences people labelled.

    Attributes:
        example: the response with its knowledge.
        sentences: for each sentence, (start in the response, end, true if people judged it
            supported).
    """

    example: Example
    sentences: tuple[tuple[int, int, bool], ...]


def labelled_responses() -> Iterator[LabelledResponse]:
    """Yields the responses of the set. The rows of the set are sentences; those with the same
    knowledge are joined to a response."""
    labelled = read_dev(dev_files()[SET])
    for _, group in groupby(labelled, key=lambda row: row.example.knowledge):
        response, sentences = "", []
        rows = list(group)
        for row in rows:
            start = len(response) + bool(response)
            response = f"{response} {row.example.response}".strip()
            sentences.append((start, len(response), bool(row.consistent)))
        example = replace(rows[0].example, response=response, history=())
        yield LabelledResponse(example, tuple(sentences))


def unsupported(score: Score) -> NDArray[np.float64]:
    """For each character of a response, 1 minus its support: the lowest support of the claims that
    contain the character."""
    doubt = np.zeros(len(score.example.response))
    for judgement in score.evidence:
        if isinstance(judgement, Judgement):
            span = slice(judgement.claim.start, judgement.claim.end)
            doubt[span] = np.maximum(doubt[span], 1 - judgement.support)
    return doubt


def _by_words(labelled: LabelledResponse) -> NDArray[np.float64]:
    doubt = np.zeros(len(labelled.example.response))
    for start, end, _ in labelled.sentences:
        shared = known_words(labelled.example.response[start:end], labelled.example.knowledge)
        doubt[start:end] = 1 - (shared or 0.0)
    return doubt


def _labels(labelled: LabelledResponse) -> NDArray[np.bool_]:
    marked = np.zeros(len(labelled.example.response), dtype=bool)
    for start, end, supported in labelled.sentences:
        marked[start:end] = not supported
    return marked


def table(labelled: Sequence[LabelledResponse], scores: Sequence[Score]) -> str:
    """The table to print: a row for SCALE and a row for each of the two baselines.

    ``scores`` are SCALE's scores of the responses.
    """
    marked = np.concatenate([_labels(response) for response in labelled])
    doubts = {
        "claims": np.concatenate([unsupported(score) for score in scores]),
        "words not found": np.concatenate([_by_words(response) for response in labelled]),
        "all of it": np.ones(len(marked)),
    }
    lines = [f"{'':<16}{'ROC-AUC':>10}{'precision':>10}{'recall':>10}{'F1':>10}"]
    for name, doubt in doubts.items():
        precision, recall, f1, _ = precision_recall_fscore_support(
            marked, doubt >= 0.5, average="binary", zero_division=0.0)
        numbers = (roc_auc_score(marked, doubt), precision, recall, f1)
        lines.append(f"{name:<16}" + "".join(f"{100 * number:10.1f}" for number in numbers))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser("-m tools.benchmarks spans", description=__doc__)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--limit", type=int, help="maximum number of responses (default: all)")
    options = parser.parse_args()
    labelled = list(labelled_responses())[: options.limit]
    examples = [response.example for response in labelled]
    loaded = scoring.load(["scale"], {"dtype": options.dtype})
    scores = [by_name["scale"] for by_name in scoring.score(loaded, examples)]
    characters = sum(len(example.response) for example in examples)
    print(f"{len(labelled)} passages, {characters:,} characters")
    print(table(labelled, scores))


if __name__ == "__main__":
    main()
