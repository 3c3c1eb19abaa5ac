"""SCALE for the package's own models (``recipe="bundled"``). The description of the setting
``recipe`` says what differs from the paper."""

import math
from collections.abc import Sequence
from dataclasses import replace

from q2_metric.english.claims.find import EnglishClaims
from q2_metric.english.values.compare import in_notation_of
from q2_metric.memory import remembered
from q2_metric.metrics import judgements
from q2_metric.metrics.claims import as_read, unclaimed
from q2_metric.metrics.rules import bounded, ruling
from q2_metric.metrics.scale import ChunkPair, Escalation, Known, Pair, Place, Scale, Search
from q2_metric.metrics.settings import ScaleSettings
from q2_metric.text.excerpts import Excerpt
from q2_metric.text.markup import squeezed, unmarked
from q2_metric.text.overlap import WordIndex, content_words, known_words
from q2_metric.text.sentences import split_sentences
from q2_metric.types import Backbone, Cascade, Claim, Example, Judgement, Ruling, Score, Verdict

SEARCHED = 5
"""Maximum number of sentences judged for a claim: those that share most words with it."""
FIRST = 0.15
"""The weight of a cascade's first model in its verdicts (docs/results/training.md)."""
NEAREST = 0.15
"""The weight of the sentence nearest to the claim, beside the chunk."""
SAME = 0.5
"""Without this bound, 37 of 99 verdicts "contradicted" are wrong (docs/results/training.md)."""


class BundledScale(Scale):
    """It judges claims, or sentences if ``support`` is "attributable". If the backbone is a
    :class:`~q2_metric.types.Cascade`, its first model chooses what both judge."""

    reads_question = True
    claims = EnglishClaims()

    def __init__(
        self, backbone: Backbone, settings: ScaleSettings | None = None, preset: str = "custom",
        escalation: Escalation | None = None,
    ) -> None:
        self.cascade = backbone if isinstance(backbone, Cascade) else None
        super().__init__(backbone, settings or ScaleSettings(recipe="bundled"), preset, escalation)
        self.scores_all = self.settings.support == "attributable"

    def signed(self) -> dict[str, object]:
        return {**super().signed(), "weights": f"{FIRST},{NEAREST}", "claims": self.claims.name}

    def prepare(self, example: Example) -> tuple[Example, Excerpt]:
        return as_read(example)

    def units(self, examples: Sequence[Example]) -> list[list[Claim]]:
        claimed = self.claims.find(examples)
        if not self.scores_all:
            return claimed
        return [
            claims if not claims or claims[0].kind == "answer" else [] if unclaimed(example) else
            [Claim(squeezed(example.response[start:end]), start, end)
             for start, end in split_sentences(example.response)]
            for example, claims in zip(examples, claimed, strict=True)]

    def said(self, knowledge: str, claim: Claim) -> str:
        return in_notation_of(knowledge, claim.text)

    def judge(self, pairs: Sequence[Pair], known: Known) -> list[Verdict]:
        """The backbone reads the whole premise, and also the sentence nearest to the claim. The
        result is the weighted mean (:data:`NEAREST`)."""
        nearest = dict(zip(pairs, _nearest(pairs), strict=True))
        texts = [*pairs, *nearest.values()]
        self.judge_first(texts, known)
        remembered(lambda new: self._reviewed(new, known), texts, known.whole)
        return remembered(lambda new: [
            _beside(known.whole[nearest[pair]], known.whole[pair]) for pair in new], pairs, known)

    def _reviewed(self, pairs: Sequence[Pair], known: Known) -> list[Verdict]:
        first = [known.first[pair] for pair in pairs]
        return self.cascade.review(pairs, first, FIRST) if self.cascade else first

    def judge_first(self, pairs: Sequence[Pair], known: Known) -> list[Verdict]:
        """The verdicts of the first model of a cascade, or of another backbone."""
        first = self.cascade.first if self.cascade else self.backbone
        return remembered(first.judge, pairs, known.first)

    def chosen(self, chunks: Sequence[list[ChunkPair]], known: Known) -> Sequence[list[ChunkPair]]:
        if self.cascade is None:
            return chunks
        pairs = [chunk.pair for some in chunks if len(some) > 1 for chunk in some]
        self.judge_first(pairs, known)
        return [
            [max(some, key=lambda chunk: known.first[chunk.pair].entailment)]
            if len(some) > 1 else some
            for some in chunks
        ]

    def review(
        self, examples: Sequence[Example], judged: list[list[Judgement]],
    ) -> list[list[Judgement]]:
        return [[_ruled(one, ruling(one.claim.text, example.knowledge)) for one in found]
                for example, found in zip(examples, judged, strict=True)]

    def searched(self, knowledge: str, claim: Claim, sentences: list[Place]) -> list[Place]:
        """Those that share most words with the claim."""
        parts = WordIndex([knowledge[start:end] for start, end in sentences])
        return [sentences[at] for at in parts.nearest(claim.text, SEARCHED)]

    def deciding(self, searches: Sequence[Search], known: Known) -> list[Place | None]:
        """By the verdicts on single sentences."""
        pairs = [one.pair(*place) for one in searches if one.is_open for place in one.units]
        verdicts = dict(zip(pairs, self.judge_first(pairs, known), strict=True))
        return [one.deciding(verdicts) for one in searches]

    def of_passages(
        self, judged: Sequence[tuple[Judgement, Pair]], known: Known
    ) -> list[Verdict]:
        """The second model of a cascade reads a passage only where it can change what users see:
        whether a contradicted claim stays so, and whether one sentence supports a supported one."""
        pairs = [pair for _, pair in judged]
        alone = [_beside(one, one) for one in self.judge_first(pairs, known)]
        self.judge([pair for (one, pair), verdict in zip(judged, alone, strict=True)
                    if one.verdict == "contradicted" or (
                        one.verdict == "supported" and verdict.entailment <= judgements.SUPPORTED)],
                   known)
        return [known.get(pair, verdict) for pair, verdict in zip(pairs, alone, strict=True)]

    def confirmed(self, judged: Judgement, found: tuple[str, Verdict] | None) -> Judgement:
        """Keeps "contradicted" only if a rule says so, or if the passage is about the claim and
        contradicts it by itself."""
        if judged.verdict != "contradicted" or judged.ruling is not None or (
                found and _about(judged.claim, found[0]) and judgements.contradicts(found[1])):
            return judged
        return replace(judged, verdict="not found")

    def supports(self, pairs: Sequence[Pair]) -> list[float]:
        known = [(unmarked(text), claim) for text, claim in pairs]
        noted = [(text, in_notation_of(text, claim)) for text, claim in known]
        return [bounded(support, ruling(claim, text))
                for (text, claim), support in zip(known, super().supports(noted), strict=True)]

    def total(self, example: Example, judged: Sequence[Judgement]) -> Score:
        if not judged and not example.knowledge.strip():  # it has only markup
            return Score(example, None, reason="no_knowledge")
        if not judged and self.scores_all:  # the whole response is its only claim
            whole = Claim(example.response.strip(), 0, len(example.response))
            return Score(example, 0.0, (Judgement(whole, 0.0, "not found"),))
        value = judgements.mean([one.support for one in judgements.distinct(judged)])
        return Score(example, value, tuple(judged), reason=None if judged else "no_claim")


