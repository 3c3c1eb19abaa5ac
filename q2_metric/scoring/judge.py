"""What ``assert_grounded`` and the small integrations share: a :class:`Judge` that scores and
explains responses, and a :class:`RecordJudge` that finds response and knowledge in the records of a
framework."""

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from q2_metric import forks, scoring
from q2_metric.errors import InputError
from q2_metric.metrics.registry import columns, entry
from q2_metric.rows.plain import REASONS
from q2_metric.scoring.outcome import NOT_TRIED
from q2_metric.types import Comparison, Example, Score

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Judged:
    """The result for one response.

    ``numbers`` has the scores and, as 1 or 0, properties such as ``no_claim``; ``None`` if the
    response does not count in the mean. ``why`` is the evidence in words, and ``line`` its main
    parts in one line. ``failed`` says, by score column, why there is no score
    (:data:`q2_metric.scoring.outcome.NOT_TRIED`).
    """

    numbers: Mapping[str, float | None]
    why: str
    unsupported: Sequence[Mapping[str, Any]] = ()
    line: str = ""
    failed: Mapping[str, str] = field(default_factory=dict)


class Judge:
    """Loads metrics, and scores responses with them. Several threads may use the same judge.

    Copies share the models; an unpickled judge loads them again.

    Args:
        metrics: names, also as "q2,scale"; ``None`` means groundedness, q2 and scale.
        no_claim: how responses without a claim are averaged: as 0 ("zero", the default), or not at
            all ("exclude").
        settings: keywords of :func:`q2_metric.scoring.load`: ``preset``, ``device``, ….
        strict: raise the error of a metric that fails on all rows. Otherwise it is logged, and the
            metric's numbers are ``None``.
        evidence: also find the passage that decides each claim, which takes longer.

    Attributes:
        names: of a response's numbers: score columns, in [0, 1], then ``coverage``, ``fallback``
            and ``no_claim`` (1 or 0).

    InputError: a metric, keyword or value is unknown. MissingExtra, ModelError: a model cannot be
    loaded."""

    def __init__(
        self, metrics: Iterable[str] | str | None = None, no_claim: str | None = None,
        settings: Mapping[str, Any] | None = None, strict: bool = True, evidence: bool = False,
    ) -> None:
        if metrics is not None and not isinstance(metrics, str):
            metrics = list(metrics)
        self._made_with = (metrics, no_claim, dict(settings or {}), strict, evidence)
        self.strict, self.evidence = strict, evidence
        self.no_claim = scoring.check_no_claim(no_claim)
        self.metrics = scoring.load(metrics, settings or {})
        chosen = [metric.name for metric in self.metrics]
        self.names = [*columns(chosen), *scoring.share_names(chosen)]
        self.signature = scoring.signature_lines(self.metrics, self.no_claim)
        self._last: tuple[list[tuple[Example, Any]], list[Judged]] = ([], [])
        self.in_child()
        forks.tell(self)

    def in_child(self) -> None:
        """A thread of the parent may have held the lock during the fork."""
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Judge, self._made_with

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __call__(self, rows: Sequence[Example]) -> list[Judged]:
        """Scores each row. If a metric fails on a row, a warning says which. The results of the
        last call are kept, for frameworks that ask for one number at a time."""
        asked = [(row, row.passages) for row in rows]  # equal examples may have other passages
        with self._lock:
            if self._last[0] != asked:
                scores = scoring.score(
                    self.metrics, rows, evidence=self.evidence, on_fault=warn_of_row,
                    on_break=None if self.strict else report_broken)
                self._last = asked, list(map(self._judged, rows, scores))
            return self._last[1]

    def one(self, response: object, knowledge: object, history: object, where: str,
            question: object = None) -> Judged:
        """The result for one row, given as to :func:`q2_metric.scoring.given`."""
        [judged] = self([scoring.given(response, knowledge, history, where, question)])
        return judged

    def _judged(self, row: Example, scores: Mapping[str, Score]) -> Judged:
        numbers = scoring.row_numbers(scores, self.no_claim)
        wrong = scoring.unsupported(scoring.claims(row, scores))
        claims = [f"{claim['verdict']}: {_claim(row.response, claim)}" for claim in wrong]
        words = [f"{entry(name).title}: {said(score)}" for name, score in scores.items()]
        short = [*claims, *(one.partition("\n")[0] for one in words),
                 *(str(item) for score in scores.values() for item in score.evidence
                   if isinstance(item, Comparison) and item.score < 0.5)]
        return Judged(
            {name: numbers[name] for name in self.names}, "\n".join([*claims, *words]), wrong,
            " ".join("; ".join(short).split()),
            {column.name: REASONS[score.reason] for name, score in scores.items()
             if score.reason in NOT_TRIED for column in entry(name).columns})


def warn_of_row(place: int, words: str) -> None:
    _LOG.warning("response %d has no score: %s", place + 1, words)


def report_broken(name: str, error: Exception) -> None:
    _LOG.error("%s failed and has no numbers for these rows: %s: %s (strict=True raises "
               "the error)", name, type(error).__name__, " ".join(str(error).split()))


def _claim(response: str, claim: Mapping[str, Any]) -> str:
    start, end = claim["start"], claim["end"]
    words = f'"{response[start:end]}" (characters {start} to {end})'
    if claim["passage"] is None:
        return words
    number = "" if claim["passage_number"] is None else f" {claim['passage_number']}"
    return f'{words}; nearest, passage{number}: "{claim["passage"]}"'


def said(score: Score) -> str:
    """A score, or why there is none, and a line for each item of its evidence."""
    if score.reason is not None:
        return REASONS[score.reason]
    if score.value is None:
        return "it does not apply"
    lines = [f"{score.value:.3f}"]
    if score.fallback:
        lines[0] += " (no question found, judged as a whole)"
    return "\n  ".join([*lines, *map(str, score.evidence)])


@dataclass
class RecordJudge:
    """Judges one output at a time. A copy in another process loads its own models.

    Args:
        metrics: as for :class:`Judge`.
        knowledge: the field with the knowledge: a text or a list of passages. The output is
            searched first, then the other records, likewise for the field "question".
        response: the field with the response, if the output is not a text itself.
        settings: ``preset``, ``device`` and the settings of the metrics; also ``no_claim``.

    InputError: a metric, keyword or value is unknown; later, a record lacks a field."""

    metrics: str = "groundedness"
    knowledge: str = "knowledge"
    response: str = "answer"
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chosen = dict(self.settings)
        self._judge = Judge(self.metrics, chosen.pop("no_claim", None), chosen, evidence=True)
        self.signature = self._judge.signature

    def judged(self, output: object, others: Sequence[object]) -> Judged:
        records = [one for one in (output, *others) if isinstance(one, Mapping)]
        known = [one[self.knowledge] for one in records if self.knowledge in one]
        if not known:
            names = ", ".join(repr(name) for one in records for name in one) or "none"
            raise InputError(f"no record has the field {self.knowledge!r} with the knowledge; the "
                             f"fields are {names}; name it with knowledge=")
        if isinstance(output, Mapping):
            if self.response not in output:
                raise InputError(f"the output has no field {self.response!r} with the response; "
                                 f"its fields are {', '.join(map(repr, output)) or 'none'}; name "
                                 "it with response=")
            output = output[self.response]
        asked = next((one["question"] for one in records if "question" in one), None)
        return self._judge.one(output, known[0], None, "this output", asked)
