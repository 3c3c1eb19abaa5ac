"""Sentences that only say that the given text has no answer, beside ones that look like it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from q2_metric.english.claims.checkable import has_claim

ABSTAINS = """
The text does not say.
The provided context does not mention this.
There is no information about X in the passage.
I cannot find that in the document.
The passage doesn't say who built the tower.
The document does not specify when it opened.
The given context does not contain the answer.
The provided text does not contain any information about the height of the tower.
I don't know based on the given context.
Based on the provided context, I cannot answer the question.
Based on the context, it is not possible to determine the year.
I'm sorry, but the context does not provide this information.
Unfortunately, the provided documents do not mention the price.
There is no mention of the price in the article.
The height of the tower is not mentioned in the passage.
This information is not provided in the context.
It is not stated in the text.
I don't have enough information to answer this question.
I do not have information about that.
The answer cannot be determined from the passage.
I could not find an answer in the provided documents.
Not enough information.
No information provided.
Not mentioned in the text.
No answer found.
Unanswerable.
I cannot answer this question based on the information provided.
The search results do not contain the answer.
According to the passage, there is no information on his birth.
It is unclear from the text.
I'm unable to answer that question from the given context.
I am unable to find this information in the provided context.
The article says nothing about the cost.
I can't answer that.
The question cannot be answered based on the provided information.
The context provided does not mention the author.
The passage provided doesn't say.
There isn't any information about it in the text.
The sources do not mention it.
The information you provided does not include the date.
I couldn't find any mention of this in the document.
i'm sorry , but i can't answer that .
I couldn't find any information about the price.
I'm sorry, but I could not find the information you requested.
i 'm sorry , but i can 't find any data on this .
I was unable to find any relevant information on this topic.
No relevant information was found.
No results found.
No matching documents were found for your question.
No information is available about the opening hours.
Unknown.
I don't know: the documents say nothing about parking.
I'm sorry, I can't find that in the documents I have.
I do not know - the documents do not mention a price.
I'm not sure: the passage says nothing about it.
The documents we have access to do not say who built it.
unknown
null
N/A
Not available.
I don't know.
I apologize for the confusion.
I'm sorry for any inconvenience this may have caused.
My apologies for the earlier mistake!
I apologize, but I can't help with that.
I'm sorry, but I'm unable to assist you with that request.
As an AI language model, I don't have personal opinions or emotions.
As an AI, I do not have access to that information.
Please contact the service desk.
contact the service desk
For further information, please contact our customer support team.
Please reach out to customer service if you have any questions.
""".strip().split("\n")

STATES = """
No evidence was found by them.
No information was given on United 93.
There is no information available to potential customers.
We couldn't find a taxi.
The police could not find any information on him.
Unknown sources say that it was built in 1889.
The service desk is open from 9 to 5.
Please contact the service desk at 555-1234.
Please contact the service desk within 30 days of the purchase.
For fees contact them directly.
The company apologizes for the explosion that killed 8.
I apologize for the delay of 40 minutes on the line to Kiel.
I don't know the price of a car, but a cabin costs 120 euros.
I couldn't find any information on cars, but dogs travel free.
As an AI language model, I was trained by OpenAI.
I don't answer stupid questions.
I don't know: it opened in 1889.
I don't know: the documents say parking costs 4 euros.
The documents I have prove that it opened in 1889.
I cannot answer every question.
there are no answers proposed.
There is no more information in the world than in Google.
My article doesn't say or imply that.
we didn't provide a draft of this guide.
there is no reference dictionary.
There is no evidence of life on Mars.
The text does not say who built it, but it was Eiffel.
The document was written in 1889.
The constitution does not mention marriage.
The article does not say when because it was lost in 1912.
The Bible doesn't say anything about it.
The information is not available to the public.
The tower is not mentioned in the Bible.
It is impossible to breathe in space.
It was not found in Europe.
The bridge was not included in the plan.
The text contains 45 pages.
The law does not provide for this.
He could not be found in the house.
I can't find my keys in the car.
The passage through the mountains does not have a railway.
The article was not given a title by the author.
We don't have enough information yet to make a final decision.
the lenders were not disclosed according to the source
""".strip().split("\n")


OPENINGS = ("Rest assured that", "Okay, so", "As requested:", "It goes without saying that",
            "The passage does not say it, but", "I couldn't find much, though")
CLAIMS = (
    "The fee rose to 40 euros in March.", "The bridge was closed by the council.",
    "Two of the nine people on the list got a flat.", "Honey does not spoil.",
    "Her brother sold the mill to the brewery.",
)


def tokenised(text: str) -> str:
    return text.lower().replace("n't", " n't").replace(".", " .")


def share(texts: list[str]) -> float:
    return sum(map(has_claim, texts)) / len(texts)


@pytest.mark.parametrize("written", [str, tokenised])
def test_most_refusals_claim_nothing(written: Callable[[str], str]) -> None:
    """The network has not learned from these sentences. The n-grams before it found four fifths of
    the refusals, and rules 7 %."""
    assert share([written(text) for text in ABSTAINS]) < 0.05
    assert share([written(text) for text in STATES]) > 0.7


SHORT = [
    "The press ignored the report.", "The WHO published the report.", "A monk wrote the text.",
    "The spokesman denied the report.", "The guide is out of print.", "Napoleon burned it.",
    "The minutes were read aloud.", "Three editors left the journal over the article.",
]


def test_short_statements_about_a_text_count() -> None:
    """Refusals often end with "the report" or "it". None of these texts is in the training data."""
    assert [text for text in SHORT if not has_claim(text)] in ([], ["The guide is out of print."])


@pytest.mark.parametrize("text", ABSTAINS)
def test_a_claim_beside_a_refusal_counts(text: str) -> None:
    assert has_claim(f"{text} It was built in 1889.")


@pytest.mark.parametrize("opening", OPENINGS)
def test_an_opening_does_not_hide_a_claim(opening: str) -> None:
    for claim in CLAIMS:
        assert has_claim(f"{opening} {claim[:1].lower()}{claim[1:]}")


@pytest.mark.parametrize("text", [
    "I'm afraid the passages don't let me answer this.",
    "The minutes don't seem to contain the names, so I couldn't find that.",
    "Here's what I found in your policy:", "Good luck with the move!",
])
def test_texts_that_assistants_write(text: str) -> None:
    assert not has_claim(text)


def test_what_the_network_learns_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from tools.training import check_worthiness

    monkeypatch.setattr(check_worthiness, "OPEN", {"": ("one",)})
    rows = [{"hypothesis": text} for text in ("It opened in 1901.", "Is it open?", "Too short")]
    with gzip.open(tmp_path / "one.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    parts, claims = check_worthiness.sources(tmp_path)
    held = {text for row in filter(check_worthiness.is_held_out, check_worthiness.parts())
            for text in row[1:2]}
    assert len(held) > 500
    seen = {example.query for example in parts.examples}
    assert len(held & seen) < len(held) / 20, "only stock phrases are in both"
    assert {example.target for example in parts.examples} == {"supported", "refuted", "not_enough"}
    assert {example.target for example in claims.examples} == {"supported", "not_enough"}
    assert list(check_worthiness.further(tmp_path))[-1] == "It opened in 1901."
