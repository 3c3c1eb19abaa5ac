"""Keeps the responses and scores of each evaluation, for ``q2 report`` and ``q2 compare``."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from q2_metric._version import __version__
from q2_metric.engine.manifest import beside, write_manifest
from q2_metric.errors import InputError
from q2_metric.files import fingerprint, replacing
from q2_metric.rows.fields import Layout, OutputRow
from q2_metric.rows.writers import write_rows
from q2_metric.scoring import ScoredRows

_LOG = logging.getLogger(__name__)


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
