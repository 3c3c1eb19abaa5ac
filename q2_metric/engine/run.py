"""The loop over blocks, and the output at the end; memory does not grow with the rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from q2_metric.engine.job import Job, Loaded, Row
from q2_metric.engine.parts import Parts, encoded
from q2_metric.engine.results import FileResult
from q2_metric.files import replacing
from q2_metric.metrics.system import Q2, Q2_NO_NLI, Tally, without_nli
from q2_metric.rows.columns import Columns
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.writers import open_writer

Seen = Callable[[Sequence[Row], Sequence[OutputRow]], None]
"""Given each block, in order, as it was read and as its output rows."""


def all_signatures(metrics: Mapping[str, str]) -> dict[str, str]:
    """Signatures by metric, with that of "Q² without NLI" next to Q²'s."""
    found: dict[str, str] = {}
    for name, signed in metrics.items():
        found[name] = signed
        if name == Q2:
            found[Q2_NO_NLI] = without_nli(signed)
    return found


def run_file(
    job: Job,
    number: int,
    loaded: Loaded | None,
    signatures: Mapping[str, str],
    parts: Parts | None,
    seen: Seen,
    *,
    resumed: frozenset[tuple[int, int]] = frozenset(),
) -> FileResult:
    """Scores a file block by block, and takes those that are finished from ``parts``.

    Args:
        job: what is scored.
        number: of the file in the job.
        loaded: ready to score; ``None`` where all blocks must be in ``parts`` already.
        signatures: of :func:`all_signatures`.
        parts: where finished blocks are found and kept; ``None`` keeps nothing.
        seen: given each block.
        resumed: (file, block) of parts that this run did not make.

    Raises:
        InputError: the file cannot be read on, or a part cannot be written or is damaged.
        ModelError: a model is broken.
    """
    file = job.files[number]
    tallies = {name: Tally(name) for name in signatures}
    rows, failed, seconds, from_before, failed_before = 0, 0, 0.0, 0, 0
    used: dict[str, str | None] = {}

    def on_columns(found: Columns) -> None:
        used.update(asdict(found))

    for n, block in enumerate(job.blocks(file, on_columns)):
        found = parts.read(number, n, len(block)) if parts is not None else None
        before = found is not None and (number, n) in resumed
        if found is None:
            if loaded is None:
                assert parts is not None
                raise parts.damaged(number, n)
            started = time.perf_counter()
            found = job.score(loaded, file, rows, block)
            seconds += time.perf_counter() - started
            if parts is not None:
                parts.write(number, n, encoded(found))
        for row in found:
            tally_row(tallies, row)
        bad = sum(row["error"] is not None for row in found)
        seen(block, found)
        rows, failed = rows + len(block), failed + bad
        if before:
            from_before, failed_before = from_before + len(block), failed_before + bad
    if job.knowledge_pool is not None:
        used["knowledge"] = f"chosen from {job.knowledge_pool} by {', '.join(job.rankers)}"
    systems = tuple(tally.result(signatures[name]) for name, tally in tallies.items())
    return FileResult(file, rows, failed, seconds, systems, used, from_before, failed_before)


def tally_row(tallies: Mapping[str, Tally], row: OutputRow) -> None:
    """Counts an output row, as far as it was scored."""
    for name, tally in tallies.items():
        if name not in (Q2, Q2_NO_NLI):
            tally.count(row[name])
        elif row["fallback"] is not None:
            tally.count(row[name], row["fallback"], [one["how"] for one in row["questions"]])


def assemble(job: Job, parts: Parts, results: Sequence[FileResult], out: str | Path) -> None:
    """Writes the output from the parts, in the order of the rows.

    Raises:
        InputError: it cannot be written; the parts stay.
    """
    out = Path(out)
    blocks = list(_blocks(job, results))
    if out.suffix.lower() == ".jsonl":
        with replacing(out) as unfinished, open(unfinished, "wb") as file:
            parts.copy(((number, n) for number, n, _ in blocks), file)
        return
    with open_writer(out, job.layout, inputs=job.files) as writer:
        for number, n, size in blocks:
            rows = parts.read(number, n, size)
            if rows is None:
                raise parts.damaged(number, n)
            writer.write(rows)


def _blocks(job: Job, results: Sequence[FileResult]) -> Iterator[tuple[int, int, int]]:
    """(file, block, rows) of all blocks."""
    for number, result in enumerate(results):
        for n, start in enumerate(range(0, result.rows, job.block)):
            yield number, n, min(job.block, result.rows - start)
