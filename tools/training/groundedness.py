"""``python -m tools.training.groundedness --data FOLDER``: fits the heads of ``groundedness``.

A head is a logistic regression. It turns the support of the claims and the share of their numbers
that the knowledge has into one probability. It is fitted on sources on which no network was
trained, because networks judge new rows worse than the rows that they have seen. The size of a
source and its share of supported rows do not matter: each source has the same weight (the only one
with whole answers twice as much), and so has each class (supported or not) within a source.

The labels of these sources differ from what "attributable" means. So the probabilities of
"attributable" are calibrated on a development set with such labels (``CALIBRATED_ON``). The
development sets are not used otherwise.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from q2_metric.data.readers import dev_files, read_dev
from q2_metric.evaluation import calibrate
from q2_metric.metrics.claims import unclaimed
from q2_metric.metrics.groundedness import evidence
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import Reading
from q2_metric.types import Example
from tools.training import hashes
from tools.training.examples import read_jsonl
from tools.training.reading import WRITTEN, responses

SOURCES: dict[Reading, tuple[str, ...]] = {
    "consistent": ("rome1776_wow", "shroom2024", "dstc9_human_accuracy", "written_fit"),
    "attributable": ("rome1776_wow", "shroom2024", "dstc9_human_accuracy", "propsegment_wiki_dev",
                     "written_fit"),
}
"""For each reading (what "supported" means, see ``ScaleSettings.support``), the sources on which
its head is fitted.

