"""Makes spoken questions and dialogues about a pool of snippets, from the pool itself.

Two entities (hotels, restaurants) often have the same question in different words. One wording is
the question in the pool, and the other is what the user says. Fillers, openings and misheard words
turn it into speech. No dialogue of DSTC9 or DSTC10 is read.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from q2_metric.knowledge.mentions import spoken_words
from q2_metric.knowledge.types import SYSTEM, USER, Dialogue, Pool, Snippet, Turn

FILLERS = ("uh", "um", "umm", "er", "like", "you know")
OPENINGS = (
    "", "", "", "thanks", "thanks and", "great", "great and", "perfect", "perfect and", "ok",
    "okay so", "alright", "alright and", "cool", "sounds good", "yes please and", "also",
    "and also", "before i book", "one more thing", "actually", "can you tell me", "do you know",
    "i was wondering", "could you check", "i would like to know", "let me ask you", "thank you",
)
CLOSINGS = (
    "", "", "", "", "", "there", "at this place", "for that", "for me", "please", "by chance",
)
PROPOSALS = (
    "how about {a}", "i found {a}", "there's {a}", "i would recommend {a}", "sure {a} is one",
    "i have two options {a} and {b}", "how about {a} or {b}", "you could try {a} or {b}",
    "{a} fits that", "i'm seeing {a}", "there are {b} and {a}", "one place is {a}",
)
REQUESTS = (
    "hi i'm looking for a {domain}", "i need a {domain} in the area", "can you find me a {domain}",
    "i also need a {domain}", "and i'm looking for a cheap {domain}", "any good {domain} nearby",
)
DETAILS = (
    ("what's the phone number", "it's four one five five five three two nine eight"),
    ("what is the address", "it's at seven five three bush street"),
    ("how much is it", "it's moderately priced"),
    ("what part of town is it in", "{a} is in the center"),
    ("what's the zip code", "the zip code is nine four one zero eight"),
    ("is it any good", "yes {a} has four stars"),
    ("can you book it for two people", "sure your booking is done"),
    ("where is that", "it's in the {area} area"),
    ("is it close to {area}", "it's right near {area}"),
)
AREAS = ("in {area}", "near {area}", "in the {area} area", "around {area}")
CHOICES = ("let's go with {a}", "{a} sounds good", "i'll take {a}", "tell me about {a}")
FIRST, SECOND = ("the first one sounds good", "the second one please")


def noisy(words: Sequence[str], rng: random.Random, rate: float) -> list[str]:
    """The words as a speech recogniser may hear them.

    Args:
        rate: the probability that a word is misspelt or split. Words of one or two letters never
            are.
    """
    heard: list[str] = []
    for word in words:
        if rng.random() >= rate or len(word) < 3:
            heard.append(word)
            continue
        at = rng.randrange(1, len(word))
        letter = rng.choice("aeiounrstlm")
        kind = rng.randrange(4)
        if kind == 0:
            heard.append(word[:at] + word[at + 1 :])
        elif kind == 1:
            heard.append(word[:at] + letter + word[at + 1 :])
        elif kind == 2:
            heard.append(word[:at] + letter + word[at:])
        else:
            heard += [word[:at], word[at:]]
    return heard


def spoken_question(text: str, rng: random.Random, rate: float = 0.07) -> str:
    """A written question as somebody may say it: with an opening, fillers and misheard words.

    Args:
        rate: the probability that a word is misheard.
    """
    words = [*rng.choice(OPENINGS).split(), *spoken_words(text), *rng.choice(CLOSINGS).split()]
    with_fillers: list[str] = []
    for word in noisy(words, rng, rate):
        if rng.random() < 0.05:
            with_fillers.append(rng.choice(FILLERS))
        with_fillers.append(word)
    return " ".join(with_fillers)


@dataclass(frozen=True, slots=True)
class SelectionCase:
    """A dialogue, and the snippet (``gold``) that answers the question in its last turn."""

    dialogue: Dialogue
    gold: Snippet


def dialogue(
    gold: Snippet, question: str, by_domain: dict[str, list[Snippet]], rng: random.Random
) -> SelectionCase:
    """Makes a dialogue about one to three entities that ends in the question of ``gold``.

    In most dialogues, the entity of ``gold`` is the last one that was talked about. In the others,
    it came first, and the question names it again.

    Args:
        question: the question of the last turn, without the name of the entity.
        by_domain: for each domain, one snippet of each entity that has a name; the other entities
            of the dialogue are drawn from these.
    """
    others = [rng.choice(by_domain[rng.choice(list(by_domain))]) for _ in range(rng.randrange(3))]
    again = bool(others) and rng.random() < 0.2
    topics = [gold, *others] if again else [*others, gold]
    turns: list[Turn] = []
    # The names of sights also say where other things are: "near Union Square".
    areas = "attraction" if "attraction" in by_domain else rng.choice(list(by_domain))
    for topic in topics:
        if topic.entity_name is None:
            turns += [Turn(f"i need a {topic.domain}", USER), Turn("sure where to", SYSTEM)]
            continue
        rival = rng.choice(by_domain[topic.domain])
        area = " ".join(spoken_words(rng.choice(by_domain[areas]).subject))
        proposal = rng.choice(PROPOSALS)
        said = proposal.format(a=_said(topic, rng, 0.03), b=_said(rival, rng, 0.03))
        request = rng.choice(REQUESTS).format(domain=topic.domain)
        if rng.random() < 0.4:
            request += " " + rng.choice(AREAS).format(area=area)
        turns += [Turn(spoken_question(request, rng), USER), Turn(said, SYSTEM)]
        if "{b}" in proposal and rng.random() < 0.8:
            if rng.random() < 0.3:
                choice = FIRST if proposal.index("{a}") < proposal.index("{b}") else SECOND
            else:
                choice = rng.choice(CHOICES).format(a=_said(topic, rng, 0.25))
            turns += [Turn(choice, USER), Turn("sure anything else", SYSTEM)]
        for asked, answered in rng.sample(DETAILS, rng.randrange(3)):
            turns.append(Turn(spoken_question(asked.format(area=area), rng), USER))
            turns.append(Turn(answered.format(a=_said(topic, rng, 0.03), area=area), SYSTEM))
    last = spoken_question(question, rng)
    if gold.entity_name is not None and (again or rng.random() < 0.15):
        named = gold.domain if rng.random() < 0.4 else _said(gold, rng, 0.25)
        last += f" {rng.choice(('at', 'for', 'in'))} the {named}"
    return SelectionCase(Dialogue((*turns, Turn(last, USER))), gold)


def _said(snippet: Snippet, rng: random.Random, rate: float) -> str:
    """The spoken name of a snippet's entity, sometimes without its first or last word.

    ``rate`` is the probability that a word is misheard.
    """
    words = spoken_words(snippet.subject)
    if len(words) > 1 and rng.random() < 0.2:
        words = words[:-1] if rng.random() < 0.7 else words[1:]
    return " ".join(noisy(words, rng, rate))


def representatives(pool: Pool) -> dict[str, list[Snippet]]:
    """For each domain, one snippet of each entity that has a name."""
    one = {(s.domain, s.entity_id): s for s in pool if s.entity_name}
    found: dict[str, list[Snippet]] = {}
    for snippet in one.values():
        found.setdefault(snippet.domain, []).append(snippet)
    return found
