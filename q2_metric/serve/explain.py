"""Scores one answer at a time, and makes the page that shows the scores and their evidence."""

import re
import threading
from collections.abc import Sequence
from typing import Any

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.report.page import explanation
from q2_metric.rows.fields import Layout, output_row
from q2_metric.text.citations import has_labels
from q2_metric.text.given import is_blank
from q2_metric.types import Metric

LONGEST_ANSWER, LONGEST_SOURCES = 20_000, 200_000
"""In characters, of an answer (or question) and of its sources."""


class Explainer:
    """Scores one answer at a time. Several threads may use the same explainer."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self._lock = threading.Lock()

    def row(self, answer: str, sources: str, question: str = "") -> dict[str, Any]:
        """An answer's output row as ``q2 score --out`` writes it, with the texts and the evidence.
        Raises InputError if a text is too long, not Unicode or, except the question, blank."""
        _check("answer", answer, LONGEST_ANSWER)
        _check("sources", sources, LONGEST_SOURCES)
        _check("question", question, LONGEST_ANSWER, blank=True)
        example = scoring.given(answer, passages(sources), None, "this page", question)
        with self._lock:
            [scores] = scoring.score(self.metrics, [example], evidence=True)
        return output_row(0, example, scores, Layout(list(scores), texts=True))

    def page(self, row: dict[str, Any]) -> str:
        """The HTML page of an output row, as ``q2 report`` shows it."""
        return explanation(row, [metric.signature for metric in self.metrics])


def passages(sources: str) -> str | list[str]:
    """Splits pasted sources into passages: at blank lines, or at each line that is not of a table.

    Sources whose passages are already numbered ("[2] …") are returned unchanged.

    >>> passages("One.\\nStill one.\\n\\nTwo."), passages("One.\\n| a | b |\\n| 1 | 2 |")
    (['One.\\nStill one.', 'Two.'], ['One.', '| a | b |\\n| 1 | 2 |'])
    """
    if has_labels(sources):
        return sources
    blocks = [one for one in re.split(r"\n[^\S\n]*\n", sources) if one.strip()]
    if len(blocks) > 1:
        return blocks
    found: list[str] = []
    for line in filter(str.strip, sources.split("\n")):
        in_table = line.lstrip().startswith("|")
        if in_table and found and found[-1].lstrip().startswith("|"):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def _check(name: str, text: str, longest: int, *, blank: bool = False) -> None:
    if is_blank(text) and not blank:
        raise InputError(f"The field “{name}” is empty.")
    if len(text) > longest:
        raise InputError(f"The field “{name}” has {len(text):,} characters; this page takes at "
                         f"most {longest:,}. Use q2 score for longer texts.")