They are those sources of ``KEPT_BACK`` (rates.py) whose texts were written by systems, and
``written/fit.jsonl``: answers and summaries in words of their own. In most of the other sources,
texts were edited so that shared words say nothing about support, which is not so in real responses.
In expertqa_attribution, the experts judged by more than the given evidence.
"""

TWICE = "written_fit"
"""The source that has twice the weight of each other one. The others are dialogue and definitions,
so it alone teaches a head about answers of several claims."""

CALIBRATED_ON: dict[Reading, str] = {"attributable": "ais_wow"}
"""The development set on whose responses the probabilities of a reading are calibrated."""

FEATURES = ("weakest_third", "weakest", "numbers")
"""Shares of words that occur in the knowledge are not among them: in answers that people write in
words of their own, they say nothing about support (docs/results/training.md)."""
LONGEST = 6000
"""Premises are cut to this many characters, because a few web pages are as long as books."""
PENALTY = 0.03
"""scikit-learn's C, the inverse strength of the regularisation. With the default 1, the head would
overfit these sources."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a source: ``values`` of the features (rows, features), and for each row whether
    people judged it ``supported``. ``weight`` is the weight of the whole source."""

    values: NDArray[np.float64]
    supported: NDArray[np.bool_]
    weight: float = 1.0

    def weights(self) -> NDArray[np.float64]:
        """The weight of each row. The supported rows have half of the source's weight, and the
        others have the other half."""
        n_supported = float(self.supported.sum())
        of_class = np.where(self.supported, n_supported, len(self.supported) - n_supported)
        return np.divide(self.weight / 2, of_class, dtype=np.float64)


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness2/")
@click.option("--preset", default="bundled", show_default=True)
@click.option("--dtype", default="auto", show_default=True, help="number format of the network")
@click.option("--rows", default=300, show_default=True, help="maximum number of rows of a source")
@click.option("--reading", "readings", multiple=True, type=click.Choice(tuple(SOURCES)),
              default=tuple(SOURCES),
              help="fit the head of this reading alone, and keep the other head of OUT")
@click.option("--name", required=True, help="name of the heads in signatures")
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(data: Path, preset: str, dtype: str, rows: int, readings: Sequence[Reading], name: str,
         out: Path) -> None:
    heads: dict[str, Any] = json.loads(out.read_text())["heads"] if out.exists() else {}
    for reading in readings:
        scale = Scale.from_preset(preset, dtype=dtype, support=reading)
        sources = dict(collect(data, rows, reading, scale))
        head = {"name": name, **fit(list(sources.values())),
                "sources": {source: len(found.supported) for source, found in sources.items()},
                "left_out": left_out(sources)}
        if reading in CALIBRATED_ON:
            labelled = read_dev(dev_files()[CALIBRATED_ON[reading]])
            head = calibrated(head, of_examples(
                [item.example for item in labelled], [item.consistent for item in labelled], scale))
        heads[reading] = head
    found = json.dumps({"heads": heads}, indent=1)
    out.write_text(found + "\n", encoding="utf-8")
    hashes.renew(out.parent)
    click.echo(found)


def collect(
    data: Path, rows: int, reading: Reading, scale: Scale
) -> Iterator[tuple[str, Rows]]:
    """Yields (name, rows) of each source on which the head of ``reading`` is fitted.

    At most ``rows`` random rows of a source are used, the same in every run.
    """
    for source in SOURCES[reading]:
        found = list(labelled(data, source, reading))
        if len(found) > rows:
            found = random.Random(5).sample(found, rows)
        examples, supported = zip(*found, strict=True)
        rows_of_source = of_examples(examples, supported, scale)
        yield source, replace(rows_of_source, weight=2.0 if source == TWICE else 1.0)
        click.echo(f"{source}: {len(rows_of_source.supported)}")


def labelled(data: Path, source: str, reading: Reading) -> Iterator[tuple[Example, bool]]:
    """The responses of a source, each with whether it counts as supported."""
    if source == "written_fit":
        for example, _, said in responses(WRITTEN / "fit.jsonl"):
            if said["label"] is not None:  # A refusal has no label.
                yield example, said["label"] == 1
    else:
        for row in read_jsonl(data / "groundedness2" / f"{source}.jsonl.gz"):
            yield Example(row["hypothesis"], row["premise"][:LONGEST]), is_supported(row, reading)


def of_examples(examples: Sequence[Example], supported: Sequence[bool], scale: Scale) -> Rows:
    """The feature values and labels of examples. Examples without a claim are left out."""
    kept = [(evidence(judged), label)
            for judged, label in zip(scale.score(examples), supported, strict=True)
            if judged.evidence and not unclaimed(judged.example)]
    return Rows(np.array([[values[key] for key in FEATURES] for values, _ in kept]),
                np.array([label for _, label in kept]))


def is_supported(row: Mapping[str, Any], reading: Reading) -> bool:
    """Whether a row counts as supported, by its human label.

    Under the reading "attributable", a response that cannot be verified (as labelled in
    rome1776_wow) counts as unsupported.
    """
    supported: bool = row["label"] == "supported"
    return supported and not (reading == "attributable" and row.get("verifiable") == "n")


def fit(sources: Sequence[Rows]) -> dict[str, Any]:
    """Fits a head on these sources. Returns its intercept, and the mean, standard deviation and
    weight of each feature."""
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
        for name, m, d, w in zip(FEATURES, mean, deviation, model.coef_[0], strict=True)
    }
    return {"intercept": round(float(model.intercept_[0]), 4), "features": features}


def logits(head: Mapping[str, Any], rows: Rows) -> NDArray[np.float64]:
    """The head's logit for each row; shape (rows,)."""
    features: Iterable[dict[str, float]] = head["features"].values()
    mean, deviation, weight = (np.array([item[key] for item in features])
                               for key in ("mean", "deviation", "weight"))
    found: NDArray[np.float64] = head["intercept"] + (rows.values - mean) / deviation @ weight
    return found


def calibrated(head: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    """The head with its logit replaced by a · logit + b. Platt scaling fits a and b on labelled
    rows. As a is positive, the order of responses does not change."""
    fitted = calibrate.fit(rows.supported, logits(head, rows), name="attributable",
                           metric="groundedness", signature="", kind="platt")
    assert fitted.slope is not None
    assert fitted.intercept is not None
    return {
        **head,
        "intercept": round(fitted.slope * head["intercept"] + fitted.intercept, 4),
        "features": {name: {**item, "weight": round(fitted.slope * item["weight"], 4)}
                     for name, item in head["features"].items()},
        "calibrated_on": len(rows.supported),
    }


def left_out(sources: Mapping[str, Rows]) -> dict[str, float]:
    """For each source, the ROC-AUC on it of a head that is fitted on all other sources; and the
    mean of these values as "mean"."""
    from sklearn.metrics import roc_auc_score

    found = {}
    for name, rows in sources.items():
        if len(set(rows.supported.tolist())) == 2:
            head = fit([other for key, other in sources.items() if key != name])
            found[name] = round(float(roc_auc_score(rows.supported, logits(head, rows))), 3)
    return {**found, "mean": round(sum(found.values()) / len(found), 3)}


if __name__ == "__main__":
    main()
