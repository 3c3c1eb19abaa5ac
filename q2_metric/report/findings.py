"""Classifies the findings behind a score, and says how often people agree with each kind. Adds to
output rows what the report page and ``q2 explain`` show: findings in plain words, and the words of
the response that no question asks about.

A finding is the result of one question of Q² or of one claim of SCALE. The shares in
``reliability.json`` were measured with the bundled models (``python -m
tools.training.reliability``). For others, the marks (✓, ✗, ?) depend only on the finding itself,
and the page says so.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

from q2_metric.english.claims.checkable import NOT_CLAIMED
from q2_metric.errors import InputError
from q2_metric.metrics.calibration import SETTING
from q2_metric.metrics.claims import FOREIGN
from q2_metric.metrics.registry import METRICS, columns, entry
from q2_metric.metrics.signature import of_metric, parse
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.plain import REASONS
from q2_metric.text.alignment import STOP_WORDS, stem
from q2_metric.text.overlap import WORD
from q2_metric.text.sentences import split_sentences
from q2_metric.types import PARTS, contribution_words

State = Literal["supported", "differs", "open"]
"""What a finding suggests about the response; "differs": it is not supported."""

SIGNS: Mapping[State, str] = {"supported": "✓", "differs": "✗", "open": "?"}
MEANINGS: Mapping[State, str] = {
    "supported": "speaks for support", "differs": "speaks against support",
    "open": "says little either way"}
_STATES: Mapping[str, State] = {"equal": "supported", "entailment": "supported",
                                "contradiction": "differs", "contradicted": "differs"}
FILE = "reliability.json"
EDGES = (0.6, 0.8)
"""Bands of the NLI model's probability of its label."""

SENTENCE_EDGES = (0.05, 0.2, 0.5, 0.8, 0.95)
"""Bands of the support of a claim, or of the score of a whole response."""

NO_SUPPORT = 0.5
"""A sentence of the knowledge is shown as support from this score on."""


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


@dataclass(frozen=True, slots=True)
class Share:
    """Among the responses with a kind of finding, the share that people judged supported.

    ``low`` and ``high`` are its 95 % interval. A response with k findings counts as 1/k for each.
    All data sets have the same weight, and so have supported and unsupported responses within a
    set: 0.5 does not tell whether a response is supported.
    """

    share: float
    low: float
    high: float
    n: int

    @property
    def state(self) -> State:
        """The state is "open" if the interval contains 0.5."""
        return "supported" if self.low > 0.5 else "differs" if self.high < 0.5 else "open"


@dataclass(frozen=True, slots=True)
class Reliability:
    """How often people agree with findings, measured with the models and settings of
    ``signatures``. ``signatures`` are by metric, ``findings`` by kind. ``ranked`` says, by score
    column, how often a supported response has a higher score than an unsupported one."""

    signatures: Mapping[str, str] = field(default_factory=dict)
    findings: Mapping[str, Share] = field(default_factory=dict)
    ranked: Mapping[str, float] = field(default_factory=dict)

    def of(self, signature: str) -> bool:
        """Whether a signature names what was measured; the version may differ."""
        try:
            metric, settings = parse(of_metric(signature))
            _, measured = parse(self.signatures[metric])
        except (InputError, KeyError):
            return False
        settings.pop(SETTING, None)  # a calibration does not change findings
        return {**settings, "version": ""} == {**measured, "version": ""}

    def covers(self, signatures: Iterable[str]) -> set[str]:
        """The kinds of evidence ("questions", "sentences", "parts") that these signatures cover."""
        return {details for signature in signatures if self.of(signature)
                if (details := entry(signature.partition("|")[0]).details) is not None}


@cache
def shipped() -> Reliability:
    """The reliability that was measured with the preset "bundled"."""
    content = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return Reliability(
        content["signatures"],
        {name: Share(*values) for name, values in content["findings"].items()}, content["ranked"])


def of_question(question: Mapping[str, Any]) -> str:
    """The kind of finding for an item of the field ``questions`` of an output row.

    >>> of_question({"how": "nli", "verdict": "contradiction", "verdict_p": 0.7})
    'contradiction, 0.60 to 0.80'
    """
    verdict = question["verdict"]
    if question["how"] in ("equal", "contradicted") or (
            question["how"] == "no_answer" and verdict is None):
        return str(question["how"]).replace("_", " ")
    if verdict is None:
        return _banded("word overlap", question["score"], SENTENCE_EDGES)
    return _banded(verdict, None if verdict == "neutral" else question["verdict_p"], EDGES)


def of_sentence(sentence: Mapping[str, Any]) -> str:
    """The band of a claim's support, as in "sentence, 0.20 to 0.50"."""
    return _banded("sentence", sentence["support"], SENTENCE_EDGES)


def of_fallback(row: Mapping[str, Any]) -> str:
    """The band of the score of a response without questions, as in "fallback, 0.20 to 0.50"."""
    return _banded("fallback", whole(row), SENTENCE_EDGES)


def whole(row: Mapping[str, Any]) -> float | None:
    """The Q² score of a row without questions, which judges the response as a whole."""
    names = [column.name for metric in METRICS.values() if metric.details == "questions"
             for column in metric.columns]
    # The last column is tried first, because calibration does not change it.
    return next((row[name] for name in reversed(names) if row.get(name) is not None), None)


def state_of(kind: str) -> State:
    """What a kind of finding suggests, if its reliability was not measured with these models."""
    name, _, band = kind.partition(", ")
    if name in _STATES:
        return _STATES[name]
    ends = list(map(float, re.findall(r"[\d.]+", band)))
    if ends and ends[0] >= 0.5:
        return "supported"
    return "differs" if ends and ends[-1] <= 0.5 else "open"


def _banded(name: str, value: float | None, edges: tuple[float, ...]) -> str:
    if value is None:
        return name
    between = (f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges))
    bands = [f"below {edges[0]:.2f}", *between, f"from {edges[-1]:.2f}"]
    return f"{name}, {bands[bisect_right(edges, value)]}"


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
    questions = [{**question, **_mark(of_question(question), "questions" in measured)}
                 for question in row.get("questions") or ()]
    shown = {**row, "questions": questions}
    if row.get("claims"):
        shown["claims"] = [
            {**claim, "form": claim.get("kind"),
             **_mark(of_sentence(claim), "sentences" in measured),
             "against": None if supported(claim)
             else _against(claim, questions, row.get("knowledge"))}
            for claim in row["claims"]]
    if row.get("parts"):
        shown["parts"] = [
            {**part, "title": PARTS.get(part["name"], part["name"]),
             "plain": contribution_words(part["contribution"])} for part in row["parts"]]
    if row.get("fallback"):
        shown |= {"whole": whole(row),
                  **_mark(of_fallback(row), "questions" in measured)}
    if isinstance(row.get("response"), str) and "questions" in row and row.get("error") is None:
        shown["unasked"] = unasked(row["response"], questions)
    return {**shown, "plain": list(in_words(shown))}


def _mark(kind: str, measured: bool) -> dict[str, str]:
    if not measured:
        return {"kind": kind, "state": state_of(kind)}
    known = shipped().findings.get(kind)
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
