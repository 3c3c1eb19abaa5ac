"""The table of an output row's fields: their names, their types and where their values come from.

The jsonl rows, the csv header, the parquet schema and the readers of outputs all use this table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from q2_metric.metrics.registry import entry
from q2_metric.rows.plain import plain
from q2_metric.rows.read import BadRow
from q2_metric.types import Comparison, Dropped, Example, Judgement, Part, Score

OutputRow = dict[str, Any]

Form = Literal["text", "number", "whole", "yes-no", "texts", "object", "objects", "json"]
"""The type of a field.

"whole" is an integer, "texts" a list of texts, "objects" a list of objects, and "json" an object
with any names.
"""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an output row, or of an object inside an output row.

    Attributes:
        name: name in the row.
        form: type of the value if it is not null.
        of: returns the field's value from the object that the row describes.
        fields: fields of an object, or of each object in a list.
        kind: class of the items in a list of objects.
    """

    name: str
    form: Form
    of: Callable[[Any], object] = lambda _item: None
    fields: tuple[Field, ...] = ()
    kind: type = object

    def value(self, item: Any) -> Any:
        """The field's value, as a JSON value."""
        if self.form == "objects":
            return [
                {field.name: field.value(part) for field in self.fields}
                for part in self.of(item) if isinstance(part, self.kind)  # type: ignore[attr-defined]
            ]
        value = self.of(item)
        if self.form != "number" or value is None:
            return value
        return float(value) if math.isfinite(value) else None  # type: ignore[arg-type]


def _verdict_p(item: Comparison) -> float | None:
    return getattr(item.verdict, item.verdict.label) if item.verdict else None


def _own(**forms: Form) -> tuple[Field, ...]:
    """Fields whose values are attributes of the same name. ``forms`` gives each field's form."""
    return tuple(Field(name, form, attrgetter(name)) for name, form in forms.items())


_ASKED = (
    Field("span", "text", lambda item: item.question.span.text),
    Field("start", "whole", lambda item: item.question.span.start),
    Field("question", "text", lambda item: item.question.text),
)
"""Fields that asked and dropped questions share."""

QUESTIONS = Field("questions", "objects", lambda score: score.evidence, kind=Comparison, fields=(
    *_ASKED,
    Field("response_answer", "text", lambda item: item.response_answer),
    Field("knowledge_answer", "text", lambda item: item.knowledge_answer),
    Field("knowledge_start", "whole", lambda item: item.knowledge_start),
    Field("how", "text", lambda item: item.how),
    Field("verdict", "text", lambda item: item.verdict.label if item.verdict else None),
    Field("verdict_p", "number", _verdict_p),
    Field("f1", "number", lambda item: item.f1),
    Field("score", "number", lambda item: item.score),
    Field("plain", "text", lambda item: plain(
        item.response_answer, item.knowledge_answer, item.how, item.verdict and item.verdict.label,
    )),
))
"""Questions that Q² asked; ``verdict_p`` is the probability of ``verdict``, ``plain`` is a
sentence."""

DROPPED = Field("dropped", "objects", lambda score: score.dropped, kind=Dropped, fields=(
    *_ASKED,
    Field("reason", "text", lambda item: item.reason),
    Field("answer", "text", lambda item: item.answer),
))
"""Questions that Q² did not ask of the knowledge; ``reason`` is "personal" or "round_trip"."""

CLAIMS = Field("claims", "objects", lambda score: score.evidence, kind=Judgement, fields=(
    Field("start", "whole", lambda item: item.claim.start),
    Field("end", "whole", lambda item: item.claim.end),
    Field("text", "text", lambda item: item.claim.text),
    Field("kind", "text", lambda item: item.claim.kind),
    *_own(verdict="text", support="number", passage="text", passage_start="whole",
          passage_number="whole", passage_support="number", citation="text"),
    Field("passage_id", "text"),
    Field("cites", "texts", lambda item: list(item.cites)),
))
"""The judged claims; positions are in characters. If the knowledge is a list of passages, the
number and id of the passage refer to this list."""

PARTS = Field("parts", "objects", lambda score: score.evidence, kind=Part, fields=_own(
    name="text", value="number", contribution="number",
))
"""The parts of a combined score."""

DETAILS: Mapping[str, tuple[Field, ...]] = {
    "questions": (QUESTIONS, DROPPED), "sentences": (CLAIMS,), "parts": (PARTS, CLAIMS),
}
"""Fields by the kind of evidence of a metric (:data:`q2_metric.metrics.registry.Details`)."""

FALLBACK = Field("fallback", "yes-no", lambda score: score.fallback)
"""Whether the response had no valid question. Only metrics that ask questions have this field."""

REASON = Field("reason", "text", lambda score: score.reason)
"""Why metrics give a row no score (:data:`q2_metric.types.Reason`)."""

SELECTED = Field("selected", "object", fields=(
    *(Field(name, "text") for name in
      ("domain", "entity_id", "entity_name", "doc_id", "text")),
    Field("score", "number"),
))
"""The snippet that was chosen as the row's knowledge."""

