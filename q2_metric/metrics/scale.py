"""SCALE: judges whether large chunks of the knowledge imply each claim of the response.

Lattimer et al., "Fast and Accurate Factual Inconsistency Detection Over Long Documents", EMNLP
2023 (arXiv 2310.13189).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from q2_metric.errors import InputError
from q2_metric.metrics import judgements
from q2_metric.metrics.citing import with_citations
from q2_metric.metrics.claims import as_read, claims_only, short_answers, unclaimed
from q2_metric.metrics.passages import Search, TreeDivision, nearest
from q2_metric.metrics.ruled import ruled, supports
from q2_metric.metrics.scale_settings import ScaleSettings as ScaleSettings
from q2_metric.metrics.settings import check_labels, check_stages, settings_and_runtime
from q2_metric.metrics.signature import signature
from q2_metric.text.claims import has_claim
from q2_metric.text.markup import squeezed, unmarked
from q2_metric.text.nearest import WordIndex
from q2_metric.text.sentences import RuleSentences
from q2_metric.text.values import in_notation_of
from q2_metric.text.windows import chunks, sentence_chunks
from q2_metric.types import (
    Backbone,
    Claim,
    ClaimFinder,
    Entailment,
    Example,
    Judgement,
    PromptBackbone,
    Score,
    SentenceSplitter,
    Verdict,
)

NEUTRAL_WEIGHT = 0.1
"""The weight w in a claim's support e / (e + c + w * n) with ``support="consistent"``, where e, c
and n are the probabilities of entailment, contradiction and neutral. With w = 0, the support of an
unrelated claim would depend on two tiny probabilities. With w = 1, it would be e."""

_Pair = tuple[str, str]
"""A premise and a claim."""
_Best = tuple[Verdict, tuple[int, int]]
"""The verdict of the chunk that supports a claim best, and this chunk's character range."""
_Claimed = tuple[int, Claim]
"""The index of an example, and a claim in its response."""


class _ChunkPair(NamedTuple):
    """A pair of a chunk's text and a claim, and the chunk's character range in the knowledge."""

    pair: _Pair
    place: tuple[int, int]


