"""SCALE: judges whether large chunks of the knowledge imply each sentence of the response.

Lattimer et al., "Fast and Accurate Factual Inconsistency Detection Over Long Documents", EMNLP 2023
(arXiv 2310.13189).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, cast

from q2_metric.errors import InputError
from q2_metric.memory import remembered
from q2_metric.metrics import judgements
from q2_metric.metrics.claims import gated, reads
from q2_metric.metrics.entry import named
from q2_metric.metrics.settings import (
    ScaleSettings,
    check_labels,
    check_stages,
    settings_and_runtime,
)
from q2_metric.metrics.signature import signature
from q2_metric.text.excerpts import Excerpt
from q2_metric.text.overlap import WordIndex
from q2_metric.text.sentences import split_sentences
from q2_metric.text.windows import UnitRange, chunks, sentence_chunks, tree_search
from q2_metric.types import Backbone, Claim, Example, Judgement, PromptBackbone, Score, Verdict

BUNDLED = "q2_metric.metrics.bundled_scale:BundledScale"
NO_ENDPOINT = "escalate needs an endpoint: scale_model=openai:MODEL@URL"
Pair = tuple[str, str]
"""A premise and a claim."""
Place = tuple[int, int]
"""A character range of the knowledge."""
Claimed = tuple[int, Claim]
"""The index of an example, and a claim in its response."""
Judged = list[list[Judgement]]
"""The judgements of the claims of each example, in order."""


class Known(dict[Pair, Verdict]):
    """The verdicts in one run, those of the backbone's first model alone (``first``), and those of
    all its models on a text as it stands (``whole``)."""

    def __init__(self) -> None:
        super().__init__()
        self.first: dict[Pair, Verdict] = {}
        self.whole: dict[Pair, Verdict] = {}


class ChunkPair(NamedTuple):
    pair: Pair
    place: Place


class Scale:
    """Scores a response by whether chunks of the knowledge entail its sentences. Raises
    ``InputError`` if the settings do not fit the backbone."""

    name = "scale"
    reads_question = False

    def __init__(
        self, backbone: Backbone, settings: ScaleSettings | None = None, preset: str = "custom",
        escalation: Escalation | None = None,
    ) -> None:
        check_stages(("backbone", backbone, "judge"))
        self.backbone, self.escalation = backbone, escalation
        self.settings = settings or ScaleSettings()
        self.scores_all = self.settings.recipe == "authors"
        if self.settings.chunking == "prompt" and not isinstance(backbone, PromptBackbone):
            raise InputError(f"{backbone.name} has no prompt: use chunking='knowledge'")
        if self.settings.escalate and escalation is None:
            raise InputError(NO_ENDPOINT)
        self.signature = signature(self.name, {
            "preset": preset, "backbone": backbone.name, "prompt": backbone.prompt or "pair",
            "chunk": self.settings.chunk_size, "overlap": self.settings.overlap,
            **self.signed()})

    def signed(self) -> dict[str, object]:
        """What determines how a claim is judged, for signatures."""
        chosen = self.settings
        further = {"recipe": "paper", "chunking": "knowledge", "unit": "sentence", "top_chunks": 0,
                   "support": "attributable", "escalate": None}
        return {"backbone": self.backbone.name, "chunk": chosen.chunk_size,
                **{name: getattr(chosen, name) for name, paper in further.items()
                   if getattr(chosen, name) != paper},
                **({"escalated_to": self.escalation.signed} if self.escalation else {})}

    @classmethod
    def from_preset(
        cls, preset: str = "bundled", *, scale_model: str | None = None, **keywords: Any
    ) -> Scale:
        """Creates the metric with a preset's backbone, or with ``scale_model``: a Hub name or local
        folder of a Yes/No sequence-to-sequence model or of any NLI cross-encoder. Settings that are
        not given are the preset's, or the paper's if ``scale_model`` is given. With ``escalate``,
        ``scale_model`` is an endpoint and replaces nothing.

        Raises:
            InputError, MissingExtra, ModelError: as for :func:`~q2_metric.metrics.load_metrics`.
        """
        from q2_metric.models import presets, stages

        models, escalation = presets.preset(preset), None
        twice = keywords.get("escalate") is not None and presets.is_endpoint(scale_model)
        second, scale_model = (scale_model, None) if twice else (None, scale_model)
        chosen, config = settings_and_runtime(
            ScaleSettings, keywords, models.settings("scale", scale_model))
        if chosen.band is not None:
            if second is None:  # said before a model is loaded
                raise InputError(NO_ENDPOINT)
            judge = stages.load_backbone(models, second, prompt=chosen.prompt)
            escalation = Escalation(Scale(judge), *chosen.band, stages.load_counter(second))
        backbone = stages.load_backbone(
            models, scale_model, config, prompt=None if escalation else chosen.prompt,
            labels=check_labels(chosen.nli_labels), chunk_size=chosen.chunk_size)
        recipe: type[Scale] = named(BUNDLED) if chosen.recipe == "bundled" else cls
        metric = recipe(backbone, chosen, models.name, escalation)
        metric.scores_all = metric.scores_all or (models.scores_all and recipe is cls)
        return reads(metric, config)

    @gated
    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        """Scores in [0, 1]: the mean support of the claims, ``None`` without a sentence.
        ``evidence=True`` adds the sentence that decided each claim, and judges citations."""
        read = [self.prepare(example) for example in examples]
        unique = list(dict.fromkeys(seen for seen, _ in read))
        claims = [(i, claim) for i, some in enumerate(self.units(unique)) for claim in some]
        known = Known()
        judged, places = self.judged(unique, claims, known)
        judged = self.review(unique, judged)
        if self.escalation:
            judged = self.escalation.review(unique, judged)
        judged = self._with_passages(unique, judged, places, known) if evidence else [
            [self.confirmed(one, None) for one in some] for some in judged]
        totals = {example: self.total(example, claimed)
                  for example, claimed in zip(unique, judged, strict=True)}
        scores = [judgements.as_written(totals[seen], example, excerpt)
                  for (seen, excerpt), example in zip(read, examples, strict=True)]
        return judgements.with_citations(scores, self.supports) if evidence else scores

    # The steps that a recipe can replace.

    def prepare(self, example: Example) -> tuple[Example, Excerpt | None]:
        """The second result maps the places of a rewritten knowledge to those of the original."""
        return example, None

    def units(self, examples: Sequence[Example]) -> list[list[Claim]]:
        """What is judged at a time in each response: sentences, or the whole response."""
        if self.settings.recipe == "authors" or self.settings.unit == "response":
            return [[Claim(e.response, 0, len(e.response))] for e in examples]
        return [[Claim(e.response[start:end], start, end)
                 for start, end in split_sentences(e.response)] for e in examples]

    def said(self, knowledge: str, claim: Claim) -> str:
        """The text of a claim as the backbone reads it."""
        return claim.text

    def chosen(self, chunks: Sequence[list[ChunkPair]], known: Known) -> Sequence[list[ChunkPair]]:
        """Of the chunks for each claim, those that the backbone judges."""
        return chunks

    def review(self, examples: Sequence[Example], judged: Judged) -> Judged:
        return judged

    def deciding(self, searches: Sequence[Search], known: Known) -> list[Place | None]:
        """By a tree search (section 3.2)."""
        starts = {text: [start for start, _ in self.backbone.offsets(text)]
                  for text in {one.knowledge for one in searches}}
        sizes = [
            [bisect_left(starts[one.knowledge], end) - bisect_left(starts[one.knowledge], start)
             for start, end in one.units] for one in searches]

        def judge(parts: Sequence[UnitRange]) -> list[float]:
            pairs = []
            for part in parts:
                one = searches[part.search]
                pairs.append(one.pair(one.units[part.first][0], one.units[part.last - 1][1]))
            return [verdict.entailment for verdict in self.judge(pairs, known)]

        best = tree_search(sizes, judge, self.settings.branches, self.settings.chunk_size)
        return [None if at is None else one.units[at]
                for at, one in zip(best, searches, strict=True)]

    def of_passages(
        self, judged: Sequence[tuple[Judgement, Pair]], known: Known
    ) -> list[Verdict]:
        """The verdicts on the passages of the judgements."""
        return self.judge([pair for _, pair in judged], known)

    def confirmed(self, judged: Judgement, found: tuple[str, Verdict] | None) -> Judgement:
        """A judgement after the verdict on its passage; ``None`` if no passage was sought."""
        return judged

    def supports(self, pairs: Sequence[Pair]) -> list[float]:
        """For each (passage, claim) pair, the support of the claim by the passage's best chunk."""
        cut = [[(text[a:b], claim) for a, b in self.cut(text)] for text, claim in pairs]
        verdicts = iter(self.judge([pair for some in cut for pair in some], Known()))
        return [max((next(verdicts).entailment for _ in some), default=0.0) for some in cut]

    def total(self, example: Example, judged: Sequence[Judgement]) -> Score:
        supports = [judgement.support for judgement in judged]
        return Score(example, judgements.mean(supports), tuple(judged))

    # The paper's computation.

    def cut(self, text: str) -> list[Place]:
        if self.settings.chunking == "sentences":
            return sentence_chunks(text, split_sentences(text), self.settings.chunk_size)
        return chunks(self.backbone.offsets(text), self.settings.chunk_size, self.settings.overlap)

    def judge(self, pairs: Sequence[Pair], known: Known) -> list[Verdict]:
        """The verdicts of the backbone. New ones are added to ``known``."""
        return remembered(self.backbone.judge, pairs, known)

    def judged(
        self, examples: Sequence[Example], claims: Sequence[Claimed], known: Known,
    ) -> tuple[Judged, list[Place]]:
        """The judgements, and the best chunk of each (section 3.1)."""
        found = (self._judged_in_windows(examples, claims) if self.settings.chunking == "prompt"
                 else self._judged_in_chunks(examples, claims, known))
        judged: Judged = [[] for _ in examples]
        places: list[Place] = []
        for (i, claim), best in zip(claims, found, strict=True):
            if best is not None:
                verdict, place = best
                judged[i].append(Judgement(claim, verdict.entailment, judgements.decision(verdict)))
                places.append(place)
        return judged, places

    def _judged_in_chunks(
        self, examples: Sequence[Example], claims: Sequence[Claimed], known: Known,
    ) -> list[tuple[Verdict, Place] | None]:
        cut = {e.knowledge: self.cut(e.knowledge) for e in examples}
        parts = {text: WordIndex([text[a:b] for a, b in places]) for text, places in cut.items()
                 if 0 < self.settings.top_chunks < len(places)}
        asked: list[list[ChunkPair]] = []
        for i, claim in claims:
            text = examples[i].knowledge
            places = cut[text]
            if text in parts:
                near = parts[text].nearest(claim.text, self.settings.top_chunks)
                places = [places[at] for at in near]
            said = self.said(text, claim)
            asked.append([ChunkPair((text[a:b], said), (a, b)) for a, b in places])
        judged = self.chosen(asked, known)
        verdicts = iter(self.judge([chunk.pair for some in judged for chunk in some], known))
        return [max(((next(verdicts), chunk.place) for chunk in some),
                    key=lambda best: best[0].entailment, default=None) for some in judged]

    def _judged_in_windows(
        self, examples: Sequence[Example], claims: Sequence[Claimed]
    ) -> list[tuple[Verdict, Place] | None]:
        """The backbone cuts the knowledge itself, so the place is that of the whole knowledge."""
        backbone = cast("PromptBackbone", self.backbone)
        pairs = [(examples[i].knowledge, self.said(examples[i].knowledge, claim))
                 for i, claim in claims]
        judged: dict[Pair, Verdict] = {}
        remembered(
            lambda new: backbone.judge_long(new, self.settings.chunk_size, self.settings.overlap),
            (pair for pair in pairs if pair[0].strip()), judged)
        return [(judged[pair], (0, len(pair[0]))) if pair in judged else None for pair in pairs]

    def _with_passages(
        self, examples: Sequence[Example], judged: Judged, places: Sequence[Place], known: Known,
    ) -> Judged:
        split = [split_sentences(example.knowledge) for example in examples]
        owners = [i for i, some in enumerate(judged) for _ in some]
        searches = []
        for i, judgement, chunk in zip(owners, chain.from_iterable(judged), places, strict=True):
            text, claim = examples[i].knowledge, judgement.claim
            near = [(start, end) for start, end in split[i]
                    if not self.settings.top_chunks or (start < chunk[1] and end > chunk[0])]
            searches.append(Search(text, judgement, self.said(text, claim),
                                   self.searched(text, claim, near)))
        found = self._decided(searches, known)
        # A judgement that its passage did not confirm gets the nearest sentence.
        again = [i for i, one in enumerate(found) if one.verdict != searches[i].judged.verdict]
        nearer = dict(zip(again, self._decided(
            [replace(searches[i], judged=found[i]) for i in again], known), strict=True))
        with_passages: Judged = [[] for _ in examples]
        for i, owner in enumerate(owners):
            with_passages[owner].append(nearer.get(i, found[i]))
        return with_passages

    def _decided(self, searches: Sequence[Search], known: Known) -> list[Judgement]:
        """The judgements, each with the sentence that decided it."""
        places = self.deciding(searches, known)
        asked = [(one.judged, one.pair(*place))
                 for one, place in zip(searches, places, strict=True) if place]
        verdicts = iter(self.of_passages(asked, known))
        found = []
        for one, place in zip(searches, places, strict=True):
            if place:
                verdict = next(verdicts)
                seen = self.confirmed(one.judged, (one.pair(*place)[0], verdict))
                found.append(judgements.decided(seen, one.knowledge, place, verdict.entailment))
            else:
                found.append(one.judged)
        return found

    def searched(self, knowledge: str, claim: Claim, sentences: list[Place]) -> list[Place]:
        """The sentences in which the evidence for a claim is sought."""
        return sentences


