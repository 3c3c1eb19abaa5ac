"""Defines the fields of an output row: for each, its name, its type and how its value is computed.

The jsonl rows, the csv header, the parquet schema and the readers of outputs use these definitions.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from itertools import chain, product
from operator import attrgetter
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from q2_metric.metrics.claims import language
from q2_metric.metrics.registry import entry
from q2_metric.rows.plain import plain
from q2_metric.rows.read import BadRow
from q2_metric.types import Comparison, Dropped, Example, Judgement, Part, Passage, Score

OutputRow = dict[str, Any]

Form = Literal["text", "number", "whole", "yes-no", "texts", "object", "objects", "json"]
"""The type of a value: "whole" is an integer, "json" an object with any keys."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an output row, or of an object inside an output row. Its value may be null.

    ``of`` computes the value from a Python object, such as a :class:`~q2_metric.types.Score`. For
    the forms "object" and "objects", ``fields`` are those of each object; items of "objects" that
    are not of the class ``kind`` are skipped.
    """

    name: str
    form: Form
    of: Callable[[Any], Any] = lambda _item: None
    fields: tuple["Field", ...] = ()
    kind: type = object

    def value(self, item: Any) -> Any:
        value = self.of(item)
        if self.form == "objects":
            return [{field.name: field.value(part) for field in self.fields}
                    for part in value if isinstance(part, self.kind)]
        if self.form == "texts":
            return list(value)
        if self.form != "number" or value is None:
            return value
        return float(value) if math.isfinite(value) else None


def fields_of(kind: Any, *paths: str) -> tuple[Field, ...]:
    """Makes fields from the attributes ``paths`` of a dataclass (all by default), with their types.
    "claim.start" is an attribute of an attribute."""
    return tuple(Field(path.rpartition(".")[2], _form(kind, path), attrgetter(path))
                 for path in paths or [field.name for field in dataclass_fields(kind)])


def _form(kind: Any, path: str) -> Form:
    for name in path.split("."):
        kind = get_type_hints(kind)[name]
    if get_origin(kind) in (Union, UnionType):  # such as "float | None"
        kind = get_args(kind)[0]
    if get_origin(kind) is tuple:
        return "texts"
    forms: Mapping[Any, Form] = {float: "number", int: "whole", bool: "yes-no"}
    return forms.get(kind, "text")  # a Literal is a text


_ASKED = (
    Field("span", "text", attrgetter("question.span.text")),
    Field("start", "whole", attrgetter("question.span.start")),
    Field("question", "text", attrgetter("question.text")),
)
"""``span`` is what a question of Q² asks about, ``start`` its character offset in the response."""

QUESTIONS = Field("questions", "objects", lambda score: score.evidence, kind=Comparison, fields=(
    *_ASKED,
    *fields_of(Comparison, "response_answer", "knowledge_answer", "knowledge_start", "how"),
    Field("verdict", "text", lambda item: item.verdict.label if item.verdict else None),
    Field("verdict_p", "number",
          lambda item: getattr(item.verdict, item.verdict.label) if item.verdict else None),
    *fields_of(Comparison, "f1", "score"),
    Field("plain", "text", lambda item: plain(
        item.response_answer, item.knowledge_answer, item.how,
        item.verdict and item.verdict.label)),
))
"""Q²'s questions. ``verdict_p``: the probability of ``verdict``, NLI's label."""

DROPPED = Field("dropped", "objects", lambda score: score.dropped, kind=Dropped,
                fields=(*_ASKED, *fields_of(Dropped, "reason", "answer")))
"""Rejected questions: "personal" or "round_trip" (the response gives ``answer`` instead)."""

CLAIMS = Field("claims", "objects", lambda score: score.evidence, kind=Judgement, fields=(
    *fields_of(Judgement, "claim.start", "claim.end", "claim.text", "claim.kind", "verdict",
               "support", "passage", "passage_start", "passage_number", "passage_support",
               "citation"),
    Field("passage_id", "text"),
    *fields_of(Judgement, "cites"),
))
"""Offsets are in characters. ``passage`` is the sentence of the knowledge that decides."""

PARTS = Field("parts", "objects", lambda score: score.evidence, kind=Part, fields=fields_of(Part))
"""The inputs of the groundedness score, with their contributions to its logit."""

DETAILS: Mapping[str, tuple[Field, ...]] = {
    "questions": (QUESTIONS, DROPPED), "sentences": (CLAIMS,), "parts": (PARTS, CLAIMS),
}
"""By kind of evidence (``details`` of the metric's entry)."""


FALLBACK = Field("fallback", "yes-no", lambda score: score.fallback)
"""Q² had no valid question, so NLI judged the whole response. Rows without Q² lack the field."""

REASON = Field("reason", "text", lambda score: score.reason)

LANGUAGE = Field("language", "text")
"""The code of the response's language, or else the knowledge's, if one is not English."""

SELECTED = Field("selected", "object", fields=(
    *(Field(name, "text") for name in ("domain", "entity_id", "entity_name", "doc_id", "text")),
    Field("score", "number"),
))
"""The snippet that ``--knowledge-pool`` chose, with the ranker's score."""

FILE, ID, ERROR = (Field(name, "text") for name in ("file", "id", "error"))
PASSAGES = Field("passages", "objects", lambda row: row.passages, fields=fields_of(Passage))
"""Start, end (characters) and id of each passage; empty if the knowledge is a single text."""
OTHER = Field("other", "json", lambda row: dict(row.other))
"""The row's values in the columns from which no field was read, by column."""
TEXT_FIELDS = (*fields_of(Example, "question", "response", "knowledge", "history"),
               PASSAGES, OTHER, *fields_of(Example, "label"))
"""Fields that repeat the row that was scored. ``label`` is the human label."""
TEXTS = tuple(field.name for field in TEXT_FIELDS)


@dataclass(frozen=True, slots=True)
class Layout:
    """Determines which fields the rows of an output have.

    Attributes:
        decided: calibrated metrics, with a field ``METRIC_consistent``: is the score above the
            calibration's threshold?
        texts: whether rows also contain :data:`TEXT_FIELDS`.
        group_by: columns that rows contain in the field ``other``, even without ``texts``.
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
        fields = [
            *([FILE] if self.with_file else []), ID,
            *(field for _, field in self.numbers()), LANGUAGE, ERROR,
            *(TEXT_FIELDS if self.texts else [OTHER] if self.group_by else ()),
            *(field for _, field in self.details()),
            *([SELECTED] if self.selected else []),
        ]
        return list({field.name: field for field in fields}.values())

    def numbers(self) -> Iterator[tuple[str, Field]]:
        """(name of the metric, field) of each score, and of what says how it came about."""
        for name in self.metrics:
            yield from ((name, Field(column.name, "number", column.of))
                        for column in entry(name).columns)
            if name in self.decided:
                yield name, Field(f"{name}_consistent", "yes-no", attrgetter("consistent"))
        yield from ((name, FALLBACK) for name in self.metrics if entry(name).details == "questions")
        # Metrics that judge claims come first, so that their reason is used.
        for name in sorted(self.metrics, key=lambda name: entry(name).any_text):
            yield name, REASON

    def details(self) -> Iterator[tuple[str, Field]]:
        """(name of the metric, field) of each field with evidence. A kind without a line in
        :data:`DETAILS` has a list of its attributes, and of its text as ``plain``."""
        for name in self.metrics:
            metric = entry(name)
            kind = metric.evidence_class()
            fields = DETAILS.get(metric.details or "", ()) if kind is None else (
                Field(metric.listed, "objects", lambda score: score.evidence, kind=kind,
                      fields=(*fields_of(kind), Field("plain", "text", str))),)
            yield from ((name, field) for field in fields)


def output_row(
    index: int, row: Example | BadRow, scores: Mapping[str, Score],
    layout: Layout | Sequence[str], *, file: str | None = None,
) -> OutputRow:
    """Makes an output row, with every field of the layout. A row without an id gets ``index`` (from
    0) + 1. ``scores`` are by metric, and empty for a bad row. A list of metrics stands for a layout
    with only their fields."""
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
    for name, field in chain(layout.numbers(), layout.details()):
        # If several metrics fill a field, such as "reason", the first value is used.
        if name in scores and out[field.name] in (None, []):
            out[field.name] = field.value(scores[name])
    if isinstance(row, Example):
        out[LANGUAGE.name] = language(row)
        numbered = enumerate(row.passages, start=1)
        for claim, (number, passage) in product(out.get(CLAIMS.name) or (), numbered):
            start = claim["passage_start"]
            if start is not None and passage.start <= start < passage.end:
                claim["passage_number"], claim["passage_id"] = number, passage.id
    return out


def with_texts(row: OutputRow, scored: Example | BadRow) -> OutputRow:
    """Returns the output row with the texts that were scored: response, knowledge and so on. The
    text of a chosen snippet replaces the knowledge. A bad row is returned as it is."""
    if isinstance(scored, BadRow):
        return row
    chosen = (row.get("selected") or {}).get("text")
    texts = {field.name: field.value(scored) for field in TEXT_FIELDS}
    if chosen is not None:
        texts |= {"knowledge": chosen, "passages": []}
    return row | texts
