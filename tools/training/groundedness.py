"""``python -m tools.training.groundedness --data FOLDER``: fits the heads of ``groundedness``.

A head is a logistic regression. It is fitted on sources that no network was trained on, because
networks judge rows that they have seen better than new rows. Each source has the same weight, and
so has each class within a source. So neither the size nor the base rate of a source matters. The
development sets are not used.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from q2_metric.metrics.groundedness import evidence
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.scale_settings import Reading
from q2_metric.types import Example
from tools.training import hashes
from tools.training.examples import read_jsonl

SOURCES: dict[Reading, tuple[str, ...]] = {
    "consistent": ("rome1776_wow", "shroom2024", "dstc9_human_accuracy"),
    "attributable": ("rome1776_wow", "shroom2024", "dstc9_human_accuracy", "propsegment_wiki_dev"),
}
"""For each reading, those sources of ``KEPT_BACK`` whose texts were written by systems.

The other sources are left out. In most of them, one side was edited so that shared words say
nothing, which is not so in real responses. In expertqa_attribution, the experts judged by more than
the given evidence.
"""

FEATURES = ("claims", "weakest", "words", "numbers", "phrases", "questions")
LONGEST = 6000
"""Maximum characters of a premise. A few web pages are as long as books."""
PENALTY = 0.03
"""scikit-learn's C (inverse of the regularisation). With 1, the head would overfit these sources.
"""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a source: feature values (rows, features), and whether each row is supported."""

    values: NDArray[np.float64]
    supported: NDArray[np.bool_]

    def weights(self) -> NDArray[np.float64]:
        """The weights of the rows. The weights of a source sum to 1, and those of each class to a
        half."""
        n_supported = float(self.supported.sum())
        of_class = np.where(self.supported, n_supported, len(self.supported) - n_supported)
        return np.divide(0.5, of_class, dtype=np.float64)


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness2/")
@click.option("--preset", default="bundled", show_default=True)
@click.option("--dtype", default="float32", show_default=True, help="number format of the network")
@click.option("--rows", default=300, show_default=True, help="of a source, at most")
@click.option("--name", required=True, help="of the heads, in signatures")
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(data: Path, preset: str, dtype: str, rows: int, name: str, out: Path) -> None:
    heads: dict[str, Any] = {}
    q2 = Q2.from_preset(preset, dtype=dtype)
    for reading in SOURCES:
        scale = Scale.from_preset(preset, dtype=dtype, support=reading)
        heads |= of_reading(reading, dict(collect(data, rows, reading, scale, q2)))
    found = {"name": name, "heads": heads}
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    hashes.renew(out.parent)
    click.echo(json.dumps(found, indent=1))


def of_reading(reading: Reading, sources: Mapping[str, Rows]) -> dict[str, Any]:
    """The two heads of a reading: one without Q²'s questions (the last feature), and one with them.
    """
    plain = {key: Rows(rows.values[:, :-1], rows.supported) for key, rows in sources.items()}
    rows = {source: len(found.supported) for source, found in sources.items()}
    return {
        key: {**fit(list(some.values())), "sources": rows, "left_out": left_out(some)}
        for key, some in ((reading, plain), (f"{reading}+questions", sources))
    }


def collect(
    data: Path, rows: int, reading: Reading, scale: Scale, q2: Q2
) -> Iterator[tuple[str, Rows]]:
    """The feature values of a sample of each source. The same rows are drawn in every run."""
    for source in SOURCES[reading]:
        found = list(read_jsonl(data / "groundedness2" / f"{source}.jsonl.gz"))
        if len(found) > rows:
            found = random.Random(5).sample(found, rows)
        examples = [Example(row["hypothesis"], row["premise"][:LONGEST]) for row in found]
        scores = zip(found, scale.score(examples), q2.score(examples), strict=True)
        kept = [(evidence(judged, asked), is_supported(row, reading))
                for row, judged, asked in scores if judged.value is not None]
        yield source, Rows(np.array([[values[key] for key in FEATURES] for values, _ in kept]),
                           np.array([label for _, label in kept]))
        click.echo(f"{source}: {len(kept)}")


def is_supported(row: Mapping[str, Any], reading: Reading) -> bool:
    """Whether people label a row as supported. Under the reading "attributable", a response that
    nobody can verify (a label of rome1776_wow) counts as unsupported."""
    supported: bool = row["label"] == "supported"
    return supported and not (reading == "attributable" and row.get("verifiable") == "n")


def fit(sources: Sequence[Rows]) -> dict[str, Any]:
    """Fits a head: its intercept, and the mean, deviation and weight of each feature."""
    from sklearn.linear_model import LogisticRegression

    values = np.concatenate([source.values for source in sources])
    supported = np.concatenate([source.supported for source in sources])
    weights = np.concatenate([source.weights() for source in sources])
    mean = np.average(values, axis=0, weights=weights)
    deviation = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    model = LogisticRegression(C=PENALTY).fit(
        (values - mean) / deviation, supported, sample_weight=weights / weights.mean())
    features = {
        name: {"mean": round(float(m), 4), "deviation": round(float(d), 4),
               "weight": round(float(w), 4)}
        for name, m, d, w in zip(FEATURES, mean, deviation, model.coef_[0], strict=False)
    }
    return {"intercept": round(float(model.intercept_[0]), 4), "features": features}


def left_out(sources: Mapping[str, Rows]) -> dict[str, float]:
    """For each source, the ROC-AUC of the head fitted on the other sources; and the mean of these.
    """
    from sklearn.metrics import roc_auc_score

    found = {}
    for name, rows in sources.items():
        if len(set(rows.supported.tolist())) == 2:
            head = fit([other for key, other in sources.items() if key != name])["features"]
            logits = sum(head[key]["weight"] * (rows.values[:, i] - head[key]["mean"])
                         / head[key]["deviation"] for i, key in enumerate(head))
            found[name] = round(float(roc_auc_score(rows.supported, logits)), 3)
    return {**found, "mean": round(sum(found.values()) / len(found), 3)}


if __name__ == "__main__":
    main()
