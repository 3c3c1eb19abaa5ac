"""English word lists and patterns for the syntactic question generator and the claim finder. The
long lists are in ``words.ini``."""

import re
from configparser import ConfigParser
from importlib.resources import files

from q2_metric.text.normalise import words

STORED = ConfigParser(interpolation=None)
STORED.read_string(files(__package__).joinpath("words.ini").read_text(encoding="utf-8"))
IRREGULAR = dict(STORED["pasts"])
"""The past tense of each irregular verb."""


def listed(name: str) -> frozenset[str]:
    return words(STORED["words"][name])


def rows_of(table: str) -> list[list[str]]:
    """The cells of a table beside the rules about claims."""
    text = files(__package__).joinpath("claims", table).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


SUBJECTS = words("nsubj nsubjpass csubj csubjpass")
AUXILIARIES = words("aux auxpass")
FINITE = words("VBD VBZ VBP MD")
QUESTION_WORDS = words("who whom whose what which when where why how")
AUXILIARY_VERBS = words("do does did is are was were am has have had can could will would shall "
                        "should may might must")
MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
NOT_ASKED = listed("not_asked")
"""A question about such a word would not say which thing is meant."""
REPORTING = words("know hear think believe read say see agree guess learn find mean show suggest")
"""After these verbs, "that" always begins a clause, even if the parser disagrees."""
CAUSATIVE = words("let make help have see watch hear feel")
"""As in "let him go"."""
PRESUPPOSING = listed("presupposing")
"""Their complement is true even if they are denied: "i did not know that ..."."""
DENYING = words("deny doubt dispute refute disprove reject")
NOT_DENYING = words("only until just merely simply necessarily")
"""After "not", they make it deny nothing: "not only"."""
ENDINGS = words("until till")
"""In a clause with one of them, "not" denies nothing: "not ... until 1990" dates something."""
UNASKED = words("intj mark cc preconj parataxis dep meta conj")
"""Dependencies on a verb that questions about its clause leave out."""
LOOSE = words("relcl acl appos cc conj punct preconj advcl intj")
"""Dependencies on a noun that can be left out of its phrase."""
GENERIC = words("those one ones people person something thing things someone")
"""Nouns that need a relative clause to mean something definite: "people who ..."."""
IDIOMS = words("course fact example time lot bit kind sort way thing things sure fun general")
"""Nouns of set phrases ("of all time", "in fact", "by the way")."""
DROPPED_ADVERBS = listed("dropped_adverbs")
PEOPLE = listed("people")
WORKS = words("song album movie film book novel series band show brand team single game city dish")
"""A question about these never asks "who", even if the name is that of a person."""
PLACES = listed("places")
NAMES = words("PERSON GPE NORP LANGUAGE")
"""Entity types whose words get a capital."""
LOCATIVE = words("in at near around from throughout across within inside outside on")
LOCATIONS = words("GPE LOC FAC")
LIGHT_NOUNS = listed("light_nouns")
"""Nouns that say little without the "of ..." after them. No question asks for them alone."""
BARE_TIME = words("in on during at around about within after before")
DURATION = re.compile(
    r"\b(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|decades?|century|centuries|time"
    r"|while|ages)$")
TIME_NOUNS = listed("time_nouns")
YEAR = re.compile(r"^(?:the )?(?:early |late |mid |mid-)?(?:1\d{3}|20\d\d|\d0)(?:'?s)?$")
OLD_YEAR = re.compile(r"^\d{3}$")
COUNTED = re.compile(
    r"^(?:about |around |over |only |just )?"
    r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|a few|several) ")
CURRENCY = re.compile(r"[$£€¥]|\b(?:dollar|pound|euro|yen|cent)s?\b")
FREQUENCY = re.compile(r"^(?:every|each)\b|^(?:daily|weekly|monthly|yearly|annually)$")
SCALES = words("old tall long wide high deep thick heavy big large fast far")
NOUN_TAGS = words("NN NNS NNP NNPS CD PRP JJ")
CONTRACTED = {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am", "ca": "can", "wo": "will"}
AGENT_VERBS = listed("agent_verbs")
"""Actions of organisations: "Who developed it?"."""
PAST_MAKERS = listed("past_makers")
"""Their participle after a noun refers to the past ("a film directed by ...")."""
SPEAKERS = words("i me my myself mine")
"""A clause about the speaker makes no claim about the world. One with "we" often does: it states
what a firm does."""
LIKING = words("like love enjoy hate admire adore prefer recommend appreciate miss")
POINTING = words("it this that these those they he she which who")
"""Words for something named before. A statement about another subject is no mere opinion."""
LINKING = words("be sound look seem feel taste smell")
OPINIONS = listed("opinions")
KNOWING = listed("knowing")
"""With "i know that ...", speakers introduce their own claim."""
SURE = words("sure aware glad surprised certain positive happy")
TEXTS = words("text passage document article source context paragraph excerpt knowledge snippet")
"""As in "the article says ...": the response means its knowledge."""
STATING = words("say state mention note indicate explain tell report show describe confirm")
SPEAKING = STATING | words("add announce warn claim insist argue believe think reckon write admit")
"""As in "the mayor said ...", which is judged together with what he said."""
PASTS = listed("clear_pasts")
"""Never participles, even if the parser disagrees."""
EITHER = words("or nor either neither")
"""An alternative is not claimed by itself."""
