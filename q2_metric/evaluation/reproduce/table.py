"""What a table of a paper is, what it is measured with, and how it is shown beside the paper's.

``papers/PAPER.tsv`` has one line for each published figure, in the paper's order and as printed.
Its first lines say what is missing or odd.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from q2_metric.data.catalogue import CATALOGUE, here
from q2_metric.data.readers import Labelled
from q2_metric.errors import InputError, MissingExtra, ModelError
from q2_metric.evaluation.scores import MetricSource, ScoreColumns, Scores
from q2_metric.evaluation.tables import Cell, Column, Kind, Report, Table, number
from q2_metric.metrics.registry import title
from q2_metric.models.presets import Preset, preset
from q2_metric.types import Example

PAPERS: Mapping[str, str] = {
    "q2-emnlp": "Q², EMNLP 2021",
    "q2-v1": "Q², arXiv v1",
    "scale": "SCALE, EMNLP 2023",
    "rss-egr": "RSS and EGR, DSTC9",
}
"""For each version of a paper, how tables cite it."""

_EXPONENTS = {"%": -2, "x100": -2}  # all other units are kept


class Key(NamedTuple):
    """What a figure of a table is of. ``model`` is our name of a metric, or the paper's name of a
    system. ``size`` is "" for the paper's default model. ``data`` is a data set or a part of it."""

    model: str
    size: str = ""
    variant: str = ""
    data: str = ""
    measure: str = ""


Figures = Iterator[tuple[Key, Cell]]
"""What was measured, with the keys of the published figures."""
Item = TypeVar("Item")

KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("accuracy", "coverage", "unanswerable", "F1-macro"), "percent"),
    **dict.fromkeys(("ROC-AUC", "R@1", "R@5", "MRR@5", "precision", "F1", "recall"), "hundred"),
    **dict.fromkeys(("n", "questions", "domain errors", "entity errors", "document errors"),
                    "count"),
}


