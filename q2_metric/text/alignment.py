"""Lexical alignment of a query (hypothesis or question) with a text (premise or passage). The
bundled networks read these types of words in place of BERT's segment ids, so that a small network
does not have to learn which words match."""

import itertools
from collections.abc import Sequence
from functools import lru_cache

TEXT, TEXT_EXACT, TEXT_STEM = 0, 1, 2
QUERY, QUERY_EXACT, QUERY_STEM, QUERY_FUNCTION, QUERY_NUMBER, QUERY_RUN = 3, 4, 5, 6, 7, 8
N_TYPES = 9
"""EXACT and STEM words occur in the other text, as they are or by their stem. A NUMBER does not,
and a RUN occurs together with a neighbour."""

STOP_WORDS = frozenset(
    """a an the this that these those and or but if then so as of in on at by for to from
    with about into over under between during before after is are was were be been being
    am do does did has have had will would can could may might shall should must not no
    it its he she they them his her their him i you we my your our me us there here what
    which who whom whose when where why how also too very just well yes yeah oh than s t
    re ve ll d m . , ! ? ; : ' " ( ) - ` “ ” ’ ‘ – —""".split()
)
"""The networks were trained with this list, so it must not change."""

_SUFFIXES = ("ations", "ation", "ingly", "ness", "ment", "ings", "ies", "ing", "ers", "ity",
             "ed", "er", "es", "ly", "al", "s", "e", "y")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A crude stem of a lower-case word: its last suffix is removed."""
    if len(word) < 4 or not word.isalpha():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def align(query: Sequence[str], text: Sequence[str]) -> tuple[list[int], list[int]]:
    """The type of each lower-case word of the query, and of each word of the text.

    >>> align(["he", "painted", "rivers", "in", "1994"], ["bob", "paints", "rivers"])
    ([6, 5, 4, 6, 7], [0, 2, 1])
    """
    in_text, in_query = set(text), set(query)
    text_stems = {stem(word) for word in in_text if word not in STOP_WORDS}
    query_stems = {stem(word) for word in in_query if word not in STOP_WORDS}
    pairs = set(itertools.pairwise(text))
    query_types = []
    for i, word in enumerate(query):
        beside = itertools.pairwise(query[max(0, i - 1) : i + 2])
        query_types.append(
            QUERY_RUN if not pairs.isdisjoint(beside)
            else QUERY_FUNCTION if word in STOP_WORDS
            else QUERY_EXACT if word in in_text
            else QUERY_NUMBER if any(map(str.isdigit, word))
            else QUERY_STEM if stem(word) in text_stems
            else QUERY)
    return query_types, [
        TEXT if word in STOP_WORDS
        else TEXT_EXACT if word in in_query
        else TEXT_STEM if stem(word) in query_stems
        else TEXT
        for word in text]
