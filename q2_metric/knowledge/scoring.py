"""Chooses the knowledge of each row from a knowledge pool, before the row is scored (the option
``q2 score --knowledge-pool``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from q2_metric.knowledge.choose import BUNDLED, NAMES, combined, load_ranker
from q2_metric.knowledge.pools import passages, read_pool
from q2_metric.knowledge.types import Dialogue, Ranked, Ranker
from q2_metric.metrics.signature import parse
from q2_metric.metrics.signature import signature as write_signature
from q2_metric.rows.read import BadRow, Row
from q2_metric.text.given import is_blank
from q2_metric.types import Example

ROW = "row"
"""The value of ``--knowledge-pool`` with which each row has its own pool: the lines of its
knowledge."""


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """The user's choice of a knowledge pool, and of the rankers that choose a snippet for each row.

    Attributes:
        pool: the path of a file (:func:`~q2_metric.knowledge.pools.read_pool`), or "row" if each
            row has its own pool.
        rankers: names or folders of rankers. Several rankers vote.
    """

    pool: str
    rankers: tuple[str, ...] = (BUNDLED,)

    @property
    def words(self) -> str:
        """A human-readable phrase with the names of the knowledge pool and the rankers."""
        return f"chosen from {self.pool} by {', '.join(self.rankers)}"

    @property
    def request(self) -> dict[str, Any]:
        """The knowledge pool and the rankers as a dictionary. The chosen knowledge depends on these
        alone."""
        rankers = {f"ranker {i}": name for i, name in enumerate(self.rankers, start=1)}
        return {"pool": self.pool, **rankers}

    @property
    def paths(self) -> list[str]:
        """The paths of the knowledge pool and of trained rankers. Built-in rankers have no path."""
        pools = [] if self.pool == ROW else [self.pool]
        return pools + [name for name in self.rankers if name not in NAMES]

    def load(self) -> PoolSelector:
        """Loads the knowledge pool and the rankers.

        Raises:
            InputError, MissingExtra, ModelError: the pool or a ranker cannot be loaded.
        """
        return PoolSelector(self.pool, self.rankers)


@dataclass(frozen=True, slots=True)
class SelectedExample(Example):
    """An example whose knowledge was chosen from a pool of snippets. ``selected`` describes the
    chosen snippet: its ids, its text and its score."""

    selected: dict[str, Any] | None = field(default=None, compare=False)


class PoolSelector:
    """Chooses the knowledge of each row from a pool of snippets. The row's history is the dialogue
    for which a snippet is chosen.

    Args:
        pool: the path of a file (see :func:`~q2_metric.knowledge.pools.read_pool`), or "row" if
            each row has its own pool.
        rankers: names or folders of rankers. Entity Guided Reranking follows each ranker. Then
            several rankers vote.

    Raises:
        InputError, MissingExtra, ModelError: the pool or a ranker cannot be loaded.
    """

    def __init__(self, pool: str, rankers: Sequence[str] = (BUNDLED,)) -> None:
        self.source = pool
        self.own = pool == ROW
        self._pool = None if self.own else read_pool(pool)
        self._ranker: Ranker = combined([load_ranker(name) for name in rankers])
        self.name = self._ranker.name

    def sign(self, signature: str) -> str:
        """Adds to a metric's signature (the line that records its models and settings) the names of
        the rankers that chose the knowledge."""
        name, settings = parse(signature)
        return write_signature(name, {**settings, "knowledge": self.name})

    def choose(self, rows: Sequence[Row], file: str, first: int) -> list[Row]:
        """Returns the rows, in order, with their chosen knowledge.

        A row without history becomes a :class:`~q2_metric.rows.read.BadRow`. If each row has its
        own pool, a row with blank knowledge is unchanged.

        Args:
            rows: rows of a file.
            file: name of the file, for error messages.
            first: index of the first of these rows in the file.
        """
        left = [isinstance(row, BadRow) or (self.own and is_blank(row.knowledge)) for row in rows]
        askers = [row for row, leave in zip(rows, left, strict=True)
                  if isinstance(row, Example) and row.history and not leave]
        chosen = iter(self._choose(askers))
        with_knowledge: list[Row] = []
        for index, (row, leave) in enumerate(zip(rows, left, strict=True), start=first):
            if leave or isinstance(row, BadRow):
                with_knowledge.append(row)
            elif row.history:
                with_knowledge.append(_selected(row, next(chosen)))
            else:
                with_knowledge.append(BadRow(
                    index, row.id, f"{file}, row {index + 1}: has no history, which is needed to "
                    "choose its knowledge"
                ))
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
    said = {
        "domain": snippet.domain,
        "entity_id": snippet.entity_id,
        "entity_name": snippet.entity_name,
        "doc_id": snippet.doc_id,
        "text": snippet.text,
        "score": ranked.score,
    }
    return SelectedExample(
        example.response, snippet.text, example.history, example.id, example.label,
        question=example.question, other=example.other, selected=said)
