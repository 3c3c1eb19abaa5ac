"""Keeps the responses and scores of each evaluation, for ``q2 report`` and ``q2 compare``, and
shows the worst of them in TensorBoard and Weights & Biases, through the trainer's own loggers."""

import logging
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transformers.integrations import TensorBoardCallback, WandbCallback

from q2_metric._version import __version__
from q2_metric.engine.manifest import beside, write_manifest
from q2_metric.errors import InputError
from q2_metric.files import fingerprint, replacing
from q2_metric.metrics.registry import columns
from q2_metric.rows.fields import Layout, OutputRow
from q2_metric.rows.writers import write_rows
from q2_metric.scoring import ScoredRows
from q2_metric.scoring.verdict import VerdictCounts

_LOG = logging.getLogger(__name__)

SHOWN = 10
"""Most responses in a table."""


def folder_of(out: str | Path) -> Path:
    """The folder, which is made if it is missing. InputError: it cannot be made."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        earlier = sum(1 for _ in folder.glob("*step-*.jsonl"))
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}; name a folder in out") from error
    if earlier:
        _LOG.warning("%s has %d evaluations of an earlier training. Files of the same steps will "
                     "be replaced, and q2 report will show both trainings as one. Unless this "
                     "training continues that one, name another folder in out.", folder, earlier)
    return folder


def keep(path: Path, run: ScoredRows, rows: Sequence[OutputRow], *, replace: bool) -> None:
    """Writes the rows of ``run`` with their texts, and their manifest. Without ``replace``, a file
    that is there already stays. Raises InputError or WriteError if it cannot be written."""
    if not replace and path.exists():
        _LOG.warning("%s has an evaluation of this step already; this one, outside of training, is "
                     "not kept", path)
        return
    names = [metric.name for metric in run.metrics]
    with replacing(path) as unfinished:
        write_rows(".jsonl", unfinished, Layout(names, texts=True), rows)
    write_manifest(beside(path), {
        "version": __version__, "complete": True, "date": datetime.now(UTC).isoformat(),
        "signatures": {metric.name: metric.signature for metric in run.metrics},
        "settings": {"metrics": names, "no_claim": run.no_claim},
        "output": fingerprint(path),
    })


def show(
    callbacks: Iterable[Any], tag: str, rows: Sequence[OutputRow], metrics: Sequence[str], step: int
) -> None:
    """Adds the table to each logger among the callbacks; none if no row has a score. A logger that
    fails ends no training: its error is logged. ``rows`` contain their texts."""
    header, cells = _worst(rows, list(columns(metrics)))
    for logger in callbacks if cells else ():
        try:
            if isinstance(logger, TensorBoardCallback) and logger.tb_writer is not None:
                logger.tb_writer.add_text(tag, _markdown(header, cells), step)
                logger.tb_writer.flush()
            elif isinstance(logger, WandbCallback) and getattr(logger._wandb, "run", None):
                table = logger._wandb.Table(columns=header, data=cells)
                logger._wandb.log({tag: table, "train/global_step": step})
        except Exception as error:
            _LOG.warning("%s did not get the table of the worst responses: %s: %s",
                         type(logger).__name__, type(error).__name__, error)


def _worst(rows: Sequence[OutputRow], names: list[str]) -> tuple[list[str], list[list[Any]]]:
    """The header, and the rows with the lowest values of the first score."""
    scored = sorted((row for row in rows if row[names[0]] is not None),
                    key=lambda row: float(row[names[0]]))
    return ["row", *names, "prompt", "response", "worst claim"], [
        [row["id"], *(row[name] for name in names),
         *map(_sendable, (row["other"].get("prompt", ""), row["response"], _claim(row)))]
        for row in scored[:SHOWN]]


def _claim(row: OutputRow) -> str:
    counts = VerdictCounts()
    counts.add(row)
    return "".join(f"{worst.verdict}: {worst.claim}; the sources say: {worst.source}"
                   for worst in counts.worst)


def _sendable(text: str) -> str:
    """Without halves of surrogate pairs, which no logger can write."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _markdown(header: list[str], cells: list[list[Any]]) -> str:
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(value: Any) -> str:
    """As an entity, no character is markup."""
    if isinstance(value, float):
        return f"{value:.3f}"
    return re.sub(r"[^\w\s-]", lambda sign: f"&#{ord(sign[0])};", " ".join(str(value).split()))
