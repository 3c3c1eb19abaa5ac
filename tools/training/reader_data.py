"""The training data of the reader: questions about a text, with an answer in the text or without
one."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tools.training.asked import find
from tools.training.examples import ExampleSource, TrainingExample, held_out, read_jsonl
from tools.training.reading import SECOND, WRITTEN, excerpt, joined

RATES = {
    "squad2_dev_half": 1.0, "squad2_dev_inferred": 1.0, "squad1_dev": 1.0,
    "squad_train_pieces": 1.0, "squad_train_sample": 1.0, "squadshifts_wiki": 1.0,
    "squadshifts_reddit": 0.35, "squadshifts_amazon": 0.25, "qed_dev_nq": 1.0,
    "nq_swap": 0.7, "multispanqa_valid": 1.0, "qamr": 1.0, "qasrl_gs": 0.3, "qanom": 0.2,
    "qadiscourse": 0.3, "fairytaleqa_extractive": 0.5, "friendsqa": 0.6,
    "mctest_extractive": 0.6, "tweetqa": 0.5, "quoref_contrast": 1.0, "ropes_contrast": 0.3,
    "drop_contrast": 0.5, "covidqa": 0.3, "policyqa": 0.15, "subjqa": 0.15,
}
"""By source, how many times an epoch contains each row: Wikipedia most often, reviews least often.
"""
NEGATIVE_RATE, EDIT_RATE = 0.4, 0.5
"""Some sources have two further files with automatically made questions without an answer ("-neg",
"-edit"). Their rates are these factors times the rate of the source."""

SHARES = {
    "human": 0.33, "asked_own": 0.15, "asked_premise": 0.24, "reworded": 0.05,
    "changed_subject": 0.08, "false_premise": 0.08, "lacking_detail": 0.07,
}
"""By kind of question, its share of the examples in the fourth stage. Most questions have an
answer, so that the reader does not learn to give no answers."""
WRITTEN_SHARES = {"human": 0.3, "asked_own": 0.15, "asked_written": 0.37, "asked_unanswered": 0.18}
"""The same shares in the fifth stage."""
AUTOMATIC = 0.4
"""In the fourth stage, the rates of the automatically made questions without an answer are
multiplied by this factor."""

ASKED = WRITTEN / "asked" / "asked.jsonl"
"""Questions about the documents of the second part of the written claims, with their answers: the
``answer`` is a part of the document, or null. The ``claim`` from which the program made the
question has the answer ``span``."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'(])")


def shorten(example: TrainingExample, rng: random.Random, whole: float = 0.3) -> TrainingExample:
    """Cuts most passages to a few sentences around the answer.

    The knowledge of a dialogue is a sentence or two, but passages of question sets are longer (and
    slow on a CPU). If a question has no answer, a random part of the passage is kept. ``whole`` is
    the share of passages that are not cut.
    """
    if rng.random() < whole:
        return example
    bounds = [0, *(m.end() for m in _SENTENCE_END.finditer(example.text)), len(example.text)]
    if len(bounds) <= 2:
        return example
    last = len(bounds) - 2
    if example.target is None:
        first = final = rng.randint(0, last)
    else:
        start, end = example.target
        first = max(i for i in range(last + 1) if bounds[i] <= start)
        final = min(i for i in range(first, last + 1) if end <= bounds[i + 1])
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 4))):
        if rng.random() < 0.5:
            first = max(0, first - 1)
        else:
            final = min(last, final + 1)
    left, right = bounds[first], bounds[final + 1]
    target = example.target and (example.target[0] - left, example.target[1] - left)
    return TrainingExample(example.query, example.text[left:right], target, example.source)


def sources(folder: Path) -> list[ExampleSource]:
    """Reads the question sets in a folder, each as a source with its rate.

    Raises:
        FileNotFoundError: a question set is missing.
    """
    found = []
    for name, rate in RATES.items():
        for suffix, share in (("", 1.0), ("-neg", NEGATIVE_RATE), ("-edit", EDIT_RATE)):
            path = folder / f"{name}{suffix}.jsonl.gz"
            if suffix and not path.exists():
                continue
            rows = [
                TrainingExample(
                    row["question"],
                    row["context"],
                    None if row["answer"] is None
                    else (row["start"], row["start"] + len(row["answer"])),
                    name + suffix,
                )
                for row in read_jsonl(path)
            ]
            found.append(ExampleSource(name + suffix, rate * share, rows, shorten))
    return found


