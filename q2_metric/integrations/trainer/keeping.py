"""Keeps the responses and scores of each evaluation, for ``q2 report`` and ``q2 compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from q2_metric._version import __version__
from q2_metric.engine.manifest import beside, write_manifest
from q2_metric.errors import InputError
from q2_metric.files import fingerprint, replacing
from q2_metric.rows.fields import Layout, OutputRow, output_row
from q2_metric.rows.writers import write_rows
from q2_metric.scoring import ScoredRows


def folder_of(out: str | Path) -> Path:
    """The folder, which is made if it is missing. InputError: it cannot be made."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}; name a folder in out") from error
    return folder


def output(run: ScoredRows, others: Sequence[Mapping[str, str]]) -> list[OutputRow]:
    """The rows as ``q2 score --out`` would write them. ``others`` are further columns of each."""
    layout = _layout(run)
    return [
        output_row(i, replace(row, other=other), scores, layout)
        for i, (row, scores, other) in enumerate(zip(run.rows, run.scores, others, strict=True))
    ]


def keep(folder: Path, step: int, run: ScoredRows, rows: Sequence[OutputRow]) -> None:
    """Writes ``step-STEP.jsonl``, the rows of :func:`output`, with its manifest. A file of the same
    step is replaced. Raises InputError or WriteError if it cannot be written."""
    layout, path = _layout(run), folder / f"step-{step}.jsonl"
    with replacing(path) as unfinished:
        write_rows(".jsonl", unfinished, layout, rows)
    write_manifest(beside(path), {
        "version": __version__, "complete": True, "date": datetime.now(UTC).isoformat(),
        "signatures": {metric.name: metric.signature for metric in run.metrics},
        "settings": {"metrics": layout.metrics, "no_claim": run.no_claim},
        "output": fingerprint(path),
    })


def _layout(run: ScoredRows) -> Layout:
    return Layout([metric.name for metric in run.metrics], texts=True)
