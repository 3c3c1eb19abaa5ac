"""Puts results into plain sentences, by fixed rules, without a model."""

from __future__ import annotations

from collections.abc import Mapping

from q2_metric.text.normalise import normalise
from q2_metric.types import Reason

_AFTER = {
    "entailment": ", which agrees",
    "neutral": ", which leaves it open",
}
"""Follows "Says 1991; the knowledge says the 1990s"."""
_WHOLE = {"entailment": "supports it", "neutral": "leaves it open",
          "contradiction": "contradicts it"}
"""Follows "Says it sank; the knowledge"."""


REASONS: Mapping[Reason, str] = {
    "no_claim": "the response claims nothing that could be checked",
    "empty": "the response is empty",
    "no_knowledge": "there is no knowledge to compare with",
    "language": "the response is not in English, so it is scored only with any_language",
    "knowledge_language": "the knowledge is not in English, so the response is scored only with "
                          "any_language",
    "fault": "the metric failed on this response",
}


PARTS = {
    "claims": "mean support of all claims",
    "weakest": "support of the weakest claim",
    "words": "share of content words found in the knowledge",
    "numbers": "share of numbers found in the knowledge",
    "phrases": "share of phrases found in the knowledge",
    "questions": "agreement of the answers to Q²'s questions",
    "rules": "limit set by rules on numbers",
}
"""By input of the groundedness score."""

_SIZES = ((0.75, "a lot"), (0.2, "somewhat"), (0.0, "a little"))
"""(Least change of the score's logit, words for it)."""


def contribution_words(contribution: float | None) -> str:
    """Says how much an input changed the logit of a groundedness score. ``None`` counts as 0.

    >>> contribution_words(-0.9)
    'lowers the score a lot'
    """
    contribution = contribution or 0.0
    size = next(words for least, words in _SIZES if abs(contribution) >= least)
    return f"{'lowers' if contribution < 0 else 'raises'} the score {size}"


def plain(said: str, known: str | None, how: str, verdict: str | None) -> str:
    """One sentence that compares the answers from response (``said``) and knowledge (``known``).

    ``how`` is a :data:`q2_metric.types.How`. ``verdict`` is ``None`` if no NLI model was used.

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
