"""Loads rankers and detectors for knowledge selection by their names, says what a trained folder is
for, and chooses the knowledge of each row from a pool (``q2 score --knowledge-pool``).

Raises InputError for an unknown name, MissingExtra or ModelError if something cannot be loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from q2_metric.errors import InputError
from q2_metric.files import read_json
from q2_metric.knowledge.dstc import passages, read_pool
from q2_metric.knowledge.mentions import Matching
from q2_metric.knowledge.reranking import Ensemble, EntityGuided, Vote
from q2_metric.knowledge.types import Detector, Dialogue, Pool, Ranked, Ranker
from q2_metric.metrics.signature import parse
from q2_metric.metrics.signature import signature as write_signature
from q2_metric.models.hub.names import CONFIG
from q2_metric.rows.read import BadRow, Row
from q2_metric.text.given import is_blank
from q2_metric.types import Example

BUNDLED, BM25 = NAMES = "bundled", "bm25"

NARROW = 20
"""Snippets that a first stage should keep on a CPU. A six-layer encoder of hidden size 384 scores
them in 2.5 s on one core. The recall of first stages is in docs/results/knowledge.md."""

ROW = "row"
"""The value of ``--knowledge-pool`` with which each line of a row's knowledge is a snippet."""
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
    """Loads a detector: "bundled", or the folder of a trained one."""
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


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """``pool`` is a path or "row". ``rankers`` are names or folders; several vote."""

    pool: str
    rankers: tuple[str, ...] = (BUNDLED,)

    @property
    def words(self) -> str:
        return f"chosen from {self.pool} by {', '.join(self.rankers)}"

    @property
    def request(self) -> dict[str, Any]:
        """What the chosen knowledge depends on."""
        rankers = {f"ranker {i}": name for i, name in enumerate(self.rankers, start=1)}
        return {"pool": self.pool, **rankers}

    @property
    def paths(self) -> list[str]:
        """The paths of the knowledge pool and of trained rankers."""
        pools = [] if self.pool == ROW else [self.pool]
        return pools + [name for name in self.rankers if name not in NAMES]

    def load(self) -> PoolSelector:
        return PoolSelector(self)


@dataclass(frozen=True, slots=True)
class SelectedExample(Example):
    """``selected`` describes the snippet that was chosen as knowledge: its ids, text and score."""

    selected: dict[str, Any] | None = field(default=None, compare=False)


class PoolSelector:
    """Chooses the knowledge of each row from a pool of snippets, by the row's history. Entity
    Guided Reranking follows each ranker. InputError: the pool cannot be read."""

    def __init__(self, choice: PoolChoice) -> None:
        self._pool = None if choice.pool == ROW else read_pool(choice.pool)
        self._ranker = combined([load_ranker(name, narrow=NARROW) for name in choice.rankers])
        self.name = self._ranker.name

    def sign(self, signature: str) -> str:
        """Adds the names of the rankers to a metric's signature."""
        name, settings = parse(signature)
        return write_signature(name, {**settings, "knowledge": self.name})

    def choose(self, rows: Sequence[Row], file: str, first: int) -> list[Row]:
        """Returns the rows, in order, with their chosen knowledge. A row without history becomes a
        :class:`~q2_metric.rows.read.BadRow`. A row that has its own pool and blank knowledge is
        unchanged. ``first`` is the index of the first row in the file."""
        with_knowledge = list(rows)
        askers: dict[int, Example] = {}
        for place, row in enumerate(rows):
            if isinstance(row, BadRow) or (self._pool is None and is_blank(row.knowledge)):
                continue
            if row.history:
                askers[place] = row
            else:
                with_knowledge[place] = BadRow(
                    first + place, row.id, f"{file}, row {first + place + 1}: has no history, "
                    "which is needed to choose its knowledge")
        chosen = self._choose([*askers.values()])
        for (place, row), ranked in zip(askers.items(), chosen, strict=True):
            with_knowledge[place] = _selected(row, ranked)
        return with_knowledge

    def _choose(self, examples: Sequence[Example]) -> list[Ranked]:
        dialogues = [Dialogue.of(*example.history, id=example.id) for example in examples]
        if self._pool is not None:
            return [ranking[0] for ranking in self._ranker.rank(dialogues, self._pool, 1)]
        pools = [passages([line for line in example.knowledge.splitlines() if line.strip()])
                 for example in examples]
        return [self._ranker.rank([dialogue], pool, 1)[0][0]
                for dialogue, pool in zip(dialogues, pools, strict=True)]


def _selected(example: Example, ranked: Ranked) -> SelectedExample:
    snippet = ranked.snippet
    said = {name: getattr(snippet, name)
            for name in ("domain", "entity_id", "entity_name", "doc_id", "text")}
    return SelectedExample(
        example.response, snippet.text, example.history, example.id, example.label,
        question=example.question, other=example.other,
        selected={**said, "score": ranked.score})
