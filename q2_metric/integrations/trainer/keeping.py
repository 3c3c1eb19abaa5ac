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
from q2_metric.rows.fields import Layout, output_row
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


def keep(
    folder: Path, step: int, run: ScoredRows, others: Sequence[Mapping[str, str]]
) -> None:
    """Writes ``step-STEP.jsonl`` as ``q2 score --out`` would, with its manifest. ``others`` are
    further columns of each row. A file of the same step is replaced. Raises InputError or
    WriteError if it cannot be written."""
    names = [metric.name for metric in run.metrics]
    layout, path = Layout(names, texts=True), folder / f"step-{step}.jsonl"
    rows = (
        output_row(i, replace(row, other=other), scores, layout)
        for i, (row, scores, other) in enumerate(zip(run.rows, run.scores, others, strict=True))
    )
    with replacing(path) as unfinished:
        write_rows(".jsonl", unfinished, layout, rows)
    write_manifest(beside(path), {
        "version": __version__, "complete": True, "date": datetime.now(UTC).isoformat(),
        "signatures": {metric.name: metric.signature for metric in run.metrics},
        "settings": {"metrics": names, "no_claim": run.no_claim},
        "output": fingerprint(path),
    })
