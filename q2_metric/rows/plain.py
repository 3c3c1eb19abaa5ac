"""Puts results into plain sentences, by fixed rules, without a model."""

from collections.abc import Mapping

from q2_metric.text.normalise import normalise
from q2_metric.types import Reason

_AFTER = {"entailment": ", which agrees", "neutral": ", which leaves it open"}
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


NONE = "–"


def number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"


def plain(said: str, known: str | None, how: str, verdict: str | None) -> str:
    """One sentence that compares the answers from response (``said``) and knowledge (``known``).

    ``how`` is a :data:`q2_metric.types.How`. ``verdict`` is ``None`` if no NLI model was used.

    >>> plain("1991", "1994", "nli", "contradiction")
    'Says 1991; the knowledge says 1994.'
    """
    said = " ".join(said.split())
    if known is None:
        whole = _WHOLE.get(verdict or "", "does not say")  # NLI judged the claim
        return f"Says {said.rstrip(' .')}; the knowledge {whole}."
    if how == "equal":
        return f"Says {said}, as the knowledge does."
    if how == "contradicted" and normalise(said) == normalise(known):
        return f"Says {said}; the knowledge has that, and contradicts the claim."
    rest = _AFTER.get(verdict or "", "")
    both = f"Says {said}; the knowledge says {' '.join(known.split())}{rest}"
    return both if both.endswith(".") else f"{both}."
