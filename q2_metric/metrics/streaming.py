"""Judges the claims of a response while it is still being written."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from q2_metric.english.claims.short_answers import is_short
from q2_metric.errors import InputError
from q2_metric.metrics.claims import check_examples
from q2_metric.text.sentences import split_sentences
from q2_metric.types import Claim, Example, Judgement, Score

if TYPE_CHECKING:
    from q2_metric.metrics.groundedness import Groundedness


class Stream:
    """A response that arrives in pieces. A claim is judged when its sentence is complete: when the
    first word of the next sentence is, because this word can tell that the sentence goes on.

    :attr:`score` is the score of the whole response, after :meth:`end`. It counts the claims that
    the whole response has. These are the claims that were judged before, unless a later part
    changes how an earlier part is read, such as the end of a table.

    Raises InputError if the knowledge is no text.
    """

    score: Score | None = None

    def __init__(self, metric: Groundedness, knowledge: str | Example) -> None:
        example = knowledge if isinstance(knowledge, Example) else Example("", knowledge)
        check_examples([example])
        self.example = replace(example, response="")
        self._metric, self._scale = metric, copy(metric.scale)
        self._scale.units = self._new  # type: ignore[method-assign]
        self._text, self._seen, self._complete = "", 0, 0
        self._claims: list[Claim] = []
        self._judged: dict[Claim, Judgement] = {}

    def add(self, text: str) -> list[Judgement]:
        """The judgements of the claims that this piece completes, each with the sentence that
        decided it. Offsets are in the whole response so far. InputError: :meth:`end` was called."""
        if self.score is not None:
            raise InputError("the stream has ended; start another")
        self._text += text
        complete = self._end_of_sentences()
        # A response such as "Yes." is read with its question only if nothing follows.
        if complete <= self._complete or (self.example.question and is_short(self._text)):
            return []
        self._complete = complete
        return self._judge(replace(self.example, response=self._text[:complete], question=None))[1]

    def end(self) -> list[Judgement]:
        """The judgements of the remaining claims."""
        self._complete = len(self._text)
        score, new = self._judge(replace(self.example, response=self._text))
        if self._claims:
            judged = [self._judged[one] for one in self._claims]
            if any(one.citation for one in judged):  # perhaps only later claims cite something
                judged = [replace(one, citation=one.citation or "none") for one in judged]
            score = self._scale.total(score.example, judged)
        [self.score] = self._metric.of([score])
        return new

    def _end_of_sentences(self) -> int:
        """Where the last sentence begins of which a word is complete, if a blank was added."""
        words = max(self._text.rfind(blank) for blank in " \n\t") + 1
        if words <= self._seen:
            return 0
        self._seen = words
        found = [(start, end) for start, end in split_sentences(self._text[:words])
                 if any(map(str.isalnum, self._text[start:end]))]
        # What ends with a colon may introduce a list or a table.
        while len(found) > 1 and self._text[slice(*found[-2])].endswith(":"):
            found.pop()
        return found[-1][0] if found else 0

    def _judge(self, example: Example) -> tuple[Score, list[Judgement]]:
        self._claims = []
        [score] = self._scale.score([example], evidence=True)
        new = [one for one in score.evidence
               if isinstance(one, Judgement) and one.claim in self._claims]
        self._judged |= {one.claim: one for one in new}
        return score, new

    def _new(self, examples: Sequence[Example]) -> list[list[Claim]]:
        """The claims of the one example that were not judged before."""
        [self._claims] = self._metric.scale.units(examples)
        return [[one for one in self._claims if one not in self._judged]]
