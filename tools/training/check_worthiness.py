"""The data of the network that tells statements from refusals, chat, questions and announcements
(:mod:`q2_metric.english.claims.check_worthiness`): the parts of written responses, and many claims.
Some claims get an opening ("Let me tell you that ..."), so that an opening alone does not make a
claim vanish. The network's three classes are statement, other text, and refusal.
"""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import torch
from torch import nn

from q2_metric.english.claims.check_worthiness import BOUND
from q2_metric.english.claims.checkable import joined, sentences
from q2_metric.models.bundled.encoding import Tokenizer
from tools.training import reading
from tools.training.batches import window
from tools.training.entailment import forward
from tools.training.examples import ExampleSource, TrainingExample, read_jsonl
from tools.training.predict import predict
from tools.training.reading import OPEN, SECOND, WRITTEN, by_file, responses
from tools.training.train import Evaluate

Row = tuple[str, str, str]
"""The id of a response, a part of it, and the kind of this part."""
FILES = ("silent.jsonl", "asides.jsonl")
CLASSES = {"claim": "supported", "refusal": "refuted"}
"""By kind, the label of the class; all others are "not_enough"."""
OTHERS = 24_000
"""How many written claims are read, half of them with an opening."""
FURTHER, SENTENCES, ANSWERS, OF_A_SOURCE = 6_000, 12_000, 3_000, 250
"""How many texts are read: claims of the second part, sentences of the documents, short answers of
the question sets, and hypotheses of each human source."""
PARTS_RATE, CLAIMS_RATE = 1.5, 0.6
"""How many times an epoch contains each part of a response, and each claim."""
HELD_OUT = 10
"""One of this many responses is held out for development."""
LENGTH = 96
OPENINGS = """
let me tell you that|i can tell you that|i'm happy to say that|i'm sorry to say that|sorry , but
i'm sorry , but|thanks for asking ,|great question !|good question ,|here is what i found :
here's the answer :|in short :|the short answer :|to answer your question ,|sure ,|of course ,
unfortunately ,|i'm afraid that|i'm afraid|as far as i can see ,|i cannot say for sure , but
i don't know , but|i am not sure , but|the text says that|the passage mentions that|the report says
according to the document ,|based on the provided context ,|as the passage says ,|please note that
you should know that|i'd like to add that|i hope this helps :|you will love that|wow ,|oh no ,
glad you asked ,|hi there ,|hello ,|it is clear that|there is no doubt that|note :|yes ,|no ,
the documents show that|i found that|the documents say|the article says|the source states that
the notes mention that|the guide says|from what i can see ,|happy to help :|nice ! so|haha ,
i can confirm that|i can confirm|i can tell you|congratulations ,|sorry ,|good news :
fun fact :|quick fact :|tip :|remember :|first ,|then|finally ,
i know|i know that|i've never tried it , but i know|i have never been there , but i know that
""".replace("\n", "|").strip("|").split("|")
TOLD = ("did you know that|did you know|do you know that|have you heard that|have you heard"
        "|did you ever notice that|isn't it true that").split("|")
"""Openings of questions that state what follows."""
ASKED = ("is it true that|do you know if|do you know whether|can you tell me if|did you know why"
         "|does the text say whether|are you sure that").split("|")


def parts() -> list[Row]:
    """The parts of the written responses."""
    return [(row["id"], joined(part["text"]), part["kind"])
            for file in FILES for row in read_jsonl(WRITTEN / file) for part in row["parts"]]


@cache
def written(folder: Path = WRITTEN) -> list[str]:
    """The written claims in a folder."""
    return [joined(row.query) for found in by_file(folder).values() for row in found]


def behind_refusals(rows: Sequence[Row], seed: int = 1) -> list[Row]:
    """A claim behind each refusal, as in "I don't know, but it opened in 1962"."""
    rng = random.Random(seed)
    found = []
    for name, text, kind in rows:
        if kind == "refusal":
            after = rng.choice(written())
            between = rng.choice((", but ", ": ", "; ", " - ", ", though ", ". "))
            found.append((name, f"{text.rstrip(' .!,')}{between}{after[:1].lower()}{after[1:]}",
                          "claim"))
    return found


