"""``python -m tools.training.reliability``: how often people agree with each kind of finding.

A finding is a marked place in a response, such as a number that is not in the knowledge
(:mod:`q2_metric.report.findings`). The command scores a sample of each development set with Q²,
SCALE and the groundedness metric. For each kind of finding, it takes the responses with such a
finding, and computes the share of them that people judged supported. A response with two findings
counts half for each. All sets have the same weight. Within a set, supported and unsupported
responses have the same weight, so that a share of 0.5 means that the finding carries no
information. ``q2 explain`` and the report show the shares as "[n%]". Run the command again after
weights were trained anew. Scores are cached in the file ``Q2_CACHE``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from q2_metric.data.readers import dev_files, read_dev
from q2_metric.engine.cache import Cache, default_path
from q2_metric.engine.cached import CachedMetric
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.scores import NEUTRAL
from q2_metric.metrics import load_metrics
from q2_metric.metrics.bootstrap import N_BOOTSTRAP, SEED
from q2_metric.metrics.registry import columns, entry
from q2_metric.report import findings
from q2_metric.rows.fields import output_row

METRICS = ("q2", "scale", "groundedness", "knowledge_f1", "word_share")
LEAST = 20
"""A kind of finding gets a share only if at least this many responses have such a finding."""


@dataclass(frozen=True, slots=True)
class JudgedResponse:
    """A scored response of a development set.

    ``set`` is the name of the set, and ``supported`` people's judgement. ``kinds`` has the share of
    each kind among the findings in the response. ``values`` has the scores by column name.
    """

    set: str
    supported: bool
    kinds: Mapping[str, float]
    values: Mapping[str, float | None]


@click.command(help=__doc__)
@click.option("--rows", default=120, show_default=True, help="maximum number of rows of each set")
@click.option("--cache", type=click.Path(path_type=Path), envvar="Q2_CACHE",
              help="file in which scores are cached")
@click.option("--out", type=click.Path(path_type=Path), show_default=True,
              default=Path(findings.__file__).with_name(findings.FILE))
def main(rows: int, cache: Path | None, out: Path) -> None:
    found = table(*collect(rows, Cache(cache or default_path())))
    out.write_text(found, encoding="utf-8")
    click.echo(found)


def table(judged: Sequence[JudgedResponse], signatures: Mapping[str, str]) -> str:
    """The content of the shipped JSON file, in which each kind of finding has a line of its own.

    Args:
        signatures: for each metric, the settings that produced its scores.
    """
    sets = Counter(response.set for response in judged)
    fields = {"rows": sets, "signatures": signatures, "findings": shares(judged),
              "ranked": ranked(judged)}
    lines = [f' "{name}": {{\n' + ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()) + "\n }"
        for name, found in fields.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def collect(rows: int, cache: Cache) -> tuple[list[JudgedResponse], dict[str, str]]:
    """Scores at most ``rows`` rows of each development set.

    Returns:
        The scored responses, and the signature (the settings) of each metric.
    """
    metrics = [
        CachedMetric(name, lambda name=name: load_metrics([name])[0],  # type: ignore[misc]
                     cache, entry(name).request("bundled", {}))
        for name in METRICS
    ]
    found = []
    for name, path in dev_files().items():
        labelled = read_dev(path, rows)
        examples = [row.example for row in labelled]
        scores = [metric.score(examples) for metric in metrics]
        for i, response in enumerate(labelled):
            of_row = {metric.name: scores[k][i] for k, metric in enumerate(metrics)}
            row = output_row(i, response.example, of_row, METRICS)
            values = {column: row[column] for column in columns(METRICS)}
            found.append(JudgedResponse(name, response.consistent, kinds_of(row), values))
        click.echo(f"{name}: {len(labelled)}")
    return found, {metric.name: metric.signature for metric in metrics}


def shares(judged: Sequence[JudgedResponse]) -> dict[str, list[float]]:
    """For each kind of finding, four numbers about the responses that have it.

    They are the share that people judged supported, the lower and upper end of its 95 % bootstrap
    interval (responses are resampled within each set), and the number of responses.
    """
    weights, supported = balanced(judged), np.array([response.supported for response in judged])
    rng = np.random.default_rng(SEED)
    places = [np.flatnonzero([response.set == name for response in judged])
              for name in dict.fromkeys(response.set for response in judged)]
    draws = [np.concatenate([rng.choice(some, len(some)) for some in places])
             for _ in range(N_BOOTSTRAP)]
    found = {}
    for kind in sorted({kind for response in judged for kind in response.kinds}):
        has = np.array([response.kinds.get(kind, 0.0) for response in judged])
        if (has > 0).sum() >= LEAST:
            own = weights * has
            drawn = [np.average(supported[draw], weights=own[draw])
                     for draw in draws if own[draw].sum() > 0]
            low, high = np.quantile(drawn, [0.025, 0.975])
            share = np.average(supported, weights=own)
            found[kind] = [*(round(float(x), 3) for x in (share, low, high)), int((has > 0).sum())]
    return found


def balanced(judged: Sequence[JudgedResponse]) -> np.ndarray:
    """A weight for each response, so that all sets count equally.

    Within a set, the supported responses have a total weight of 0.5, and so do the unsupported.
    """
    groups = [(response.set, response.supported) for response in judged]
    return np.array([0.5 / groups.count(group) for group in groups])


def ranked(judged: Sequence[JudgedResponse]) -> dict[str, float]:
    """For each score column, the ROC-AUC against people's judgement, averaged over the sets."""
    found = {}
    for column in judged[0].values:
        aucs = []
        for name in dict.fromkeys(response.set for response in judged):
            some = [(response.supported, response.values[column])
                    for response in judged if response.set == name]
            values = [NEUTRAL if value is None else value for _, value in some]
            aucs.append(st.roc_auc([supported for supported, _ in some], values))
        found[column] = round(sum(aucs) / len(aucs), 3)
    return found


def kinds_of(row: Mapping[str, Any]) -> dict[str, float]:
    """The kinds of a row's findings.

    Each kind has its share of all findings of the same metric.
    """
    asked = Counter(map(findings.of_question, row.get("questions") or ()))
    if row.get("fallback"):
        asked[findings.of_fallback(row)] += 1
    judged = Counter(map(findings.of_sentence, row.get("claims") or ()))
    return {kind: n / some.total() for some in (asked, judged) for kind, n in some.items()}


if __name__ == "__main__":
    main()