class Scale:
    """Scores a response by whether chunks of the knowledge entail its claims.

    Args:
        backbone: the entailment model that judges whether a chunk supports a claim.
        sentences: cuts texts into sentences.
        settings: the settings; the defaults are the paper's.
        preset: name of the preset that is written into the signature.
        chooser: the model that chooses the chunks to judge, if ``judged_chunks`` is not 0.
        claims: finds the claims in responses, if ``unit`` is "claim".

    Raises:
        InputError: the settings do not fit the backbone or the other stages.
    """

    name = "scale"

    def __init__(
        self,
        backbone: Backbone,
        sentences: SentenceSplitter,
        settings: ScaleSettings | None = None,
        preset: str = "custom",
        chooser: Entailment | None = None,
        claims: ClaimFinder | None = None,
    ) -> None:
        check_stages(("backbone", backbone, "judge"), ("sentences", sentences, "split"))
        self.backbone, self.sentences = backbone, sentences
        self.settings = settings or ScaleSettings()
        self.chooser = chooser if self.settings.judged_chunks else None
        self.rates_chat = self.settings.support == "attributable" and self.settings.unit == "claim"
        self.scores_all = self.settings.chat == "score" or self.rates_chat
        self.claims = claims if self.settings.unit == "claim" else None
        self.reads_question = self.claims is not None
        by_prompt = self.settings.chunking == "prompt"
        if by_prompt and not isinstance(backbone, PromptBackbone):
            raise InputError(f"{backbone.name} has no prompt: use chunking='knowledge'")
        if self.settings.judged_chunks and chooser is None:
            raise InputError("judged_chunks needs a chooser; Scale.from_preset loads one")
        if self.settings.unit == "claim" and claims is None:
            raise InputError("unit='claim' needs claims, a ClaimFinder; Scale.from_preset loads it")
        self.signature = signature("scale", {
            "preset": preset,
            "backbone": backbone.name,
            "prompt": backbone.prompt or "pair",
            "chunk": self.settings.chunk_size,
            "overlap": self.settings.overlap,
            **({} if self.settings.chunking == "knowledge" else
               {"chunking": self.settings.chunking}),
            **self.signed_chunks(),
            **self.signed_unit(),
            "aggregate": self.settings.aggregate,
            **({"support": "consistent"} if self.settings.support == "consistent" else {}),
            **({"chat": self.settings.chat} if self.settings.chat != "keep" else {}),
            **({"markup": "skip"} if self.settings.markup == "skip" else {}),
            **self.settings.signed_rules(),
        })

    def signed_unit(self) -> dict[str, object]:
        """The entries for the setting ``unit`` in the signature (the line that records a metric's
        settings); empty for sentences."""
        if self.settings.unit == "sentence":
            return {}
        return {"unit": self.settings.unit, **({"claims": self.claims.name} if self.claims else {})}

    def signed_chunks(self) -> dict[str, object]:
        """The entries in the signature (the line that records a metric's settings) that say how the
        chunks for each claim are chosen."""
        signed: dict[str, object] = {}
        if self.settings.top_chunks:
            signed["top"] = self.settings.top_chunks
        if self.chooser:
            signed |= {"judged": self.settings.judged_chunks, "chooser": self.chooser.name}
        return signed

    @classmethod
    def from_preset(
        cls,
        preset: str = "bundled",
        *,
        scale_model: str | None = None,
        **keywords: Any,
    ) -> Scale:
        """Creates the metric with a preset's backbone, or with ``scale_model`` instead.

        Args:
            preset: name of a preset, as for :meth:`Q2.from_preset`.
            scale_model: a Hub name or local folder: a Yes/No sequence-to-sequence model or any NLI
                cross-encoder.
            keywords: fields of :class:`~q2_metric.runtime_config.RuntimeConfig` and of
                :class:`ScaleSettings`. The defaults of the settings are the preset's, or the
                paper's if ``scale_model`` is given.

        Raises:
            InputError, MissingExtra, ModelError: as for :meth:`Q2.from_preset`.
        """
        from q2_metric.models import presets, stages
        from q2_metric.models.english.claims import EnglishClaims

        models = presets.preset(preset)
        chosen, config = settings_and_runtime(
            ScaleSettings, keywords, models.settings("scale", scale_model))
        backbone = stages.load_backbone(
            models, scale_model, config, prompt=chosen.prompt,
            labels=check_labels(chosen.nli_labels))
        chooser = stages.load_chooser(config) if chosen.judged_chunks else None
        claims = EnglishClaims() if chosen.unit == "claim" else None
        return cls(backbone, RuleSentences(), chosen, models.name, chooser, claims)

    @claims_only
    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        """A score in [0, 1] for each example, in order.

        ``Score.evidence`` holds each claim's judgement; ``evidence=True`` adds the sentence of the
        knowledge that decided it. The value is ``None`` if a text contains no sentence.
        """
        read = [(example, None) if self.settings.markup == "keep" else as_read(example)
                for example in examples]
        chat = {seen for seen, _ in read if self.rates_chat and unclaimed(seen, with_question=True)}
        unique = list(dict.fromkeys(seen for seen, _ in read if seen not in chat))
        claims = [(i, claim) for i, some in enumerate(self._claims(unique)) for claim in some]
        judged: list[list[Judgement]] = [[] for _ in unique]
        places: list[tuple[int, int]] = []
        known: dict[_Pair, Verdict] = {}
        best_chunks = self._judge_chunks(unique, claims, known)
        for (i, claim), best in zip(claims, best_chunks, strict=True):
            if best is not None:
                verdict, place = best
                support = self._read(verdict)
                judged[i].append(Judgement(claim, support, judgements.decision(verdict, support)))
                places.append(place)
        if self.settings.values == "value":
            judged = ruled(unique, judged, places)
        if evidence:
            judged = self._with_passages(unique, judged, places, known)
        totals = {
            example: self._total(example, claimed)
            for example, claimed in zip(unique, judged, strict=True)
        } | {example: judgements.nothing_claimed(example) for example in chat}
        scores = [judgements.as_written(totals[seen], example, excerpt)
                  for (seen, excerpt), example in zip(read, examples, strict=True)]
        return with_citations(scores, self._supported) if evidence else scores

    def _supported(self, pairs: Sequence[_Pair]) -> list[float]:
        """For each (passage, claim) pair, the support of the claim by the passage's best chunk."""
        skip, by_value = self.settings.markup == "skip", self.settings.values == "value"
        known = [(unmarked(text) if skip else text, claim) for text, claim in pairs]
        cut = [[(text[a:b], in_notation_of(text, claim) if by_value else claim)
                for a, b in self._cut(text)] for text, claim in known]
        verdicts = iter(self._judge([pair for some in cut for pair in some], {}))
        best = [max((self._read(next(verdicts)) for _ in some), default=0.0) for some in cut]
        return supports(known, best) if by_value else best

    def _said(self, example: Example, claim: Claim) -> str:
        """The text of a claim as the backbone reads it."""
        if self.settings.values == "text":
            return claim.text
        return in_notation_of(example.knowledge, claim.text)

    def _claims(self, examples: Sequence[Example]) -> list[list[Claim]]:
        """The claims, sentences or whole response (setting ``unit``) to judge in each example."""
        chosen = self.settings
        if self.claims and chosen.support == "consistent":
            return self.claims.find(examples)
        if chosen.unit == "response":
            return [[Claim(e.response, 0, len(e.response))] for e in examples]
        split = self.sentences.split([example.response for example in examples])
        shown = squeezed if chosen.markup == "skip" else str
        sentences = [[Claim(shown(example.response[start:end]), start, end)
                      for start, end in bounds]
                     for example, bounds in zip(examples, split, strict=True)]
        if self.claims:
            short = short_answers(examples, self.claims)
            return [short.get(example, whole)
                    for example, whole in zip(examples, sentences, strict=True)]
        if chosen.chat != "skip":
            return sentences
        return [
            [claim for claim in some if has_claim(claim.text, example.history)] or some
            for example, some in zip(examples, sentences, strict=True)
        ]

    def _read(self, verdict: Verdict) -> float:
        """Computes the support of a claim, in [0, 1], from the model's verdict on it."""
        e, n, c = verdict.entailment, verdict.neutral, verdict.contradiction
        if self.settings.support == "attributable" or c == 0:  # c is 0 for Yes/No models
            return e
        return e / (e + c + NEUTRAL_WEIGHT * n)

    def _judge_chunks(
        self, examples: Sequence[Example], claims: Sequence[_Claimed],
        known: dict[_Pair, Verdict],
    ) -> list[_Best | None]:
        """For each claim, the verdict and character range of its best chunk (section 3.1)."""
        if self.settings.chunking == "prompt":
            return self._judge_documents(examples, claims)
        cut = {e.knowledge: self._cut(e.knowledge) for e in examples}
        parts = {text: WordIndex([text[a:b] for a, b in places]) for text, places in cut.items()
                 if 0 < self.settings.top_chunks < len(places)}
        asked: list[list[_ChunkPair]] = []
        for i, claim in claims:
            text = examples[i].knowledge
            places = cut[text]
            if text in parts:
                near = parts[text].nearest(claim.text, self.settings.top_chunks)
                places = [places[at] for at in near]
            said = self._said(examples[i], claim)
            asked.append([_ChunkPair((text[a:b], said), (a, b)) for a, b in places])
        if self.chooser:
            asked = self._chosen(asked, self.chooser)
        verdicts = iter(self._judge([chunk.pair for some in asked for chunk in some], known))
        return [
            max(((next(verdicts), chunk.place) for chunk in some),
                key=lambda best: self._read(best[0]), default=None)
            for some in asked
        ]

    def _chosen(
        self, asked: Sequence[list[_ChunkPair]], chooser: Entailment) -> list[list[_ChunkPair]]:
        """For each claim, those ``judged_chunks`` chunks that the model ``chooser`` finds most
        supportive. Of chunks with equal support, the earlier is chosen."""
        most = self.settings.judged_chunks
        pairs = [chunk.pair for some in asked if len(some) > most for chunk in some]
        judged = dict(zip(pairs, self._judge(pairs, {}, chooser), strict=True))
        return [
            sorted(some, key=lambda chunk: -self._read(judged[chunk.pair]))[:most]
            if len(some) > most else some
            for some in asked
        ]

    def _judge(
        self, pairs: Sequence[_Pair], known: dict[_Pair, Verdict], model: Entailment | None = None
    ) -> list[Verdict]:
        """The verdict of ``model`` (default: the backbone) on each pair. Pairs in ``known`` are not
        judged again, and new verdicts are added to ``known``."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if new:
            known.update(zip(new, (model or self.backbone).judge(new), strict=True))
        return [known[pair] for pair in pairs]

    def _cut(self, text: str) -> list[tuple[int, int]]:
        """Cuts a text into chunks, and returns their character ranges."""
        if self.settings.chunking == "sentences":
            return sentence_chunks(text, self.sentences.split([text])[0], self.settings.chunk_size)
        return chunks(self.backbone.offsets(text), self.settings.chunk_size,
                      self.settings.overlap)

    def _judge_documents(
        self, examples: Sequence[Example], claims: Sequence[_Claimed]
    ) -> list[_Best | None]:
        """Like :meth:`_judge_chunks`, but the backbone cuts the knowledge itself. The returned
        character range is that of the whole knowledge."""
        backbone = cast("PromptBackbone", self.backbone)
        pairs = [(examples[i].knowledge, self._said(examples[i], claim)) for i, claim in claims]
        asked = list(dict.fromkeys(pair for pair in pairs if pair[0].strip()))
        judged = dict(zip(
            asked,
            backbone.judge_long(asked, self.settings.chunk_size, self.settings.overlap),
            strict=True,
        ))
        return [(judged[pair], (0, len(pair[0]))) if pair in judged else None
                for pair in pairs]

    def _with_passages(
        self, examples: Sequence[Example], judged: Sequence[list[Judgement]],
        places: Sequence[tuple[int, int]], known: dict[_Pair, Verdict],
    ) -> list[list[Judgement]]:
        """Adds to each judgement the sentence of the knowledge that decided it (section 3.2).

        ``places`` contains the character range of the best chunk of each judgement, in order.
        """
        split = self.sentences.split([example.knowledge for example in examples])
        searches = [(i, judgement) for i, some in enumerate(judged) for judgement in some]
        units = [
            [(start, end) for start, end in split[i]
             if not self.settings.top_chunks or (start < place[1] and end > place[0])]
            for (i, _), place in zip(searches, places, strict=True)
        ]
        if self.settings.unit == "claim":
            units = [nearest(examples[i].knowledge, bounds, judgement.claim.text)
                     for (i, judgement), bounds in zip(searches, units, strict=True)]
        # The small network, if there is one, finds the sentence. Then the backbone judges it.
        search = Search([examples[i].knowledge for i, _ in searches], [j for _, j in searches],
                        [self._said(examples[i], j.claim) for i, j in searches], units)
        decided = search.deciding(
            lambda pairs: self._judge(pairs, {} if self.chooser else known, self.chooser),
            self._read,
            None if self.settings.unit == "claim" else self._tree(examples, searches, units))
        verdicts = iter(self._judge([pair for pair in search.pairs(decided) if pair], known))
        with_passages: list[list[Judgement]] = [[] for _ in examples]
        for (i, judgement), place in zip(searches, decided, strict=True):
            if place:
                support = self._read(next(verdicts))
                judgement = judgements.decided(judgement, examples[i].knowledge, place, support)
            with_passages[i].append(judgement)
        return with_passages

    def _tree(
        self, examples: Sequence[Example], searches: Sequence[tuple[int, Judgement]],
        units: Sequence[Sequence[tuple[int, int]]],
    ) -> TreeDivision:
        """How a tree search divides the sentences of each search (``units``: character ranges)."""
        starts = [[start for start, _ in self.backbone.offsets(e.knowledge)] for e in examples]
        sizes = [
            [bisect_left(starts[i], end) - bisect_left(starts[i], start) for start, end in bounds]
            for (i, _), bounds in zip(searches, units, strict=True)
        ]
        return TreeDivision(sizes, self.settings.branches, self.settings.chunk_size)

    def _supports(self, judged: Sequence[Judgement]) -> list[float]:
        """The supports from which the score is computed. A repeated claim counts once. A repeated
        sentence counts each time, as in the paper."""
        once = self.settings.unit == "claim"
        return judgements.distinct(judged) if once else [judgement.support for judgement in judged]

    def _total(self, example: Example, claims: Sequence[Judgement]) -> Score:
        if not claims and self.rates_chat:
            return judgements.nothing_claimed(example)
        value = judgements.aggregate(self._supports(claims), self.settings.aggregate)
        return Score(example, value, tuple(claims),
                     reason="no_claim" if self.claims and not claims else None)
