"""Measures agreement with the labels of answers that put their sources into words of their own.

    python -m tools.benchmarks answers [FILE]

Each line of FILE has ``knowledge`` (a list of passages), ``question``, ``genre`` and ``responses``.
Each response has a ``label`` (1: supported, 0: not, null: a refusal) and ``claims`` with a label
and a kind. The default is ``dev/answers.jsonl`` in the folder that Q2_DATA_DIR names. Responses are
scored as a user scores them. Each labelled claim is also scored alone, as a response. The result is
written to docs/results/answers.json and .md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from q2_metric import __version__, scoring
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.scores import NEUTRAL
from q2_metric.evaluation.tables import Cell, Column, Report, Table, write
from q2_metric.types import Example, Judgement, Score
from tools.benchmarks.harness import machine
from tools.training.reading import responses

OUT = Path(__file__).resolve().parents[2] / "docs" / "results" / "answers.json"
METRICS = ("q2", "scale", "groundedness", "knowledge_f1", "word_share")
OF_CLAIMS = METRICS[1:]
"""Q² asks questions about the response as a whole, so single claims are not scored with it."""
ATTRIBUTABLE = "groundedness, attributable"
SHOWN = {"q2": "Q²", "scale": "SCALE", "groundedness": "groundedness", "knowledge_f1": "token F1",
         "word_share": "content words found", ATTRIBUTABLE: ATTRIBUTABLE}


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A response or a claim with its label. ``scores`` has a score by the name of the metric."""

    supported: bool
    genre: str
    kind: str
    label: str
    scores: Mapping[str, Score]

    def value(self, metric: str) -> float:
        found = self.scores[metric].value
        return NEUTRAL if found is None else found

    @property
    def verdict(self) -> str:
        """Groundedness's verdict on a claim: the worst of those on its parts."""
        found = [item.verdict for item in self.scores["groundedness"].evidence
                 if isinstance(item, Judgement)]
        return next((each for each in ("contradicted", "not found", "supported") if each in found),
                    "none")


LabelledExamples = list[tuple[Example, Mapping[str, Any]]]


def read(path: Path) -> tuple[LabelledExamples, LabelledExamples, LabelledExamples]:
    """The responses of a file that have a label, its claims, and its refusals. Each comes with the
    fields supported, genre, kind and label."""
    labelled: LabelledExamples = []
    claims: LabelledExamples = []
    refusals: LabelledExamples = []
    for example, item, said in responses(path):
        about = {"genre": item["genre"], "kind": item["task"], "label": str(said["label"])}
        if said["label"] is None:
            refusals.append((example, about | {"supported": True}))
            continue
        labelled.append((example, about | {"supported": said["label"] == 1}))
        claims += [(Example(claim["text"].replace("**", ""), example.knowledge), about | {
            "kind": claim["kind"], "label": claim["label"],
            "supported": claim["label"] == "supported"}) for claim in said["claims"]]
    return labelled, claims, refusals


def judged(
    labelled: Sequence[tuple[Example, Mapping[str, Any]]], names: Sequence[str], **settings: Any
) -> list[LabelledText]:
    """Scores labelled examples with the metrics, and with groundedness under both readings."""
    examples = [example for example, _ in labelled]
    found = scoring.score(scoring.load(list(names), settings), examples, evidence=True)
    strict = scoring.score(
        scoring.load(["groundedness"], settings | {"support": "attributable"}), examples)
    return [LabelledText(**about, scores={**scores, ATTRIBUTABLE: other["groundedness"]})
            for (_, about), scores, other in zip(labelled, found, strict, strict=True)]


def agreement(cases: Sequence[LabelledText], names: Sequence[str]) -> list[tuple[Cell, ...]]:
    """A row for each metric: name, ROC-AUC with its interval, the share of supported cases under
    0.5, the share of other cases over 0.5, and the expected calibration error."""
    labels = np.array([case.supported for case in cases])
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        values = np.array([case.value(name) for case in cases])
        rows.append((SHOWN[name], st.auc_interval(labels, values),
                     float((values[labels] < NEUTRAL).mean()),
                     float((values[~labels] > NEUTRAL).mean()), st.ece(labels, values)))
    return rows


