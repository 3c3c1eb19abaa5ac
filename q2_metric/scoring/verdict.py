"""Counts the responses of a file with unsupported claims, and finds the least supported claims."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, Self

from q2_metric.text.overlap import WordIndex
from q2_metric.text.sentences import split_sentences

SHOWN = 3
"""Maximum number of responses in :attr:`VerdictCounts.worst`."""
UNSUPPORTED = ("contradicted", "not found")
"""The verdicts with which a claim counts as unsupported."""
GATED, THRESHOLD = "groundedness", 0.5
"""The defaults of ``q2 gate``."""


def falls_short(row: Mapping[str, Any], metric: str = GATED, threshold: float = THRESHOLD) -> bool:
    """Whether a row of ``q2 score --out`` has an error, or a score under the threshold."""
    score: float | None = row.get(metric)
    return row.get("error") is not None or (score is not None and score < threshold)


@dataclass(frozen=True, slots=True)
class Worst:
    """The claim of a response that has the least support (in [0, 1]) from the knowledge.

    ``source`` is the sentence of the knowledge that decided the verdict; if it was not searched,
    the one that shares most words with the claim. ``decides``: it contradicts the claim."""

    id: str
    claim: str
    verdict: str
    support: float
    source: str | None
    decides: bool


@dataclass(slots=True)
class VerdictCounts:
    """Counts responses and claims by their verdicts.

    ``gated`` counts responses in runs that compute :data:`GATED`; ``failing`` of them fail ``q2
    gate``, of which ``errors`` could not be scored. ``judged``, ``unsupported`` and
    ``contradicted`` count responses with such a claim, ``cited`` claims that cite a passage,
    ``cited_rightly`` those that cite one that supports them. ``worst`` has the claims with the
    least support, one for a response, worst first."""

    gated: int = 0
    failing: int = 0
    errors: int = 0
    judged: int = 0
    unsupported: int = 0
    contradicted: int = 0
    cited: int = 0
    cited_rightly: int = 0
    worst: tuple[Worst, ...] = ()

    def add(self, row: Mapping[str, Any]) -> None:
        """Adds a row as ``q2 score --out`` writes it. It may also contain its texts."""
        if GATED in row:
            self.gated += 1
            self.failing += falls_short(row)
            self.errors += row.get("error") is not None
        claims = row.get("claims") or ()
        self.judged += bool(claims)
        citations = [claim.get("citation") for claim in claims]
        self.cited += sum(citation is not None and citation != "none" for citation in citations)
        self.cited_rightly += citations.count("right")
        failed = unsupported(claims)
        if not failed:
            return
        self.unsupported += 1
        self.contradicted += any(claim["verdict"] == "contradicted" for claim in failed)
        least = min(failed, key=lambda claim: claim["support"])
        if len(self.worst) < SHOWN or least["support"] < self.worst[-1].support:
            passage = least.get("passage")
            worst = Worst(row["id"], least["text"], least["verdict"], least["support"],
                          passage or _nearest(least["text"], row.get("knowledge")),
                          passage is not None and least["verdict"] == "contradicted")
            ordered = sorted((*self.worst, worst), key=lambda shown: shown.support)
            self.worst = tuple(ordered[:SHOWN])

    @property
    def headline(self) -> str:
        """How many responses have an unsupported claim; "" if no claim was judged."""
        if not self.judged:
            return ""
        one = self.judged == 1
        responses = f"{self.judged:,} {'response' if one else 'responses'} with claims"
        if not self.unsupported:
            return f"none of {responses} has an unsupported claim"
        have = "has" if self.unsupported == 1 else "have"
        more = f" ({self.contradicted:,} contradicted)" if self.contradicted else ""
        return f"{self.unsupported:,} of {responses} {have} an unsupported claim{more}"

    @property
    def criterion(self) -> str:
        """How many responses fail the gate; "" if :data:`GATED` was not computed."""
        if not self.gated:
            return ""
        return (f"{self.failing:,} of {self.gated:,} "
                f"{'response' if self.gated == 1 else 'responses'} "
                f"{'fails' if 1 in (self.failing, self.gated) else 'fail'} q2 gate "
                f"({GATED} under {THRESHOLD:g}"
                f"{f'; {self.errors:,} could not be scored' if self.errors else ''})")

    @property
    def citations(self) -> str:
        """How many claims cite a passage that supports them; "" if no claim cites one."""
        if not self.cited:
            return ""
        return (f"{self.cited_rightly:,} of {self.cited:,} claims with a citation cite a passage "
                "that supports them")

    def as_json(self) -> dict[str, Any]:
        """The attributes, and the share of the claims with a citation that is right."""
        share = self.cited_rightly / self.cited if self.cited else None
        return {**asdict(self), "cited_rightly_share": share}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        counts = {one.name: fields[one.name] for one in dataclass_fields(cls)}
        return cls(**{**counts, "worst": tuple(Worst(**claim) for claim in fields["worst"])})


def unsupported(claims: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [claim for claim in claims
            if claim.get("verdict") in UNSUPPORTED and claim["support"] is not None]


def claim_words(claim: Mapping[str, Any]) -> str:
    """The verdict and the text of a claim, and the passage for it, in one line."""
    nearest = f"; the nearest passage says: {claim['passage']}" if claim.get("passage") else ""
    said = claim["verdict"]
    if said == "supported":
        said = f"least supported ({claim['support']:.2f})"
    return " ".join(f"{said}: {claim['text'] or ''}{nearest}".split())


def _nearest(claim: str, knowledge: str | None) -> str | None:
    if not knowledge or not (places := split_sentences(knowledge)):
        return None
    sentences = [knowledge[start:end] for start, end in places]
    return sentences[WordIndex(sentences).nearest(claim, 1)[0]]
