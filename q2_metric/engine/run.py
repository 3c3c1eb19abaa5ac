"""Runs a job: scores its files and writes the output, as ``q2 score`` does.

The memory that a run needs does not grow with the number of rows."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from q2_metric.engine import manifest as manifests
from q2_metric.engine.cached import Progress
from q2_metric.engine.job import Job
from q2_metric.engine.manifest import Manifest
from q2_metric.engine.result import Groups, SystemRun
from q2_metric.engine.unfinished import Unfinished, open_unfinished
from q2_metric.errors import BadRowError, InputError
from q2_metric.files import fingerprint, replacing, rereadable, state
from q2_metric.metrics.claims import FOREIGN
from q2_metric.metrics.registry import signatures
from q2_metric.rows.fields import LANGUAGE, REASON, OutputRow, with_texts
from q2_metric.rows.read import Row
from q2_metric.rows.writers import check_output, json_line, write_rows
from q2_metric.scoring import Aggregate
from q2_metric.scoring.outcome import of_row
from q2_metric.scoring.scores import not_scored

if TYPE_CHECKING:
    from q2_metric.engine.cluster import Cluster, Remote
    from q2_metric.report.read import Spool

ERRORS_SHOWN = 5
"""Bad rows after these are only counted."""


@dataclass(frozen=True)
class Listener:
    """Receives warnings and notes, each a line of text, and the progress of a run:
    ``progress`` opens a progress bar for a file: a function that takes a number of new rows."""

    warn: Callable[[str], None] = lambda _line: None
    note: Callable[[str], None] = lambda _line: None
    progress: Callable[[str], AbstractContextManager[Progress]] = lambda _file: nullcontext(
        lambda _rows: None)


ScoreBlock = Callable[[str, int, Sequence[Row], Progress], tuple[list[OutputRow], int]]
"""Scores the next block: (file, index of the block's first row, rows, progress) -> output rows, and
the number of scores that an earlier run had put into the cache."""

# --- the run -----------------------------------------------------------------------------


class JobRun:
    """A job whose metrics are loaded, in this process or on a cluster. With ``strict``, the run
    stops at the first row that cannot be scored. InputError: a cluster was asked for, but a file
    can be read only once. Q2Error: loading the metrics failed."""

    def __init__(
        self, job: Job, cluster: Cluster | None = None, *, strict: bool = False,
        listener: Listener | None = None,
    ) -> None:
        self.job, self.strict = job, strict
        self.listener = listener or Listener()
        self._bad = 0
        self._foreign = Counter[str]()
        self._said: set[str] = set()
        self._here: ScoreBlock | None = None
        self._remote: Remote | None = None
        # Recorded before the files are read, so that a later change is noticed.
        self._states = {file: state(file) for file in job.files if rereadable(file)}
        if cluster is None:
            self._identities = job.identities()
            loaded = job.load(self.listener.warn)
            self._here = partial(job.score, loaded)
            signed = loaded.signatures
        else:
            if only_once := [file for file in job.files if file not in self._states]:
                raise InputError(f"{only_once[0]}: can be read only once; --engine ray needs files")
            from q2_metric.engine.cluster import Remote

            self._remote = Remote(job, cluster, self.listener.warn)
            signed, self._identities = self._remote.signatures, self._remote.identities
        self.signatures = signatures(signed)

    def run(
        self, out: str | None = None, page: Spool | None = None, *, overwrite: bool = False
    ) -> list[SystemRun]:
        """Scores all files. Finished blocks that an interrupted run left for ``out`` are reused.

        ``page`` receives the rows of a report page. ``overwrite`` scores all rows again and
        replaces ``out``. InputError: a file cannot be read or written, or changes while it is read;
        ``out`` was not written by the same command; or the interrupted run had other files or
        settings. BadRowError: a row cannot be scored, and ``strict`` is true. ModelError: a model
        failed on every row that was tried, or cannot run."""
        if out is None:
            return self._score(page, None)
        now = manifests.manifest(
            self.job.files, self.signatures, self._identities, self.job.settings)
        if manifests.once(now):
            self.listener.note(
                "standard input cannot be read again: if this run is interrupted, it cannot resume")
        with open_unfinished(out) as unfinished:
            # A page needs the rows, so they are scored again (from the cache).
            if not overwrite and page is None and not unfinished.holds_blocks and (
                    done := self._complete(out, now)):
                return done
            held = unfinished.begin(out, now, overwrite=overwrite)
            if unfinished.done:
                self.listener.note(
                    f"resuming: {unfinished.path} has {unfinished.done} finished blocks")
            results = self._score(page, unfinished)
            _finish(self.job, out, unfinished, results, now, held)
        return results

    def _complete(self, out: str, now: Manifest) -> list[SystemRun] | None:
        """The results of ``out``, if it is complete, unchanged, and written by the same command."""
        manifest = manifests.read_manifest(manifests.beside(out))
        if (
            manifest is None
            or not manifest.get("complete")
            or manifests.once(now)
            or manifests.difference(manifest, now) is not None
            or not rereadable(out)
            or fingerprint(out) != manifest.get("output")
        ):
            return None
        results = [SystemRun.from_json(system) for system in manifest["systems"]]
        rows = sum(result.rows for result in results)
        self.listener.note(
            f"{out} is complete already ({rows} rows); --overwrite scores them again")
        return results

    def _score(self, page: Spool | None, unfinished: Unfinished | None) -> list[SystemRun]:
        done = 0 if unfinished is None else unfinished.done
        earlier = iter(()) if unfinished is None else islice(unfinished.blocks(), done)
        blocks = self._remote.scored(done) if self._remote else iter(())

        def there(
            file: str, _first: int, block: Sequence[Row], progress: Progress
        ) -> tuple[list[OutputRow], int]:
            if (found := next(blocks, None)) is None:
                raise _changed(file)
            progress(len(block))
            return found

        results = [self._score_file(file, earlier, self._here or there, unfinished, page)
                   for file in self.job.files]
        next(blocks, None)  # waits for the end of the cluster
        if self._foreign:
            self.listener.warn(not_scored(self._foreign, "-s any_language=true scores"))
        return results

    def _score_file(
        self, file: str, earlier: Iterator[bytes], score: ScoreBlock, unfinished: Unfinished | None,
        page: Spool | None,
    ) -> SystemRun:
        """Scores a file block by block, but takes blocks from ``earlier`` while it has any."""
        used = dict[str, str | None]()
        aggregate = Aggregate(self.job.metrics, self.job.no_claim)
        groups = Groups(self.job.group_by, self.job.metrics, self.job.no_claim)
        result = SystemRun(file, columns=used, group_by=self.job.group_by)
        with self.listener.progress(file) as progress:
            for block in self.job.blocks(
                file, on_columns=lambda columns: used.update(asdict(columns)),
                on_note=self.listener.warn, on_read=self._say_once,
            ):
                self._check_unchanged(file)
                lines = next(earlier, None)
                if lines is not None:
                    rows = [json.loads(line) for line in lines.splitlines()]
                    progress(len(block))
                else:
                    started = time.perf_counter()
                    rows, looked_up = score(file, result.rows, block, progress)
                    result.seconds += time.perf_counter() - started
                    result.timed += sum(row["error"] is None for row in rows)
                    result.looked_up += looked_up
                    if unfinished is not None:
                        # Lone surrogates in a file name become JSON escapes.
                        unfinished.append("".join(map(json_line, rows)).encode(
                            "utf-8", errors="backslashreplace"))
                whole = list(map(with_texts, rows, block))
                for row in whole:
                    self._count(result, row)
                    outcomes = of_row(row)
                    aggregate.add(outcomes)
                    groups.add(row, outcomes)
                if page is not None:
                    page.write(whole)
        self._check_unchanged(file)
        if self.job.choice is not None:
            used["knowledge"] = self.job.choice.words
        result.scores = tuple(aggregate.systems(self.signatures).values())
        result.groups = groups.systems(self.signatures)
        return result

    def _say_once(self, line: str) -> None:
        """Notes how a file is read ("FILE: read …"), unless an earlier file was read so too."""
        how = line.partition(": ")[2]
        if how not in self._said:
            self._said.add(how)
            self.listener.note(line)

    def _check_unchanged(self, file: str) -> None:
        if file in self._states and state(file) != self._states[file]:
            raise _changed(file)

    def _count(self, result: SystemRun, row: OutputRow) -> None:
        result.rows += 1
        result.no_knowledge += row.get(REASON.name) == "no_knowledge"
        result.verdict.add(row)
        if row.get(REASON.name) in FOREIGN:
            self._foreign[row[LANGUAGE.name]] += 1
        if row["error"] is None:
            return
        if self.strict:
            raise BadRowError(row["error"])
        result.failed += 1
        self._bad += 1
        if self._bad <= ERRORS_SHOWN:
            self.listener.warn(row["error"])
        elif self._bad == ERRORS_SHOWN + 1:
            self.listener.warn("… further errors are only counted; --out has all of them")


def _changed(file: str) -> InputError:
    return InputError(f"{file}: changed while it was read; run the command again")


# --- the end of a run --------------------------------------------------------------------


def _finish(
    job: Job, out: str, kept: Unfinished, results: Sequence[SystemRun], begun: Manifest,
    held: str | None,
) -> None:
    """Writes the output and its manifest, and removes the unfinished output.
    The manifest is moved to its path first: if the process is killed in between, the next run can
    still tell that it may replace the output. ``held`` is the SHA-256 of the output when the run
    began: if the output changed since, the unfinished output is kept, and InputError is raised."""
    files = [{**file, "rows": result.rows, "failed": result.failed, "columns": dict(result.columns)}
             for file, result in zip(begun["files"], results, strict=True)]
    whole = {**begun, "complete": True, "files": files,
             "date": datetime.now(UTC).isoformat(timespec="seconds"),
             "systems": [result.as_json() for result in results]}
    check_output(out, job.files)
    suffix = Path(out).suffix.lower()
    with replacing(Path(out), alone=True) as unfinished:
        if suffix == ".jsonl":
            with open(unfinished, "wb") as file:
                file.writelines(kept.blocks())
        else:
            rows = (json.loads(line) for lines in kept.blocks() for line in lines.splitlines())
            write_rows(suffix, unfinished, job.layout, rows, job.raw_csv)
        if manifests.contents(out) not in (None, held):
            raise InputError(f"{out}: changed during the run, so it is not replaced; move it away "
                             f"and run the same command again ({kept.path} keeps the scores)")
        whole["output"] = fingerprint(unfinished)
        manifests.write_manifest(manifests.beside(out), whole)
    kept.remove()
