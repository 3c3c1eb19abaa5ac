"""The data of the stage "reading": claims that were written for this project, and human sources.

A network that learns from most public sources learns to count words, because their supported claims
repeat their premise and the others do not. So each human source is weighted down by how far word
overlap alone tells its labels apart, and the written claims, in which it does not, are half of the
data. ``python -m tools.training.reading --data FOLDER`` prints the table of the sources.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
import torch
from torch import nn

from q2_metric.data.readers import dev_files, read_dev
from q2_metric.models.bundled.encoding import Tokenizer
from q2_metric.text.overlap import content_words, known_words
from q2_metric.types import Example
from tools.training.batches import window
from tools.training.entailment import forward
from tools.training.examples import ExampleSource, TrainingExample, read_jsonl
from tools.training.predict import predict
from tools.training.train import Evaluate

WORDS = 190
"""Maximum number of words of a premise (about 260 tokens). A longer premise is cut to the sentences
nearest to the claim. What claims in other words rest on often has none of their words, so a smaller
excerpt leaves it out, and the label is then wrong."""

LABELS = {"supported": "supported", "contradicted": "refuted", "not_found": "not_enough"}

OPEN = {
    "groundedness": (
        "wice_claims", "fool_me_twice", "fever_symmetric",
        "faithdial_audit_wow", "faithdial_audit_topical", "faithdial_audit_cmu", "mnli_taxinli",
        "snli_counterfactual", "conjnli_dev", "summedits", "bump", "faceval", "fib", "cg2c_doc",
        "factcheck_gpt_stance", "med", "breaking_nli",
    ),
    "groundedness2": (
        "check_covid", "ci_tod_kb", "condaqa_edits", "docnli_fever_dev", "docnli_mctest",
        "docnli_mnli_dev", "entailment_bank", "feverous_dev_s", "inli", "mnli_mlbench",
        "negation_nli", "semiauto_nli_wiki", "snli_train_subsamples",
    ),
}
"""By folder, the human sources whose licence is stated and open, and which have supported and other
claims. Sources on which the heads of groundedness are fitted are not among them."""

MOST = 1_500
"""Maximum number of rows of a human source in an epoch."""
TELLING, LEAST = (0.6, 0.85), 0.1
"""A source keeps its weight if word overlap tells its labels apart with an AUC of at most the first
number, and has the weight ``LEAST`` from the second number on."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")


def excerpt(premise: str, claim: str, words: int = WORDS) -> str:
    """Shortens a premise to the sentences nearest to a claim, in their order.

    A sentence is near if it has words of the claim that few other sentences have. Each sentence is
    taken with its neighbours, until ``words`` words are taken. Unlike a window, an excerpt can hold
    distant sentences.
    """
    if len(premise.split()) <= words:
        return premise
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(premise))]
    sentences = [premise[a:b] for a, b in zip(starts, [*starts[1:], len(premise)], strict=True)]
    sizes = [len(sentence.split()) for sentence in sentences]
    wanted = _words(claim)
    held = [wanted & _words(sentence) for sentence in sentences]
    weight = {word: 1 / sum(word in there for there in held) for there in held for word in there}
    # fsum: the order of a set differs between processes, and a resumed run needs the same rows.
    near = sorted(range(len(sentences)),
                  key=lambda i: -math.fsum(weight[word] for word in held[i]))
    taken: set[int] = set()
    for place in near:
        for i in (place, place - 1, place + 1):
            size = sum(sizes[j] for j in taken)
            if 0 <= i < len(sentences) and (not taken or size + sizes[i] <= words):
                taken.add(i)
    return "".join(sentences[i] for i in sorted(taken))


@lru_cache(maxsize=1000)  # many claims have the same premise
def _words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


def joined(knowledge: str | list[str]) -> str:
    """Listed passages as one text."""
    return knowledge if isinstance(knowledge, str) else "\n".join(knowledge)


def responses(path: Path) -> Iterator[tuple[Example, dict[str, Any], dict[str, Any]]]:
    """Yields the responses of a file of whole answers, such as ``fit.jsonl``: each as an example,
    with the fields of its item and its own (``label`` is ``None`` for a refusal)."""
    for item in read_jsonl(path):
        knowledge = joined(item["knowledge"])
        for said in item["responses"]:
            yield Example(said["text"], knowledge, question=item["question"]), item, said


WRITTEN = Path(__file__).with_name("written")
"""The folder of the written claims. Its README says how they were made."""
SECOND = WRITTEN / "second"
"""Further claims, which were written when networks had learned from the first."""


