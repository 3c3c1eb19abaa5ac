"""Loads rankers and detectors for knowledge selection by their names.

Raises InputError for an unknown name, MissingExtra or ModelError if something cannot be loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from q2_metric.errors import InputError
from q2_metric.knowledge.egr import EntityGuided
from q2_metric.knowledge.ensemble import Ensemble, Vote
from q2_metric.knowledge.mentions import Matching
from q2_metric.knowledge.types import Detector, Pool, Ranker

BUNDLED, BM25 = NAMES = "bundled", "bm25"


def load_ranker(
    name: str = BUNDLED, *, narrow: int | None = None, device: str = "auto",
    batch_size: int | None = None,
) -> Ranker:
    """Loads a ranker: "bundled", "bm25", or the folder of a trained model.

    A trained model scores the ``narrow`` snippets that the bundled ranker keeps, or all.
    """
    if name == BUNDLED:
        from q2_metric.knowledge.bundled import BundledRanker

        return BundledRanker()
    if name == BM25:
        from q2_metric.knowledge.bm25 import Bm25

        return Bm25()
    if not Path(name).expanduser().is_dir():
        raise InputError(
            f"there is no ranker {name!r}: give {BUNDLED}, {BM25} or a folder of q2 select train"
        )
    from q2_metric.knowledge.rss import RssRanker

    return RssRanker(name, narrow, device=device, batch_size=batch_size or 32)


def combined(
    rankers: Sequence[Ranker], egr: Matching | None = "exact", vote: Vote = "hard"
) -> Ranker:
    """Reranks after each ranker by EGR (``egr``: how names are found), then lets several vote."""
    guided: list[Ranker] = [EntityGuided(r, egr) for r in rankers] if egr else list(rankers)
    return guided[0] if len(guided) == 1 else Ensemble(guided, vote)


def load_detector(
    name: str, pool: Pool, *, device: str = "auto", batch_size: int | None = None
) -> Detector:
    """Loads a detector: "bundled", or the folder of a trained one."""
    from q2_metric.knowledge.detection import BundledDetector, EncoderDetector

    if name == BUNDLED:
        return BundledDetector(pool)
    if not Path(name).expanduser().is_dir():
        raise InputError(
            f"there is no detector {name!r}: give {BUNDLED} or a folder of q2 select train-detector"
        )
    return EncoderDetector(name, device=device, batch_size=batch_size or 32)
