"""What the command prints: tables, explanations, the progress bar.

Texts of users go through :func:`plain` into rich ``Text``, never into markup: square
brackets stay what they are, and control characters do not reach the terminal.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from q2_metric.metrics.registry import of_column
from q2_metric.types import (
    Comparison,
    Evidence,
    Example,
    Part,
    Score,
    SystemScore,
    Verdict,
)

if TYPE_CHECKING:
    from q2_metric.data.catalogue import DataSet
    from q2_metric.engine.run import FileResult
    from q2_metric.models.presets import Preset

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, changes of direction, lone surrogates."""

NONE = "–"


def plain(text: str) -> str:
    """The text with what could steer a terminal replaced by U+FFFD.

    >>> plain("a\\x1b[31mb")
    'a�[31mb'
    """
    return _UNSAFE.sub("�", text)


def print_systems(results: Sequence[FileResult]) -> None:
    """A table for each file, a line in it for each metric; then the signatures."""
    console = _console()
    for result in results:
        table = _table()
        table.add_column("metric", no_wrap=True)
        for title in ("mean", "95 % interval", "coverage", "no answer", "n", "fallback"):
            table.add_column(title, justify="right", no_wrap=True)
        silent = any(system.no_claim for system in result.systems)
        if silent:
            table.add_column("no claim", justify="right", no_wrap=True)
        for system in result.systems:
            share = [_percent(system.no_claim)] if silent else []
            table.add_row(_title(system.name), *_system_cells(system), *share)
        if len(results) > 1:
            console.print(Text(plain(result.file), style="bold"), soft_wrap=True)
        console.print(table)
        scored, speed = result.rows - result.failed, result.rows_per_second
        # There is none where an earlier run had scored everything.
        how_fast = f", {speed:.1f} rows per second" if speed else ""
        if how_fast and result.looked_up:
            how_fast += f" with {result.looked_up} scores from the cache"
        console.print(f"{scored} of {result.rows} rows scored{how_fast}")
        used = ", ".join(f"{field}={name}" for field, name in result.columns.items() if name)
        if used:
            console.print(Text(plain(f"columns: {used}"), style="dim"), soft_wrap=True)
        console.print()
    signatures = (system.signature for result in results for system in result.systems)
    _print_signatures(console, list(dict.fromkeys(signatures)))


def print_explanation(
    example: Example, scores: Mapping[str, Score], signatures: Sequence[str]
) -> None:
    """The response, then each metric's score with what it rests on."""
    console = _console()
    for turn in example.history:
        console.print(Text("history    ", style="dim") + _text(turn))
    console.print(Text("knowledge  ", style="dim") + _text(example.knowledge))
    console.print(Text("response   ", style="dim") + _marked(example, scores))
    for name, score in scores.items():
        console.print()
        console.print(_headline(name, score))
        comparisons = [item for item in score.because if isinstance(item, Comparison)]
        sentences = [item for item in score.because if isinstance(item, Evidence)]
        parts = [item for item in score.because if isinstance(item, Part)]
        if comparisons:
            console.print(_questions(comparisons))
        if sentences:
            console.print(_sentences(sentences))
        if parts:
            console.print(_parts(parts))
    console.print()
    _print_signatures(console, signatures)


def print_presets(presets: Sequence[Preset]) -> None:
    """A block for each preset: what it is, what it needs, the models of its stages."""
    from q2_metric.models.presets import Stage

    table = _table()
    table.add_column("preset", no_wrap=True)
    table.add_column("stage", no_wrap=True)
    table.add_column("model")
    for preset in presets:
        needs = f"needs q2-metric[{preset.extra}]" if preset.extra else "no extra"
        needs += ", downloads models" if preset.needs_network else ", offline"
        table.add_row(Text(preset.name, style="bold"), "", f"{preset.description} ({needs})")
        for field in dataclasses.fields(preset):
            if isinstance(stage := getattr(preset, field.name), Stage):
                table.add_row("", field.name, stage.model or stage.kind)
    _console().print(table)


