"""What ``q2 score`` does with a job: to a file, or only to the systems' scores."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric.engine.cache import Progress, digest, made_by
from q2_metric.engine.job import ROW, Job, Loaded, Row, rereadable
from q2_metric.engine.manifest import Manifest, finished, manifest
from q2_metric.engine.parts import Parts, finish, open_parts
from q2_metric.engine.results import FileResult, as_json, from_json, total
from q2_metric.engine.run import all_signatures, assemble, run_file
from q2_metric.errors import BadRowError, InputError
from q2_metric.files import STDIN, fingerprint
from q2_metric.metrics.registry import entry
from q2_metric.rows.fields import OutputRow, with_texts
from q2_metric.rows.read import BadRow, read_rows

if TYPE_CHECKING:
    from q2_metric.engine.ray import Cluster
    from q2_metric.report.spool import Spool

ERRORS_SHOWN = 5
"""Bad rows that are explained; the others are counted."""

Say = Callable[[str], None]
Bar = Callable[[Sequence[str]], AbstractContextManager[Progress]]
"""Opens a progress bar over the rows of files."""


def check_inputs(job: Job, *, strict: bool) -> None:
    """Finds missing files and columns, with ``strict`` bad rows, before any model is loaded.

    Raises:
        InputError: a file cannot be read or lacks a column.
        BadRowError: ``strict``, and a row cannot be scored.
    """
    if job.files.count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    for file in job.files:
        if file == STDIN or (Path(file).exists() and not rereadable(file)):
            continue
        for row in read_rows(file, job.columns):
            if not strict:
                break
            if isinstance(row, BadRow):
                raise BadRowError(row.error)


class Scoring:
    """A job on its way.

    Args:
        job: what is scored.
        cluster: of Ray, to score on; ``None`` for this process.
        strict: stop at the first row that cannot be scored.
        warn: told in a line what should be known.
        note: told in a line what may be of interest.
        progress: opens a progress bar.

    Raises:
        InputError: a cluster, and a file that can be read only once.
        Q2Error: what loading the metrics raises.
    """

    def __init__(
        self,
        job: Job,
        cluster: Cluster | None,
        *,
        strict: bool,
        warn: Say,
        note: Say,
        progress: Bar,
    ) -> None:
        self.job, self.cluster, self.strict = job, cluster, strict
        self.warn, self.note, self.progress = warn, note, progress
        self._bad = 0
        self._loaded: Loaded | None = None
        once = [file for file in job.files if not rereadable(file)]
        if cluster is not None and once:
            raise InputError(f"{once[0]}: can be read only once; --engine ray needs files")
        if cluster is None:
            self._loaded = job.load(warn)
            signed = self._loaded.signatures
        else:
            from q2_metric.engine import ray as on_ray

            signed = on_ray.signatures(job, cluster)
        self.signatures = all_signatures(signed)

    def run(
        self,
        out: str | None,
        report: str | None,
        settings: Mapping[str, Any],
        *,
        restart: bool = False,
    ) -> list[FileResult]:
        """Scores all files; a run into ``out`` that was broken off goes on.

        Args:
            out: file for the output rows.
            report: file for the page.
            settings: options that change what is written, by name.
            restart: begin anew.

        Raises:
            InputError: a file cannot be read or written, or what was broken off had another
                input or setting.
            BadRowError: ``strict``, and a row cannot be scored.
            ModelError: a model is broken.
        """
        if out is None:
            return self._score(report, None)
        now = self._manifest(settings)
        # A page needs the rows again, which only scoring gives (from the cache).
        found = None if restart or report else finished(out, now)
        if found is not None:
            results = [from_json(one) for one in found["systems"]]
            rows, _ = total(results)
            self.note(f"{out} is complete already ({rows} rows); --restart scores them anew")
            return results
        if any(one["sha256"] is None for one in now["files"]):
            self.note("standard input cannot be read again: a run that is broken off is lost")
        with open_parts(out, now, restart=restart) as parts:
            done = len(parts.done())
            if done:
                self.note(f"going on: {parts.folder} has {done} blocks of {self.job.block} rows")
            results = self._score(report, parts)
            assemble(self.job, parts, results, out)
            finish(out, parts, now, [as_json(result) for result in results])
        return results

    def _manifest(self, settings: Mapping[str, Any]) -> Manifest:
        job = self.job
        named = {name.rstrip("_").replace("_", "-"): value for name, value in settings.items()}
        if job.knowledge_pool not in (None, ROW):
            named["contents of the knowledge-pool"] = fingerprint(job.knowledge_pool)
        calibrations = [asdict(one) for one in job.calibrations]
        return manifest(
            [
                {"file": file, "sha256": fingerprint(file) if rereadable(file) else None}
                for file in job.files
            ],
            self.signatures,
            # As it reads when it comes back from JSON.
            json.loads(json.dumps({**named, "block": job.block, "calibration": calibrations})),
            digest(made_by(any(entry(name).neural for name in job.metrics))),
        )

    def _score(self, report: str | None, parts: Parts | None) -> list[FileResult]:
        results: list[FileResult] = []
        page: AbstractContextManager[Spool | None] = nullcontext()
        if report is not None:
            from q2_metric.report.page import open_page

            page = open_page(report, results)
        with ExitStack() as stack:
            spool = stack.enter_context(page)
            if self.cluster is not None and parts is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="q2-"))
                parts = Parts(Path(folder))
            resumed = frozenset(parts.done()) if parts is not None else frozenset()
            seconds = self._fill(self.cluster, parts) if self.cluster and parts else None
            for number in range(len(self.job.files)):
                results.append(self._score_file(number, parts, resumed, spool))
            if seconds is not None:
                new = sum(one.rows - one.resumed for one in results)
                results[:] = [
                    replace(one, seconds=seconds * (one.rows - one.resumed) / max(new, 1))
                    for one in results
                ]
        return results

    def _fill(self, cluster: Cluster, parts: Parts) -> float:
        """Scores what is missing on the cluster; the seconds it took."""
        from q2_metric.engine.ray import fill

        started = time.perf_counter()
        with self.progress(self.job.files) as progress:
            fill(self.job, parts, cluster, progress)
        return time.perf_counter() - started

    def _score_file(
        self,
        number: int,
        parts: Parts | None,
        resumed: frozenset[tuple[int, int]],
        spool: Spool | None,
    ) -> FileResult:
        on_cluster = self._loaded is None
        with self.progress([self.job.files[number]] if not on_cluster else []) as progress:

            def seen(block: Sequence[Row], found: Sequence[OutputRow]) -> None:
                self._tell(found)
                if spool is not None:
                    spool.write(map(with_texts, found, block))
                progress(len(block))

            return run_file(
                self.job, number, self._loaded, self.signatures, parts, seen, resumed=resumed
            )

    def _tell(self, rows: Sequence[OutputRow]) -> None:
        """Explains the first rows that could not be scored."""
        for row in rows:
            if row["error"] is None:
                continue
            if self.strict:
                raise BadRowError(row["error"])
            self._bad += 1
            if self._bad <= ERRORS_SHOWN:
                self.warn(row["error"])
            elif self._bad == ERRORS_SHOWN + 1:
                self.warn("… further rows are only counted; --out has all errors")