@cache
def published(paper: str) -> dict[int, dict[Key, float]]:
    """All figures of a paper by their table, in their order. Shares, scores and AUCs are in [0, 1],
    times in seconds, costs in dollars."""
    text = files("q2_metric.evaluation").joinpath("papers", f"{paper}.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    figures: dict[int, dict[Key, float]] = {}
    for table, *key, printed, unit in rows[1:]:
        value = float(f"{printed}e{_EXPONENTS.get(unit, 0)}")
        figures.setdefault(int(table), {})[Key(*key)] = value
    return figures


def measured(key: Key, cells: Mapping[str, Cell]) -> Figures:
    """The figures of one model and data set, by measure; ``None`` is left out."""
    return ((key._replace(measure=name), cell) for name, cell in cells.items() if cell is not None)


@dataclass
class Run:
    """What tables are measured with, and what they add to the report.

    Attributes:
        columns, source: the score columns of metrics for examples, and one metric, both with
            settings on top of the user's.
        metrics: those that the user asked for, in place of a table's own.
        limit: maximum number of examples of a data set; ``None`` for all.
        trained: folders of trained rankers, detectors and responders.
        narrow: how many snippets a trained ranker reads for a turn; ``None`` for all.
        notes: what a reader must know of the table that is measured.
        left_out: what was not measured of it, and why.
    """

    preset: Preset
    columns: Callable[[Sequence[str], Mapping[str, Any], Sequence[Example]], ScoreColumns]
    source: Callable[[str, Mapping[str, Any]], MetricSource]
    metrics: Sequence[str] = ()
    limit: int | None = None
    trained: Sequence[str] = ()
    narrow: int | None = None
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    curves: dict[str, Any] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)

    def scores(
        self, examples: Sequence[Example], metrics: Sequence[str], name: str = "", **settings: Any
    ) -> Scores:
        """The scores of ``metrics`` with a paper's ``settings``. A metric that is not installed,
        or lacks a model for these settings, is left out with a note."""
        found: Scores = {}
        for metric in self.metrics or metrics:
            try:
                columns = self.columns([metric], settings, examples)
                found = {**found, **columns.scores(examples, name, complete=False)}
            except (InputError, MissingExtra, ModelError) as error:
                # Coreference needs a resolver of the user's; any other wrong setting is an error.
                if isinstance(error, InputError) and not settings.get("coreference"):
                    raise
                self.left_out.append(f"{title(metric)} was left out: {error}.")
                continue
            own = ", ".join(f"{key}={value}" for key, value in settings.items())
            self.signatures |= {f"{key} {own}".strip(): signed
                                for key, signed in columns.signatures.items()}
        return found

    def judged(
        self, rows: Sequence[Labelled], metrics: Sequence[str], name: str = "", **settings: Any
    ) -> tuple[list[bool], Scores]:
        """The labels and the :meth:`scores` of some of the rows."""
        some = self.some(rows)
        return ([row.consistent for row in some],
                self.scores([row.example for row in some], metrics, name, **settings))

    def draw(self, curves: Mapping[str, Mapping[str, Any]]) -> None:
        for kind, panels in curves.items():
            self.curves[kind] = {**self.curves.get(kind, {}), **panels}

    def some(self, items: Sequence[Item]) -> list[Item]:
        """All items, or ``limit`` evenly spaced ones."""
        count = min(len(items), self.limit or len(items))
        return [items[i * len(items) // count] for i in range(count)]


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper, or its figures (``table`` 0).

    Attributes:
        data: the data sets it needs, of which all must be here, or, with ``any_data``, one.
        how: what is measured, with which settings.
        size: what is scored.
        figures: measures them.
    """

    paper: str
    table: int
    title: str
    data: tuple[str, ...]
    how: str
    size: str
    figures: Callable[[Run], Figures]
    any_data: bool = False

    @property
    def name(self) -> str:
        return f"{self.paper}-{self.table or 'figures'}"

    def measure(self, run: Run) -> dict[Key, Cell]:
        """The figures; the size of SCALE is the name of its model, as in published figures."""
        size = run.preset.scale.model.rpartition("/")[2]
        return {key._replace(size=size) if key.model == "scale" else key: cell
                for key, cell in self.figures(run)}

    @property
    def published(self) -> dict[Key, float]:
        return published(self.paper).get(self.table, {})

    def missing(self) -> list[str]:
        lacking = [name for name in self.data if not here(name)]
        return [] if self.any_data and len(lacking) < len(self.data) else lacking


def where(names: Iterable[str]) -> str:
    """What to do to get the data sets."""
    sets = [CATALOGUE[name] for name in names]
    return "; ".join(dict.fromkeys(
        f"{one.name}: {one.by_hand}" if one.by_hand else f"q2 data download {one.folder}"
        for one in sets))


def reproduce(tables: Sequence[PaperTable], run: Run) -> Report:
    """Measures the tables whose data are here. The first table of the report says how it went.
    InputError: none could be measured."""
    shown: list[Table] = []
    lines: list[tuple[Cell, ...]] = []
    for one in tables:
        missing = one.missing()
        start, run.notes, run.left_out = time.perf_counter(), [], []
        figures = {} if missing else one.measure(run)
        if not figures:
            why = where(missing) or " ".join(run.left_out)
            lines.append((one.name, one.title, f"not run: {why}", 0, None))
            continue
        beside = sum(_published(one, key) is not None for key in figures)
        shown.append(_table(one, run, figures))
        state = "in part, see its note" if run.left_out else "measured"
        lines.append((one.name, one.title, state, beside, time.perf_counter() - start))
    if not shown:
        raise InputError("no table could be measured: " + "; ".join(
            f"{line[0]}: {line[2]}" for line in lines))
    summary = Table(
        "tables", "What was measured",
        (Column("table", "text"), Column("title", "text"), Column("state", "text"),
         Column("figures beside published ones", "count"), Column("seconds")),
        tuple(lines),
        "" if run.limit is None else f"At most {run.limit} examples of each data set were read, so "
        "no figure can be compared with a paper's.",
    )
    return Report("reproduce", "The tables of the papers, measured again", (summary, *shown),
                  run.signatures, run.curves)


def _published(one: PaperTable, key: Key) -> Key | None:
    """The published figure that is shown beside ours: of the same size, or the first other one."""
    same = [other for other in one.published if other._replace(size="") == key._replace(size="")]
    return key if key in same else next(iter(same), None)


def _table(one: PaperTable, run: Run, figures: Mapping[Key, Cell]) -> Table:
    known = one.published
    beside = {key: other for key in figures if (other := _published(one, key))}
    beside |= {key: key for key in known if key not in beside.values()}
    every = list({**figures, **beside})
    measures, data = (list(dict.fromkeys(getattr(key, name) for key in [*known, *every]))
                      for name in ("measure", "data"))
    wide = len(measures) == 1 and len(data) > 2
    columns = data if wide else measures
    rows: dict[tuple[str, ...], list[Key]] = {}
    for key in every:
        row = (key.model, key.size, key.variant, *(() if wide else (key.data,)))
        rows.setdefault(row, []).append(key)
    lines: list[tuple[Cell, ...]] = []
    for row, keys in rows.items():
        sizes = {beside[key].size for key in keys if key in beside}
        ours = _models(row[0], row[1], run) if any(key in figures for key in keys) else ""
        theirs = ", ".join(sizes - {""}) or ("the paper's models" if sizes else "")
        name = title(row[0]) if row[0] else ""
        lines += _lines([name, *row[2:]], (ours, theirs), {
            key.data if wide else key.measure: (figures.get(key), known.get(beside.get(key, key)))
            for key in keys}, columns)
    return Table(
        one.name, f"{PAPERS[one.paper]}, {one.title}",
        (Column("model", "text"), Column("variant", "text"),
         *(() if wide else (Column("data", "text"),)), Column("figures", "text"),
         *(Column(name, KINDS.get(measures[0] if wide else name, "number")) for name in columns)),
        tuple(lines), " ".join([one.how, *dict.fromkeys([*run.notes, *run.left_out])]),
    )


def _lines(
    row: Sequence[str], models: tuple[str, str], cells: Mapping[str, tuple[Cell, float | None]],
    columns: Sequence[str],
) -> list[tuple[Cell, ...]]:
    """Up to three rows of a table; ``models`` names those of the first two."""
    found = [cells.get(name, (None, None)) for name in columns]
    pairs = [(number(own), other) for own, other in found]
    ours, theirs = (": ".join(filter(None, pair))
                    for pair in zip(("ours", "published"), models, strict=True))
    rows: list[tuple[str, list[Cell]]] = [
        (ours, [own for own, _ in found]), (theirs, [other for _, other in found]),
        ("difference", [None if own is None or other is None else round(own - other, 9) + 0.0
                        for own, other in pairs])]
    return [(*row, head, *values) for head, values in rows
            if any(value is not None for value in values)]


def _models(metric: str, size: str, run: Run) -> str:
    """The models that ours ran with. ``size`` is of the key, such as a replaced model's."""
    stages = {"q2": ("questions", "reader", "nli"), "q2_no_nli": ("questions", "reader"),
              "scale": ("scale",), "nli": ("nli",)}.get(metric, ())
    names = [getattr(preset(run.preset), stage).model.rpartition("/")[2] for stage in stages]
    return size or ", ".join(filter(None, names)) or (run.preset.name if stages else "")
