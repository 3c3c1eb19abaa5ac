"""Loads rankers and detectors for knowledge selection by their names, and says what a trained
folder is for.

Raises InputError for an unknown name, MissingExtra or ModelError if something cannot be loaded.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from q2_metric.errors import InputError
from q2_metric.files import read_json
from q2_metric.knowledge.mentions import Matching
from q2_metric.knowledge.reranking import Ensemble, EntityGuided, Vote
from q2_metric.knowledge.types import Detector, Pool, Ranker
from q2_metric.models.hub.names import CONFIG

BUNDLED, BM25 = NAMES = "bundled", "bm25"

NARROW = 20
"""Snippets that a first stage should keep on a CPU. A six-layer encoder of hidden size 384 scores
them in 2.5 s on one core. The recall of first stages is in docs/results/knowledge.md."""

PAPER_NAMES = {"bert": "BERT", "roberta": "RoBERTa", "gpt2": "GPT-2", "bart": "BART"}
"""The paper's names of the kinds of models, by transformers' ``model_type``."""
TaskName = Literal["ranker", "detector", "responder"]
TASKS: Mapping[str, TaskName] = {
    "relevance": "ranker", "choice": "ranker", "detection": "detector"}
"""What a model is for, by the name of its first head."""


def load_ranker(
    name: str = BUNDLED, *, narrow: int | None = None, device: str = "auto",
    batch_size: int | None = None,
) -> Ranker:
    """Loads a ranker: "bundled", "bm25", or the folder of a trained model. A trained model scores
    the ``narrow`` snippets that the bundled ranker keeps, or all."""
    if name == BUNDLED:
        from q2_metric.knowledge.bundled import BundledRanker

        return BundledRanker()
    if name == BM25:
        from q2_metric.knowledge.bm25 import Bm25

        return Bm25()
    _check_folder(name, "ranker", f"{BUNDLED}, {BM25} or a folder of q2 select train")
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
    from q2_metric.knowledge.detection import BundledDetector, EncoderDetector

    if name == BUNDLED:
        return BundledDetector(pool)
    _check_folder(name, "detector", f"{BUNDLED} or a folder of q2 select train-detector")
    return EncoderDetector(name, device=device, batch_size=batch_size or 32)


def _check_folder(name: str, what: str, known: str) -> None:
    if not Path(name).expanduser().is_dir():
        raise InputError(f"there is no {what} {name!r}: give {known}")


class Trained(NamedTuple):
    """``model`` is named as in the paper's tables. ``domain``: a ranker reads domain names."""

    task: TaskName
    model: str
    domain: bool = True


def members(folder: str) -> list[str]:
    """The folders of the rankers of an ensemble; of another trained folder, itself."""
    found = sorted(Path(folder).expanduser().glob(f"*/{CONFIG}"))
    return [str(path.parent) for path in found] or [folder]


def trained(folder: str) -> Trained:
    """What a folder of ``q2 select train``, ``train-detector`` or ``q2 respond train`` holds.
    InputError: the folder holds none of these."""
    try:
        config = read_json(Path(folder).expanduser() / CONFIG)
        kind = PAPER_NAMES.get(found := str(config["model_type"]), found)
        head = config.get("id2label", {}).get("0")
        return Trained(TASKS.get(head, "responder"), "RSS" if head == "relevance" else kind,
                       config.get("reads_domain", True))
    except (InputError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{folder}: holds no trained ranker, detector or responder") from error
