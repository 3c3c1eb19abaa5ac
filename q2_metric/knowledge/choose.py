"""Loads rankers and detectors for knowledge selection by their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from q2_metric.errors import InputError
from q2_metric.knowledge.egr import EntityGuided
from q2_metric.knowledge.ensemble import Ensemble, Vote
from q2_metric.knowledge.mentions import Matching
from q2_metric.knowledge.types import Detector, Pool, Ranker

BUNDLED, WORDS, BM25 = NAMES = "bundled", "bundled-words", "bm25"


def load_ranker(
    name: str = BUNDLED, *, first: str = BUNDLED, narrow: int | None = None,
    device: str = "auto", batch_size: int | None = None,
) -> Ranker:
    """Loads a ranker by its name.

    Args:
        name: "bundled", "bundled-words", "bm25", or the folder of a trained RSS model.
        first: for an RSS model, the name of the ranker that is its first stage.
        narrow: number of snippets that the first stage keeps; ``None`` means the default.
        device: device of the RSS model: "auto", "cpu", "cuda", ….
        batch_size: number of inputs that the RSS model reads at once.

    Raises:
        InputError: there is no such ranker or folder.
        MissingExtra, ModelError: the ranker cannot be loaded.
    """
    if name in (BUNDLED, WORDS):
        from q2_metric.knowledge.bundled import BundledRanker

        return BundledRanker("vectors" if name == BUNDLED else "words")
    if name == BM25:
        from q2_metric.knowledge.bm25 import Bm25

        return Bm25()
    if not Path(name).expanduser().is_dir():
        raise InputError(
            f"there is no ranker {name!r}: give {BUNDLED}, {WORDS}, {BM25} or a folder "
            "of q2 select train"
        )
    from q2_metric.knowledge.rss import NARROW, RssRanker

    return RssRanker(
        name, load_ranker(first), NARROW if narrow is None else narrow, device=device,
        batch_size=batch_size or 32,
    )


def combined(
    rankers: Sequence[Ranker], egr: Matching | None = "exact", vote: Vote = "hard"
) -> Ranker:
    """Combines several rankers into one.

    Args:
        rankers: the rankers. Several rankers vote.
        egr: how Entity Guided Reranking, which follows each ranker, finds names in the dialogue;
            ``None`` for no reranking.
        vote: how the rankers vote: "hard" (by ranks) or "soft" (by probabilities).
    """
    guided: list[Ranker] = [EntityGuided(r, egr) for r in rankers] if egr else list(rankers)
    return guided[0] if len(guided) == 1 else Ensemble(guided, vote)


def load_detector(
    name: str, pool: Pool, *, device: str = "auto", batch_size: int | None = None
) -> Detector:
    """Loads a detector, which finds the dialogues whose last turn needs knowledge.

    Args:
        name: "bundled", or the folder of a trained detector.
        pool: the knowledge pool. The bundled detector compares turns with the questions of its
            snippets.
        device: device of a trained detector: "auto", "cpu", "cuda", ….
        batch_size: number of inputs that a trained detector reads at once.

    Raises:
        InputError: there is no such detector or folder.
        MissingExtra, ModelError: the detector cannot be loaded.
    """
    from q2_metric.knowledge.detection import BundledDetector, EncoderDetector

    if name == BUNDLED:
        return BundledDetector(pool)
    if not Path(name).expanduser().is_dir():
        raise InputError(
            f"there is no detector {name!r}: give {BUNDLED} or a folder of q2 select train-detector"
        )
    return EncoderDetector(name, device=device, batch_size=batch_size or 32)