def claims(seed: int = 0) -> list[Row]:
    """Further claims, as :func:`parts`; every other one has an opening, some have an exclamation,
    and some are in lower case. Some become questions: "Did you know that ...?" states the claim,
    "Is it true that ...?" does not."""
    rng = random.Random(seed)
    drawn = []
    for i, text in enumerate(rng.sample(written(), min(OTHERS, len(written())))):
        if i % 40 == 6:  # a question that states the claim, and one that asks about it
            for openings, kind in ((TOLD, "claim"), (ASKED, "question")):
                drawn.append((f"claim {i}", f"{rng.choice(openings)} {text[:1].lower()}"
                                            f"{text[1:].rstrip('.')} ?", kind))
            continue
        if i % 2:
            opening = rng.choice(OPENINGS)
            text = f"{opening[:1].upper()}{opening[1:]} {text[:1].lower()}{text[1:]}"
        if i % 8 < 2:
            text = text.rstrip(".") + "!"
        if i % 8 == 4:
            text = f"{text.lower().rstrip('.')} ."
        drawn.append((f"claim {i}", text, "claim"))
    return drawn


def further(data: Path, seed: int = 3) -> Iterator[str]:
    """Statements of other forms: claims of the second part, sentences of the written documents
    (steps, terms, entries), short answers, and hypotheses of the human sources, which are with the
    answers in the folder ``data``."""
    rng = random.Random(seed)
    said = [part for text in documents() for part in sentences(text)
            if "?" not in part and "|" not in part]
    answered = sorted({row["answer"] for path in sorted((data / "qa").glob("*.jsonl.gz"))
                       for row in read_jsonl(path) if row["answer"]})
    for texts, most in ((written(SECOND), FURTHER), (said, SENTENCES), (answered, ANSWERS)):
        yield from map(joined, rng.sample(texts, min(most, len(texts))))
    for folder, names in OPEN.items():
        for name in names:
            said = [row["hypothesis"] for row in read_jsonl(data / folder / f"{name}.jsonl.gz")
                    if len(row["hypothesis"].split()) > 2 and "?" not in row["hypothesis"][-2:]]
            yield from map(joined, rng.sample(said, min(OF_A_SOURCE, len(said))))


def documents() -> list[str]:
    """The sources of the written claims."""
    return [reading.joined(row["knowledge"]) for path in sorted(WRITTEN.glob("*.jsonl"))
            for row in read_jsonl(path) if "claims" in row]


def is_held_out(row: Row) -> bool:
    return zlib.crc32(row[0].encode()) % HELD_OUT == 0


def sources(data: Path) -> list[ExampleSource]:
    """The sources of an epoch, without the responses that are held out."""
    said = parts()
    kept = [row for row in [*said, *behind_refusals(said)] if not is_held_out(row)]
    return [
        ExampleSource("parts", PARTS_RATE, [example(text, kind) for _, text, kind in kept]),
        ExampleSource("claims", CLAIMS_RATE, [
            *(example(text, kind) for _, text, kind in claims()),
            *(example(text, "claim") for text in further(data))])]


def example(text: str, kind: str = "claim") -> TrainingExample:
    return TrainingExample(text, "", CLASSES.get(kind, "not_enough"), kind)


def evaluator(tokenizer: Tokenizer, device: torch.device) -> Evaluate:
    """Returns a function that computes what a network leaves out, in %: of each kind among the
    responses that are held out, and of the claims of ``fit.jsonl``."""
    groups: dict[str, list[str]] = defaultdict(list)
    for row in filter(is_held_out, parts()):
        groups[row[2]].append(row[1])
    groups["fit.jsonl"] = [joined(claim["text"]) for _, _, said in responses(WRITTEN / "fit.jsonl")
                           for claim in said["claims"]]

    def share(network: nn.Module, texts: Sequence[str]) -> float:
        rows = [window(example(text), tokenizer, LENGTH) for text in texts]
        chances = torch.stack(predict(network, rows, device, forward)).softmax(-1)[:, 0]
        return round(100 * float((chances < BOUND).float().mean()), 1)

    return lambda network: {kind: share(network, texts) for kind, texts in sorted(groups.items())}
