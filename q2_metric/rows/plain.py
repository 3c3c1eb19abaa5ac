"""Describes a comparison in the words of a person: "Says 1991; the knowledge says 1994.".

Rules write the sentence from the two answers and the way in which they were compared. No model is
used.
"""

from __future__ import annotations

from collections.abc import Mapping

from q2_metric.text.normalise import normalise
from q2_metric.types import Reason

_AFTER = {
    "entailment": ", which agrees",
    "neutral": ", which leaves it open",
}
"""What the sentence about two different answers adds for each verdict."""
_WHOLE = {"entailment": "supports it", "neutral": "leaves it open",
          "contradiction": "contradicts it"}
"""What each verdict says about a whole claim."""


REASONS: Mapping[Reason, str] = {
    "no_claim": "the response claims nothing that could be checked",
    "empty": "the response is empty",
    "no_knowledge": "there is no knowledge to compare with",
    "fault": "the metric failed on it",
}
"""Why a response has no score."""


PARTS = {
    "claims": "the claims on average",
    "weakest": "the weakest claim",
    "words": "content words found in the knowledge",
    "numbers": "numbers found in the knowledge",
    "phrases": "phrases found in the knowledge",
    "questions": "the answers to Q²'s questions",
    "rules": "what values and denials decide",
}
"""Titles of the parts of a combined score, by name."""

_SIZES = ((0.75, "a lot"), (0.2, "somewhat"), (0.0, "a little"))
"""Words for how much a part moves the score, each with the smallest change of the logit."""


def contribution_words(contribution: float | None) -> str:
    """Says in words how far a part of a combined score moves the score, and in which direction.

    >>> contribution_words(-0.9)
    'lowers the score a lot'
    """
    contribution = contribution or 0.0
    size = next(words for least, words in _SIZES if abs(contribution) >= least)
    return f"{'lowers' if contribution < 0 else 'raises'} the score {size}"


def plain(said: str, known: str | None, how: str, verdict: str | None) -> str:
    """One sentence about the result of a question.

    Args:
        said: the answer that the response gives.
        known: the answer that the knowledge gives; ``None`` if it gives none.
        how: how the answers were compared (:data:`q2_metric.types.How`).
        verdict: the label of the entailment model, if the model was used.

    >>> plain("1991", "1994", "nli", "contradiction")
    'Says 1991; the knowledge says 1994.'
    """
    said = " ".join(said.split())
    if known is None:
        whole = _WHOLE.get(verdict or "", "does not say")  # no question was asked about the claim
        return f"Says {said.rstrip(' .')}; the knowledge {whole}."
    if how == "equal":
        return f"Says {said}, as the knowledge does."
    if how == "contradicted" and normalise(said) == normalise(known):
        return f"Says {said}; the knowledge has that, and contradicts the claim."
    rest = _AFTER.get(verdict or "", "")
    both = f"Says {said}; the knowledge says {' '.join(known.split())}{rest}"
    return both if both.endswith(".") else f"{both}."