def verdicts(cases: Sequence[LabelledText]) -> list[tuple[Cell, ...]]:
    """A row for each verdict on single claims: the verdict, and how many claims with each label
    have it."""
    kinds = ("supported", "contradicted", "not_found")
    return [(verdict, *(float(sum(case.verdict == verdict and case.label == kind
                                  for case in cases)) for kind in kinds))
            for verdict in ("supported", "not found", "contradicted", "none")]


def by(cases: Sequence[LabelledText], key: Callable[[LabelledText], str]) -> list[tuple[Cell, ...]]:
    """A row for each group: its name, the number of cases, how many are supported, and for each
    metric the ROC-AUC, or the share on the right side of 0.5 if all have the same label."""
    rows: list[tuple[Cell, ...]] = []
    for group in sorted({key(case) for case in cases}):
        some = [case for case in cases if key(case) == group]
        labels = [case.supported for case in some]
        rows.append((group, float(len(some)), float(sum(labels)), *(
            st.roc_auc(labels, [case.value(name) for case in some])
            if len(set(labels)) == 2 else
            float(np.mean([(case.value(name) > NEUTRAL) == case.supported for case in some]))
            for name in OF_CLAIMS)))
    return rows


def report(path: Path, **settings: Any) -> Report:
    answered, claims, refusals = read(path)
    of_responses = judged(answered, METRICS, **settings)
    of_claims = judged(claims, OF_CLAIMS, **settings)
    silent = scoring.score(scoring.load(["groundedness"], settings),
                           [example for example, _ in refusals])
    columns = (Column("metric", "text"), Column("ROC-AUC", "hundred"),
               Column("supported under 0.5", "percent"), Column("others over 0.5", "percent"),
               Column("ECE"))
    groups = (Column("cases", "count"), Column("supported", "count"),
              *(Column(SHOWN[name], "hundred") for name in OF_CLAIMS))
    accused = [case for case in of_claims if case.verdict == "contradicted"]
    right = sum(case.label == "contradicted" for case in accused)
    scored = sum(one["groundedness"].value is not None for one in silent)
    return Report(
        "answers", "Answers in their own words",
        (
            Table("responses", f"{len(answered)} responses", columns,
                  tuple(agreement(of_responses, (*METRICS, ATTRIBUTABLE))),
                  f"Of {len(refusals)} refusals, {scored} have a score."),
            Table("claims", f"{len(claims)} claims, each scored alone", columns,
                  tuple(agreement(of_claims, (*OF_CLAIMS, ATTRIBUTABLE)))),
            Table("verdicts", "Verdicts on the claims, by label",
                  (Column("verdict", "text"), *(Column(name, "count") for name in (
                      "supported", "contradicted", "not found"))), tuple(verdicts(of_claims)),
                  f"Of {len(accused)} claims called contradicted, {right} are."),
            Table("genres", "Claims by genre (ROC-AUC)", (Column("genre", "text"), *groups),
                  tuple(by(of_claims, lambda case: case.genre))),
            Table("kinds", "Claims by kind (share on the right side of 0.5)",
                  (Column("kind", "text"), *groups),
                  tuple(by(of_claims, lambda case: f"{case.label}: {case.kind}"))),
        ),
        {metric.name: metric.signature for metric in scoring.load(list(METRICS), settings)},
        facts={"command": "python -m tools.benchmarks answers", "version": __version__,
               "date": time.strftime("%Y-%m-%d"), "machine": str(machine()["processor"])})


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="-m tools.benchmarks answers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=Path(
        os.environ.get("Q2_DATA_DIR", ""), "dev", "answers.jsonl"))
    parser.add_argument("--preset", default="bundled")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    found = report(options.file, preset=options.preset, dtype=options.dtype)
    for suffix in (".json", ".md"):
        write(found, options.out.with_suffix(suffix))
    for table in found.tables[:3]:
        print(table.title)
        for row in table.shown():
            print("  " + "  ".join(f"{cell:>24}" for cell in row))
        print(f"  {table.note}\n" if table.note else "")


if __name__ == "__main__":
    main()