def by_file(folder: Path = WRITTEN) -> dict[str, list[TrainingExample]]:
    """The claims that were written for this project, by the name of their file.

    Files without claims (whole answers, and parts of responses) are left out.
    """
    found: dict[str, list[TrainingExample]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        name = f"written_{path.stem}"
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            knowledge = joined(row.get("knowledge", ""))
            for claim in row.get("claims", ()):
                found.setdefault(name, []).append(TrainingExample(
                    claim["text"], excerpt(knowledge, claim["text"]), LABELS[claim["label"]], name))
    return found


def overlap_auc(examples: Sequence[TrainingExample]) -> float:
    """How well the share of a claim's content words in its premise tells supported claims from
    others: the ROC-AUC, in [0, 1]. 0.5 is chance."""
    from sklearn.metrics import roc_auc_score

    shares = [known_words(example.query, example.text) or 0.0 for example in examples]
    return float(roc_auc_score([example.target == "supported" for example in examples], shares))


def weight(auc: float) -> float:
    """The weight of a source, in [:data:`LEAST`, 1], by the AUC of word overlap on its labels.

    >>> weight(0.5), weight(0.95)
    (1.0, 0.1)
    """
    low, high = TELLING
    return 1 - (1 - LEAST) * min(1.0, max(0.0, (auc - low) / (high - low)))


def human(data: Path) -> Iterator[tuple[ExampleSource, dict[str, Any]]]:
    """Yields each human source, at a rate that gives its number of rows in an epoch, with the facts
    that determine the rate."""
    for folder, names in OPEN.items():
        for name in names:
            rows = [TrainingExample(row["hypothesis"], excerpt(row["premise"], row["hypothesis"]),
                                    row["label"], name)
                    for row in read_jsonl(data / folder / f"{name}.jsonl.gz")
                    if "implied" not in row.get("kind", "")]
            drawn = random.Random(0).sample(rows, min(len(rows), 2_000))
            auc = overlap_auc(drawn)
            words = median(len(row.text.split()) for row in drawn)
            # Long premises are preferred: they are what answers and summaries are judged by.
            share = weight(auc) * min(1.0, max(0.25, words / 60))
            rate = min(1.0, MOST * share / len(rows))
            yield ExampleSource(name, rate, rows), {
                "rows": len(rows), "words": words, "auc": auc, "share": share,
                "drawn": round(rate * len(rows))}


def sources(data: Path, folder: Path = WRITTEN, share: float = 1.0) -> list[ExampleSource]:
    """The sources of the stage: the written claims in ``folder``, once each, and the human sources
    in ``data``, each at ``share`` times its rate."""
    return [*(ExampleSource(name, 1.0, rows) for name, rows in by_file(folder).items()),
            *(replace(source, rate=share * source.rate) for source, _ in human(data))]


def evaluator(tokenizer: Tokenizer, device: torch.device, rows: int = 150) -> Evaluate:
    """Returns a function that evaluates a network on the development sets.

    The result has the ROC-AUC × 100 of P(entailment) on the claims of ``dev/answers.jsonl`` and on
    ``rows`` responses of each older set, and the mean of all.
    """
    from sklearn.metrics import roc_auc_score

    files = dev_files()
    answers = next(iter(files.values())).with_name("answers.jsonl")
    sets = {"answers": [
        (claim["text"].replace("**", ""), example.knowledge, claim["label"] == "supported")
        for example, _, said in responses(answers) for claim in said["claims"]]}
    for name, path in files.items():
        sets[name] = [(row.example.response, row.example.knowledge, row.consistent)
                      for row in read_dev(path, rows)]
    ready = {name: [window(TrainingExample(claim, excerpt(text, claim), "", ""), tokenizer, 384)
                    for claim, text, _ in labelled] for name, labelled in sets.items()}

    def evaluate(network: nn.Module) -> dict[str, float]:
        found = {}
        for name, labelled in sets.items():
            chances = torch.stack(predict(network, ready[name], device, forward, 16)).softmax(-1)
            labels = [label for *_, label in labelled]
            found[name] = round(100 * float(roc_auc_score(labels, chances[:, 0].numpy())), 1)
        return found | {"mean": round(float(np.mean(list(found.values()))), 2)}

    return evaluate


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
def main(data: Path) -> None:
    for source, facts in human(data):
        click.echo(f"{source.name:24} {facts['rows']:6} rows, {facts['words']:4.0f} words, "
                   f"overlap AUC {facts['auc']:.2f}, weight {facts['share']:.2f}, "
                   f"{facts['drawn']} an epoch")
    for name, rows in by_file().items():
        click.echo(f"{name:24} {len(rows):6} rows, overlap AUC {overlap_auc(rows):.2f}")


if __name__ == "__main__":
    main()
