"""Words in no order: shuffles and untrained models claim nothing, what people write does."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from q2_metric import Example
from q2_metric.english.claims.checkable import has_claim, stating
from q2_metric.english.claims.word_order import TABLE, in_order
from q2_metric.text.markup import unmarked

ROOT = Path(__file__).parents[2]

SENTENCES = (
    "The Eiffel Tower was built in 1889 for the World's Fair and is named after the engineer whose "
    "company designed it.",
    "I think that he was born in the north of the city and that his father was a painter.",
    "It is known for its large number of parks, which were laid out by the first mayor of it.",
    "They have been one of the most popular bands of the decade since their album came in 1994.",
    "The novel tells of a man who goes to the coast and is taken for the owner of an old hotel.",
)
LIKE_IT = (
    "Her films include It, Us, Up, Them, Her, Once, Before, The Others and Nothing but the Truth.",
    "Batsman Luke Wells has signed a new two-year contract with Derbyshire County Cricket Club.",
    "1. United States: Watkins Glen International, New York (31 August) 2. Road America, Elkhart.",
    "idk tbh it be like that sometimes ngl u should go there its so so so good",
    "i aint never been there but my cousin he says its real nice like in the summer n stuff",
    "he go store yesterday buy milk bread and egg for mother and then he go home",
    "Never before had so few of us been up and about and out there with so much to do.",
    'The words "the", "of", "and", "to" and "a" are the most frequent in English.',
    "Films: Us (2019), Get Out (2017), Nope (2022), Them! (1954), Her (2013), Up (2009).",
    "Of the ones that were there then, few are now, and of those that are, none is what it was.",
    "SELECT a.id, b.name FROM a JOIN b ON a.id = b.id WHERE a.x IS NOT NULL AND b.y > 3",
    "Der Eiffelturm wurde im Jahr 1889 eröffnet und ist ein Wahrzeichen von Paris, das so bekannt "
    "ist wie die Stadt, in der er an der Seine steht.",
    "La Torre Eiffel es una estructura de hierro pudelado diseñada inicialmente por los ingenieros "
    "civiles Maurice Koechlin y Émile Nouguier. No me lo han dicho a mí.",
    "A Torre Eiffel é uma torre treliça de ferro do século XIX localizada no Champ de Mars, em "
    "Paris. As pessoas do mundo vão a Paris no verão e o bilhete é caro.",
)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_most_shuffles_claim_nothing_and_the_sentence_does(sentence: str) -> None:
    draw = random.Random(sentence)
    words = sentence.rstrip(".").split()
    taken = sum(not has_claim(" ".join(draw.sample(words, len(words)))) for _ in range(50))
    assert has_claim(sentence)
    assert taken > 25


@pytest.mark.parametrize("sentence", LIKE_IT)
def test_what_is_only_unusual_is_a_claim(sentence: str) -> None:
    assert has_claim(sentence)


def test_a_few_words_are_given_the_benefit_of_the_doubt() -> None:
    assert in_order(["tower the of is"])
    assert in_order(["1889 1890 1891"])
    assert not in_order([])


def test_one_sentence_in_order_makes_a_claim() -> None:
    salad = "was by the of in named gustave the eiffel after engineer company designed tower whose"
    assert not has_claim(salad)
    assert has_claim(f"The tower was built by Gustave Eiffel. {salad}.")


def untrained() -> list[str]:
    """What 60 random GPT-2, T5 and LSTM models say, after 0 to 60 training steps."""
    lines = (ROOT / "tests" / "golden" / "untrained.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[-1] for line in lines[1:]]


def test_most_texts_of_untrained_models_claim_nothing() -> None:
    texts = untrained()
    assert len(texts) == 200
    assert sum(not has_claim(unmarked(text)) for text in texts) >= 138


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def real() -> Iterator[str]:
    """The examples, the README, the golden claims and what was written for training."""
    for file in sorted((ROOT / "examples").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield from strings(json.loads(line))
    yield from (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")
    golden = (ROOT / "tests" / "golden" / "claims.tsv").read_text(encoding="utf-8")
    yield from (line.split("\t")[0] for line in golden.splitlines())
    for file in sorted((ROOT / "tools" / "training" / "written").glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for line in islice(lines, 12):
                yield from strings(json.loads(line))


def test_no_real_text_loses_its_claims() -> None:
    texts = [text for text in map(unmarked, real()) if any(stating(text))]
    assert len(texts) > 2000
    assert [text for text in texts if not has_claim(text)] == []


def test_the_table_is_small() -> None:
    import q2_metric.english.claims

    assert (Path(q2_metric.english.claims.__path__[0]) / TABLE).stat().st_size < 250_000


def test_no_metric_of_the_preset_scores_them() -> None:
    from q2_metric.metrics import load_metrics

    knowledge = SENTENCES[0] + " It is 330 metres tall and the most visited monument of the world."
    salad = ("visited the of 330 is it metres monument most tall the world and designed whose the "
             "after in was for 1889 built engineer the named tower")
    scores = [metric.score([Example(salad, knowledge)])[0]
              for metric in load_metrics("q2,scale,groundedness", "bundled")]
    assert [score.value for score in scores] == [None] * 3
    assert {score.reason for score in scores} == {"no_claim"}