@dataclass(frozen=True, slots=True)
class Search:
    """The search for the sentence that decided a claim. ``said`` is the claim as the model reads
    it, and ``units`` are the places of the sentences that are searched."""

    knowledge: str
    judged: Judgement
    said: str
    units: Sequence[Place]

    def pair(self, start: int, end: int) -> Pair:
        return self.knowledge[start:end], self.said

    @property
    def is_open(self) -> bool:
        """Whether verdicts on the single sentences are needed to choose one of them."""
        return (len(self.units) > 1 and self.judged.verdict != "not found"
                and self.judged.ruling != "contradicted")

    def deciding(self, verdicts: Mapping[Pair, Verdict]) -> Place | None:
        """The place of the sentence that best explains the judgement: the one that contradicts a
        contradicted claim most, shares most words with a claim that is not found or that a rule
        contradicts, and otherwise supports the claim most. ``None`` without sentences."""
        if len(self.units) < 2:
            return next(iter(self.units), None)
        if not self.is_open:
            texts = [self.knowledge[start:end] for start, end in self.units]
            return self.units[WordIndex(texts).nearest(self.said, 1)[0]]
        refuted = self.judged.verdict == "contradicted"

        def strength(place: Place) -> float:
            verdict = verdicts[self.pair(*place)]
            return verdict.contradiction if refuted else verdict.entailment

        return max(self.units, key=strength)


@dataclass(frozen=True, slots=True)
class Escalation:
    """A second judge for the claims about which SCALE's backbone is unsure.

    ``judge`` judges again the claims whose support is from ``low`` to ``high``. ``told`` gets
    the number of these claims and the number of all claims."""

    judge: Scale
    low: float
    high: float
    told: Callable[[int, int], None]

    @property
    def signed(self) -> str:
        return f"{self.judge.backbone.name},{self.judge.backbone.prompt or 'pair'}"

    def review(self, examples: Sequence[Example], judged: Judged) -> Judged:
        """A claim that a rule has decided keeps its judgement."""
        unsure = [(i, one.claim) for i, some in enumerate(judged) for one in some
                  if self._unsure(one)]
        found = [iter(some) for some in self.judge.judged(examples, unsure, Known())[0]]
        self.told(len(unsure), sum(map(len, judged)))
        return [[next(again) if self._unsure(one) else one for one in some]
                for some, again in zip(judged, found, strict=True)]

    def _unsure(self, judged: Judgement) -> bool:
        return judged.ruling is None and self.low <= judged.support <= self.high