def _nearest(pairs: Sequence[Pair]) -> list[Pair]:
    """Each claim with the sentence of its text that shares most words with it."""
    parts = {text: [text[start:end] for start, end in split_sentences(text)] or [text]
             for text in {text for text, _ in pairs}}
    words = {text: WordIndex(some) for text, some in parts.items()}
    return [(parts[text][words[text].nearest(claim, 1)[0]], claim) for text, claim in pairs]


def _beside(nearest: Verdict, whole: Verdict) -> Verdict:
    """The mean of the verdicts on the nearest sentence, which has the weight :data:`NEAREST`, and
    on the whole premise. A sentence seldom states a whole claim, so the square root of its
    P(entailment) counts, and its other two probabilities shrink in proportion."""
    support = math.sqrt(nearest.entailment)
    neutral, contradiction = (p / (1 + support) for p in (nearest.neutral, nearest.contradiction))
    return Verdict(support, neutral, contradiction).mean(whole, NEAREST)


def _about(claim: Claim, passage: str) -> bool:
    """Whether a passage has more than half (:data:`SAME`) of a claim's content words. Numbers do
    not count: they may be what is wrong."""
    words = [word for word in content_words(claim.text) if not word[0].isdigit()]
    return (known_words(" ".join(words), passage) or 0) > SAME


def _ruled(judged: Judgement, found: Ruling | None) -> Judgement:
    return judged if found is None else replace(
        judged, support=bounded(judged.support, found), verdict=found, ruling=found)
