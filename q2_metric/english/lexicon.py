"""English word lists and patterns for the syntactic question generator and the claim finder."""

import re

from q2_metric.text.normalise import words

SUBJECTS = words("nsubj nsubjpass csubj csubjpass")
AUXILIARIES = words("aux auxpass")
FINITE = words("VBD VBZ VBP MD")
QUESTION_WORDS = words("who whom whose what which when where why how")
AUXILIARY_VERBS = words("do does did is are was were am has have had can could will would shall "
                        "should may might must")
MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
NOT_ASKED = words("""
    it they them he she him her we us you i me this that these those there who what which one
    something anything nothing everything someone anyone everyone somebody anybody everybody
    myself yourself himself herself itself themselves ourselves each all both some any mine
""")
"""A question about such a word would not say which thing is meant."""
REPORTING = words("know hear think believe read say see agree guess learn find mean show suggest")
"""After these verbs, "that" always begins a clause, even if the parser disagrees."""
CAUSATIVE = words("let make help have see watch hear feel")
"""As in "let him go"."""
PRESUPPOSING = words("""
    know realize realise notice forget remember believe understand mind care hear learn see wait
    mention
""")
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
DROPPED_ADVERBS = words("""
    also too actually just really well so definitely probably maybe perhaps however though
    either basically honestly apparently supposedly obviously certainly indeed even therefore
    when where how then thus
    luckily unfortunately interestingly anyway still yes no ok okay oh ever yep yeah yup nope
""")
PEOPLE = words("""
    actor actress artist athlete author boxer boy brother captain chef child coach comedian
    composer creator dancer daughter designer director doctor drummer economist engineer
    entrepreneur explorer father founder friend girl guitarist guy husband instructor inventor
    journalist judge king lady lawyer leader man manager mayor member mother musician novelist
    officer owner painter person philosopher physicist pilot player poet politician president
    prince princess producer professor psychologist queen rapper referee scientist sculptor
    singer sister soldier son songwriter student teacher trainer wife winner woman worker writer
    guest people women men children parent grandfather grandmother fan kid host
""")
WORKS = words("song album movie film book novel series band show brand team single game city dish")
"""A question about these never asks "who", even if the name is that of a person."""
PLACES = words("""
    area beach building center centre city coast continent country county district garden home
    hospital house island kitchen lake mall mountain museum neighborhood ocean office park place
    planet province region restaurant river school sea state station store street suburb town
    university valley village world zoo room wild desert forest hemisphere
""")
NAMES = words("PERSON GPE NORP LANGUAGE")
"""Entity types whose words get a capital."""
LOCATIVE = words("in at near around from throughout across within inside outside on")
LOCATIONS = words("GPE LOC FAC")
LIGHT_NOUNS = words("""
    type kind sort form lot number couple bit part piece variety branch series cross group member
    range population state city amount level set example majority plenty dozen pair thing
    age end beginning rest start kinds class category percentage area combination
    cup means way place result time study use practice
    ability cultivation process act concept idea chance
""")
"""Nouns that say little without the "of ..." after them. No question asks for them alone."""
BARE_TIME = words("in on during at around about within after before")
DURATION = re.compile(
    r"\b(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|decades?|century|centuries|time"
    r"|while|ages)$"
)
TIME_NOUNS = words(
    "season century era period times year month decade summer winter spring autumn morning evening "
    "night afternoon ages weekend minute second past future"
)
YEAR = re.compile(r"^(?:the )?(?:early |late |mid |mid-)?(?:1\d{3}|20\d\d|\d0)(?:'?s)?$")
OLD_YEAR = re.compile(r"^\d{3}$")
COUNTED = re.compile(
    r"^(?:about |around |over |only |just )?"
    r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|a few|several) "
)
CURRENCY = re.compile(r"[$£€¥]|\b(?:dollar|pound|euro|yen|cent)s?\b")
FREQUENCY = re.compile(r"^(?:every|each)\b|^(?:daily|weekly|monthly|yearly|annually)$")
SCALES = words("old tall long wide high deep thick heavy big large fast far")
NOUN_TAGS = words("NN NNS NNP NNPS CD PRP JJ")
CONTRACTED = {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am", "ca": "can", "wo": "will"}
AGENT_VERBS = words(
    "create write found direct develop produce invent release publish establish discover build "
    "design introduce launch buy acquire sell win rate name own make say announce"
)
"""Actions of organisations: "Who developed it?"."""
PAST_MAKERS = words(
    "create write found direct form develop produce invent release publish record establish "
    "discover build design introduce paint compose launch open coin star set bear"
)
"""Their participle after a noun refers to the past ("a film directed by ...")."""

SPEAKERS = words("i me my myself mine")
"""A clause about the speaker makes no claim about the world. One with "we" often does: it states
what a firm does."""
LIKING = words("like love enjoy hate admire adore prefer recommend appreciate miss")
POINTING = words("it this that these those they he she which who")
"""Words for something named before. A statement about another subject is no mere opinion."""
LINKING = words("be sound look seem feel taste smell")
OPINIONS = words("""
    good best bad worst great nice cool awesome amazing fantastic wonderful
    excellent lovely perfect brilliant incredible unbelievable fascinating interesting impressive
    exciting fun funny hilarious silly crazy weird strange scary sad boring annoying awful terrible
    horrible delicious yummy tasty beautiful gorgeous cute confusing shame pity
    disgusting gross stunning adorable relaxing inspiring heartbreaking
""")
KNOWING = words("""
    know think believe hear read guess say tell see understand find remember learn realize realise
    bet suppose assume feel imagine mention notice forget hope agree
""")
"""With "i know that ...", speakers introduce their own claim."""
SURE = words("sure aware glad surprised certain positive happy")
TEXTS = words("text passage document article source context paragraph excerpt knowledge snippet")
"""As in "the article says ...": the response means its knowledge."""
STATING = words("say state mention note indicate explain tell report show describe confirm")
SPEAKING = STATING | words("add announce warn claim insist argue believe think reckon write admit")
"""As in "the mayor said ...", which is judged together with what he said."""
PASTS = words("""
    came became went grew took gave wrote knew saw began rose fell drew flew spoke broke drove ate
    ran sang swam wore chose forgot hid rode shook stole threw woke was were did had
""")
"""Never participles, even if the parser disagrees."""
EITHER = words("or nor either neither")
"""An alternative is not claimed by itself."""
