"""Chooses the knowledge of each row from a pool (``q2 score --knowledge-pool``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from q2_metric.knowledge.choose import BUNDLED, NAMES, NARROW, combined, load_ranker
from q2_metric.knowledge.dstc import passages, read_pool
from q2_metric.knowledge.types import Dialogue, Ranked
from q2_metric.metrics.signature import parse
from q2_metric.metrics.signature import signature as write_signature
from q2_metric.rows.read import BadRow, Row
from q2_metric.text.given import is_blank
from q2_metric.types import Example

ROW = "row"
"""The value of ``--knowledge-pool`` with which each line of a row's knowledge is a snippet."""


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
        return PoolSelector(self.pool, self.rankers)


@dataclass(frozen=True, slots=True)
class SelectedExample(Example):
    """``selected`` describes the snippet that was chosen as knowledge: its ids, text and score."""

    selected: dict[str, Any] | None = field(default=None, compare=False)


class PoolSelector:
    """Chooses the knowledge of each row from a pool of snippets, by the row's history. Its
    arguments are those of :class:`PoolChoice`. Entity Guided Reranking follows each ranker.
    InputError, MissingExtra, ModelError: the pool or a ranker cannot be loaded."""

    def __init__(self, pool: str, rankers: Sequence[str] = (BUNDLED,)) -> None:
        self.own = pool == ROW
        self._pool = None if self.own else read_pool(pool)
        self._ranker = combined([load_ranker(name, narrow=NARROW) for name in rankers])
        self.name = self._ranker.name

    def sign(self, signature: str) -> str:
        name, settings = parse(signature)
        return write_signature(name, {**settings, "knowledge": self.name})

    def choose(self, rows: Sequence[Row], file: str, first: int) -> list[Row]:
        """Returns the rows, in order, with their chosen knowledge. A row without history becomes a
        :class:`~q2_metric.rows.read.BadRow`. A row that has its own pool and blank knowledge is
        unchanged. ``first`` is the index of the first row in the file."""
        with_knowledge = list(rows)
        askers: dict[int, Example] = {}
        for place, row in enumerate(rows):
            if isinstance(row, BadRow) or (self.own and is_blank(row.knowledge)):
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
