"""Finds the response and the knowledge in the records of evaluation frameworks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from q2_metric.errors import InputError
from q2_metric.integrations.judge import Judge, Judged
from q2_metric.scoring import given
from q2_metric.types import Example


@dataclass
class RecordJudge:
    """Judges one output at a time. A copy in another process loads its own models.

    Args:
        metrics: as for :class:`~q2_metric.integrations.judge.Judge`.
        knowledge: the field with the knowledge: a text or a list of passages. The output is
            searched first, then the other records.
        response: the field with the response, if the output is not a text itself.
        settings: ``preset``, ``device`` and the settings of the metrics; also ``no_claim``.

    Raises:
        InputError: a metric, keyword or value is unknown; later, a record lacks a field.
    """

    metrics: str = "groundedness"
    knowledge: str = "knowledge"
    response: str = "answer"
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chosen = dict(self.settings)
        self._judge = Judge(self.metrics, chosen.pop("no_claim", None), chosen, evidence=True)

    @property
    def signature(self) -> str:
        return self._judge.signature

    def judged(self, output: object, others: Sequence[object]) -> Judged:
        [judged] = self._judge([self._row(output, others)])
        return judged

    def _row(self, output: object, others: Sequence[object]) -> Example:
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
        return given(output, known[0], None, "this output")