def print_data_sets(sets: Sequence[tuple[DataSet, str]]) -> None:
    """A line for each data set with its state."""
    table = _table()
    table.add_column("name", no_wrap=True)
    for title in ("state", "description", "licence"):
        table.add_column(title)
    for dataset, state in sets:
        if state == "missing":
            state = "not fetched" if dataset.published else "not published"
        table.add_row(dataset.name, state, dataset.description, dataset.licence)
    _console().print(table)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """A table of texts, with a line above it where there is a title."""
    table = _table()
    for name in titles:
        table.add_column(name, overflow="fold")  # an id that is cut names nothing
    for row in rows:
        table.add_row(*(_text(cell) for cell in row))
    if title:
        _console().print(Text(plain(title), style="bold"), soft_wrap=True)
    _console().print(table)


@contextmanager
def progress_bar(title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr; yields the function that moves it by so many rows."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(plain(title), total=total)
        yield lambda rows: bar.advance(task, rows)


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def _table() -> Table:
    return Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))


def _text(text: str) -> Text:
    return Text(plain(text))


def _title(name: str) -> Text:
    return _text(of_column(name)[1].title)


def _system_cells(system: SystemScore) -> list[str]:
    interval = NONE
    if system.interval is not None:
        low, high = system.interval
        interval = f"{low:.3f} … {high:.3f}"
    return [
        _value(system.value),
        interval,
        _percent(system.coverage),
        _percent(system.no_answer_rate),
        str(system.n),
        NONE if system.n_questions is None else str(system.n_fallback),
    ]


def _value(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"


def _print_signatures(console: Console, signatures: Sequence[str]) -> None:
    for line in signatures:
        console.print(Text(plain(line), style="dim"), soft_wrap=True)


def _marked(example: Example, scores: Mapping[str, Score]) -> Text:
    """The response, with the spans that were asked about underlined."""
    text = _text(example.response)
    for item in (item for score in scores.values() for item in score.because):
        if isinstance(item, Comparison):
            span = item.question.span
            end = span.start + len(span.text)
            # Places are those of the resolved response where coreference was resolved.
            if example.response[span.start : end] == span.text:
                text.stylize("underline", span.start, end)
    return text


def _headline(name: str, score: Score) -> Text:
    line = _title(name) + f"  {_value(score.value)}"
    line.stylize("bold")
    if score.no_nli is not None:
        line.append(f"  (without NLI {_value(score.no_nli)})", style="not bold")
    if score.fallback:
        line.append("  no valid question: end-to-end NLI", style="not bold")
    if score.reason == "no_claim":
        line.append("  claims nothing that could be checked", style="not bold")
    if score.verdict is not None:
        line.append(f"  {_judged(score.verdict)}", style="not bold")
    return line


def _questions(comparisons: Sequence[Comparison]) -> Table:
    table = _table()
    for title in ("span", "question", "in the response", "in the knowledge", "compared"):
        table.add_column(title)
    table.add_column("score", justify="right", no_wrap=True)
    for item in comparisons:
        answer = item.knowledge_answer
        table.add_row(
            _text(item.question.span.text),
            _text(item.question.text),
            _text(item.response_answer),
            Text(NONE) if answer is None else _text(answer),
            _compared(item),
            _value(item.score),
        )
    return table


def _compared(item: Comparison) -> str:
    how = {"equal": "equal", "nli": "", "token_f1": "token F1", "no_answer": "no answer"}[item.how]
    return ", ".join(part for part in (_judged(item.verdict), how) if part)


def _judged(verdict: Verdict | None) -> str:
    return f"{verdict.label} {getattr(verdict, verdict.label):.2f}" if verdict else ""


def _sentences(sentences: Sequence[Evidence]) -> Table:
    table = _table()
    table.add_column("sentence")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("best support in the knowledge")
    table.add_column("score", justify="right", no_wrap=True)
    for item in sentences:
        support = Text(NONE) if item.support is None else _text(item.support)
        table.add_row(_text(item.sentence), _value(item.score), support, _value(item.support_score))
    return table


def _parts(parts: Sequence[Part]) -> Table:
    table = _table()
    table.add_column("rests on")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("moves the score", justify="right", no_wrap=True)
    for item in parts:
        table.add_row(_text(item.name), _value(item.value), f"{item.pull:+.3f}")
    return table