def asked(folder: Path, seed: int = 0, sentences: int = 12_000) -> Sequence[ExampleSource]:
    """Makes questions with known answers about supported claims (:mod:`tools.training.asked`).

    Args:
        folder: folder with the training data.
        seed: seed of the random numbers.
        sentences: number of encyclopaedic sentences that are retold as claims.
    """
    from q2_metric.english.parse.parser import SpacySpans
    from q2_metric.english.questions.syntactic import SyntacticQuestions
    from tools.training.asked import questions
    from tools.training.entailment_data import claims, retold

    rng = random.Random(seed)
    pairs = [claim for claim in claims(folder) if claim.target == "supported"]
    pairs += retold(folder / "qa", rng, sentences).examples
    return questions(pairs, SpacySpans(), SyntacticQuestions(), rng)


def contrasted(
    folder: Path, seed: int = 7, sentences: int = 1_700, held: bool = False
) -> list[ExampleSource]:
    """Makes questions with known answers, and variants of them without an answer
    (:mod:`tools.training.contrasts`).

    Args:
        folder: folder with the training data.
        seed: seed of the random numbers.
        sentences: number of encyclopaedic sentences that are retold as claims.
        held: if true, only texts that are held out for development are used; if false, only others.
    """
    from q2_metric.english.parse.parser import SpacySpans
    from q2_metric.english.questions.syntactic import SyntacticQuestions
    from tools.training.asked import questions
    from tools.training.contrasts import CONTENT, Contrasts, appositions, implied, variants
    from tools.training.corrupt import collect
    from tools.training.entailment_data import claims, encyclopaedic
    from tools.training.synthetic import retell

    rng = random.Random(seed)
    nlp, passages, docs = encyclopaedic(
        folder / "qa", rng, sentences, lambda sentence, passage:
        held_out(sentence) if held else not (held_out(sentence) or held_out(passage)))
    pool = collect(docs)
    pairs = [pair for doc in docs for pair in retell(doc, pool, rng)] + appositions(docs)
    stated = [claim for claim in claims(folder)
            if claim.target == "supported" and held_out(claim.text) == held]
    pairs += rng.sample(stated, min(len(stated), sentences // 3))
    found = questions(pairs, SpacySpans(), SyntacticQuestions(), rng,
                      lambda text, words: find(text, words) or implied(text, words))
    answered = next(source.examples for source in found if source.name == "asked_premise")
    texts = {doc.text: doc for doc in docs}
    others = [text for text in dict.fromkeys(example.text for example in answered)
              if text not in texts]
    texts |= zip(others, nlp.pipe(others, batch_size=128), strict=True)
    asked = list(dict.fromkeys(example.query for example in answered))
    parses = dict(zip(asked, nlp.pipe(asked, batch_size=256), strict=True))
    for word in (word for doc in parses.values() for word in doc if word.tag_ in CONTENT):
        pool.words[word.tag_].append(word.lower_)
    make = Contrasts(texts, parses, pool, passages, rng)
    made = variants(answered, make)
    rows = {"asked_own": found[0].examples} | made
    rows["asked_premise"] = [make.surrounded(example) for example in answered]
    return [ExampleSource(name, 1.0, examples) for name, examples in rows.items()]


def written() -> list[ExampleSource]:
    """Questions about the written documents (:data:`ASKED`), in their documents and in the claims
    that they were made from.

    A document is shortened to the sentences nearest to the question and its claim. If that leaves
    out the answer, the question is left out.
    """
    texts = {row["id"]: joined(row["knowledge"])
             for path in sorted(SECOND.glob("*.jsonl")) for row in read_jsonl(path)}
    found: dict[str, list[TrainingExample]] = defaultdict(list)
    for row in read_jsonl(ASKED):
        for one in row["questions"]:
            question, claim, answer = one["question"], one["claim"], one["answer"]
            if place := find(claim, one["span"]):
                found["asked_own"].append(TrainingExample(question, claim, place, "asked_own"))
            text = excerpt(texts[row["id"]], f"{question} {claim}")
            place = answer and find(text, answer)
            if answer is None or place:
                name = "asked_written" if place else "asked_unanswered"
                found[name].append(TrainingExample(question, text, place, name))
    return [ExampleSource(name, 1.0, rows) for name, rows in found.items()]


def in_shares(
    human: Sequence[ExampleSource], made: Sequence[ExampleSource], count: int,
    shares: Mapping[str, float] = SHARES,
) -> list[ExampleSource]:
    """Sets the rates of sources so that the kinds of questions have the shares in ``shares``.

    Args:
        human: the question sets.
        made: the questions that were made automatically, and their variants.
        count: number of examples that are drawn in total.
    """
    rates = [s.rate * (AUTOMATIC if s.name.endswith(("-neg", "-edit")) else 1.0) for s in human]
    total = sum(rate * len(s.examples) for rate, s in zip(rates, human, strict=True))
    times = shares["human"] * count / total
    short = partial(shorten, whole=0.02)
    found = [ExampleSource(s.name, rate * times, s.examples, short)
             for rate, s in zip(rates, human, strict=True)]
    return found + [ExampleSource(s.name, shares[s.name] * count / len(s.examples), s.examples)
                    for s in made]