FILE, ID, ERROR = (Field(name, "text") for name in ("file", "id", "error"))
PASSAGES = Field("passages", "objects", lambda row: row.passages, fields=_own(
    start="whole", end="whole", id="text",
))
"""The position of each passage of the knowledge, in characters; empty for a single text."""
OTHER = Field("other", "json", lambda row: dict(row.other))
"""The other columns of the row that was scored."""
TEXT_FIELDS = (
    Field("question", "text", attrgetter("question")),
    Field("response", "text", attrgetter("response")),
    Field("knowledge", "text", attrgetter("knowledge")),
    Field("history", "texts", lambda row: list(row.history)),
    PASSAGES,
    OTHER,
    Field("label", "yes-no", attrgetter("label")),
)
"""Fields of an output row that repeat what was scored; ``label`` is people's label."""
TEXTS = tuple(field.name for field in TEXT_FIELDS)
"""The names of :data:`TEXT_FIELDS`."""


def _decision(metric: str) -> Field:
    return Field(f"{metric}_consistent", "yes-no", lambda score: score.consistent)


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields that the rows of an output have.

    Attributes:
        metrics: the requested metrics.
        with_file: whether each row names its file.
        decided: metrics with a calibration; their rows have a field ``METRIC_consistent``.
        texts: whether rows repeat their texts, their other columns, and people's label.
        group_by: columns that rows have in :data:`OTHER` even without their texts.
        selected: whether rows say which snippet was chosen as their knowledge.
    """

    metrics: Sequence[str]
    with_file: bool = False
    decided: Sequence[str] = ()
    texts: bool = False
    selected: bool = False
    group_by: Sequence[str] = ()

    @property
    def fields(self) -> list[Field]:
        """All fields of a row, in order."""
        fields = [
            *([FILE] if self.with_file else []),
            ID,
            *(field for _, field in self._numbers() + self._marks()),
            ERROR,
            *(TEXT_FIELDS if self.texts else [OTHER] if self.group_by else ()),
            *(field for _, field in self._details()),
            *([SELECTED] if self.selected else []),
        ]
        return list({field.name: field for field in fields}.values())

    def of_scores(self) -> list[tuple[str, Field]]:
        """All fields that contain scores, each with its metric."""
        return [*self._numbers(), *self._marks(), *self._details()]

    def _numbers(self) -> list[tuple[str, Field]]:
        numbers = []
        for name in self.metrics:
            numbers += [(name, Field(column.name, "number", column.of))
                        for column in entry(name).columns]
            if name in self.decided:
                numbers.append((name, _decision(name)))
        return numbers

    def _marks(self) -> list[tuple[str, Field]]:
        marks = [(name, FALLBACK) for name in self.metrics if entry(name).details == "questions"]
        # Metrics that judge claims come first, so that their reason is used.
        judging = sorted(self.metrics, key=lambda name: entry(name).any_text)
        return [*marks, *((name, REASON) for name in judging)]

    def _details(self) -> list[tuple[str, Field]]:
        kinds = ((name, entry(name).details) for name in self.metrics)
        return [(name, field) for name, details in kinds if details is not None
                for field in DETAILS[details]]


def output_row(
    index: int,
    row: Example | BadRow,
    scores: Mapping[str, Score],
    layout: Layout | Sequence[str],
    *,
    file: str | None = None,
) -> OutputRow:
    """One row of the output. It has every field of the layout.

    Args:
        index: index of the row in its file, from 0. In a file without ids, the row's number from 1
            is its id.
        row: the row as it was read.
        scores: scores by metric; empty for a bad row.
        layout: layout of the output, or only the requested metrics.
        file: name of the file, for layouts with a field for it.
    """
    if not isinstance(layout, Layout):
        layout = Layout(tuple(layout))
    out: OutputRow = dict.fromkeys(field.name for field in layout.fields)
    if layout.with_file:
        out["file"] = file
    out["id"] = row.id if row.id is not None else str(index + 1)
    if isinstance(row, BadRow):
        out["error"] = row.error
    elif layout.selected:
        out["selected"] = getattr(row, "selected", None)
    if layout.texts:
        out = with_texts(out, row)
    elif layout.group_by and isinstance(row, Example):
        out[OTHER.name] = {name: row.other[name] for name in layout.group_by if name in row.other}
    for name, field in layout.of_scores():
        # If several metrics fill a field, such as "reason", the first value is used.
        if name in scores and out[field.name] in (None, []):
            out[field.name] = field.value(scores[name])
    if isinstance(row, Example):
        _number_passages(out.get(CLAIMS.name) or (), row)
    return out


def _number_passages(claims: Iterable[OutputRow], row: Example) -> None:
    """If the knowledge is a list of passages, adds the number and id of each claim's passage."""
    for claim in claims:
        if claim["passage_start"] is not None and (
                place := row.passage_at(claim["passage_start"])) is not None:
            claim["passage_number"], claim["passage_id"] = place[0], place[1].id


def with_texts(row: OutputRow, scored: Example | BadRow) -> OutputRow:
    """The output row with the :data:`TEXTS` that were scored. A bad row is returned unchanged.

    If knowledge was chosen for the row, it is taken from ``selected``.
    """
    if isinstance(scored, BadRow):
        return row
    chosen = (row.get("selected") or {}).get("text")
    texts = {field.name: field.value(scored) for field in TEXT_FIELDS}
    if chosen is not None:
        texts |= {"knowledge": chosen, "passages": []}
    return row | texts
