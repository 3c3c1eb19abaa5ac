"""Adds to an output row what the report page and ``q2 explain`` show: findings in plain words, and
the words of the response that no question asks about. The functions take output rows, so that a row
from a file is shown as a response that was just scored."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from q2_metric.english.claims.checkable import NOT_CLAIMED
from q2_metric.metrics.claims import FOREIGN
from q2_metric.metrics.registry import columns
from q2_metric.report import findings
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.plain import REASONS
from q2_metric.text.alignment import STOP_WORDS, stem
from q2_metric.text.overlap import WORD
from q2_metric.text.sentences import split_sentences
from q2_metric.types import PARTS, contribution_words

_NEGATED = re.compile(r"\b[^\W\d_]+n?\s?['’]\s?t\b")
"""An auxiliary verb with "not", such as "didn't". It is not a content word."""

DROPPED = {
    "personal": "it is about the speakers",
    "round_trip": "the response itself gives another answer",
}
"""What is shown for each reason why a question was rejected."""

WHOLE = {
    "supported": "Nothing to ask about; as a whole it seems to follow from the knowledge.",
    "differs": "Nothing to ask about; as a whole it does not seem to follow from the knowledge.",
    "open": "Nothing to ask about; as a whole it is undecided.",
}
"""What is shown for a response without a question, by what the finding suggests."""


def view(row: OutputRow, measured: Collection[str] = ()) -> OutputRow:
    """Returns a copy of an output row with its findings in words. These fields are added:

    - to a question: ``kind``, the kind of its finding, and ``state``, what the finding suggests;
    - to a claim: the same; ``form``, the former ``kind`` (the kind of claim); and ``against``, the
      [start, end] of the sentence in the knowledge that contradicts the claim, or ``None``;
    - to an input of the groundedness score: ``title`` and ``plain``, words for its contribution;
    - to the row: ``plain``, sentences about the response, and ``unasked``, the [start, word] of
      each content word that no question asks about;
    - to a row without a question: ``kind`` and ``state`` of its finding, and ``whole``, its score.

    ``measured`` names the kinds of evidence ("questions", "sentences") for which it was measured
    how often people agree: their ``state`` follows this, others the name of the finding's kind.
    """
    questions = [{**question, **_mark(findings.of_question(question), "questions" in measured)}
                 for question in row.get("questions") or ()]
    shown = {**row, "questions": questions}
    if row.get("claims"):
        shown["claims"] = [
            {**claim, "form": claim.get("kind"),
             **_mark(findings.of_sentence(claim), "sentences" in measured),
             "against": None if supported(claim)
             else _against(claim, questions, row.get("knowledge"))}
            for claim in row["claims"]]
    if row.get("parts"):
        shown["parts"] = [
            {**part, "title": PARTS.get(part["name"], part["name"]),
             "plain": contribution_words(part["contribution"])} for part in row["parts"]]
    if row.get("fallback"):
        shown |= {"whole": findings.whole(row),
                  **_mark(findings.of_fallback(row), "questions" in measured)}
    if isinstance(row.get("response"), str) and "questions" in row and row.get("error") is None:
        shown["unasked"] = unasked(row["response"], questions)
    return {**shown, "plain": list(in_words(shown))}


def _mark(kind: str, measured: bool) -> dict[str, str]:
    if not measured:
        return {"kind": kind, "state": findings.state_of(kind)}
    known = findings.shipped().findings.get(kind)
    return {"kind": kind, "state": known.state if known else "open"}


def in_words(row: Mapping[str, Any]) -> Iterator[str]:
    """Yields plain sentences about a row of :func:`view`: what is wrong, or that nothing is."""
    if row.get("reason") in REASONS and all(row.get(name) is None for name in columns()):
        words = REASONS[row["reason"]]
        yield f"{words[:1].upper()}{words[1:]}."
        if row["reason"] in FOREIGN and row.get("language"):
            yield f"Its language: {row['language']}."
        return
    questions, claims = row["questions"], row.get("claims") or ()
    unsure = [claim for claim in claims if not supported(claim)]
    denied = [claim for claim in unsure if claim["against"] is not None
              and (not questions or claim["verdict"] == "contradicted")]
    for claim in denied:
        passage = claim["passage"] or row["knowledge"][slice(*claim["against"])]
        yield f"{_quoted(claim['text'])} contradicts the knowledge: {_quoted(passage)}"
    wrong = [question for question in questions
             if question["how"] != "equal" and question["verdict"] != "entailment"]
    # If a whole claim is contradicted, the questions about its parts are not mentioned too.
    yield from dict.fromkeys(
        question["plain"] for question in wrong
        if question["start"] is None
        or not any(claim["start"] <= question["start"] < claim["end"] for claim in denied))
    missing = [claim for claim in unsure if claim["against"] is None]
    if questions and not wrong and not denied and not missing:
        yield (f"Agrees with the knowledge in all {len(questions)} answers."
               if len(questions) > 1 else questions[0]["plain"])
    if row.get("fallback") and not denied:
        yield WHOLE[row["state"]]
    for claim in missing:
        yield f"No support found for {_quoted(claim['text'])}."
    if claims and not questions and not row.get("fallback") and all(map(supported, claims)):
        yield "The knowledge supports " + (
            f"all {len(claims)} claims." if len(claims) > 1 else "it.")


def _quoted(text: str) -> str:
    return f"“{' '.join(text.split())}”"


def supported(claim: Mapping[str, Any]) -> bool:
    """Whether nothing speaks against a claim."""
    return claim["verdict"] in ("supported", "not checked")


def unasked(response: str, questions: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """The content words of the response that no question asks about, each as [start, word].

    A word is left out if its stem occurs in a question or in the words that a question asks about.
    """
    asked = {stem(word.lower()) for question in questions
             for text in (question["span"], question["question"])
             for word in WORD.findall(text or "")}
    blank = _NEGATED.sub(lambda match: " " * len(match[0]), response)
    return [
        [match.start(), match[0]] for match in WORD.finditer(blank)
        if (len(match[0]) > 1 or match[0].isdigit())
        and match[0].lower() not in STOP_WORDS | NOT_CLAIMED
        and stem(match[0].lower()) not in asked
    ]


def _against(
    sentence: Mapping[str, Any], questions: Sequence[Mapping[str, Any]], knowledge: str | None
) -> list[int] | None:
    """[start, end] of the sentence in the knowledge that contradicts a claim: the one that SCALE
    found, or else the one with an answer to a question of Q² that contradicts the claim."""
    place = sentence.get("passage_start")
    if sentence.get("verdict") == "contradicted" and place is not None:
        return [place, place + len(sentence["passage"])]
    start, end = sentence["start"], sentence["end"]
    for question in questions:
        place = question["knowledge_start"]
        if (knowledge is not None and question["verdict"] == "contradiction" and place is not None
                and question["start"] is not None and start <= question["start"] < end):
            return next(([a, b] for a, b in split_sentences(knowledge) if a <= place < b), None)
    return None
