"""Decides whether a text makes a claim that could be checked. In doubt, it does. Short answers are
read with their questions."""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from q2_metric.english.claims.check_worthiness import says_nothing, statements
from q2_metric.english.claims.language import is_language
from q2_metric.english.claims.word_order import CONTRACTED, in_order
from q2_metric.english.lexicon import QUESTION_WORDS, listed
from q2_metric.text.sentences import split_sentences

FUNCTION_WORDS = listed("function_words")
_SMALL_TALK = listed("small_talk")
NOT_CLAIMED = FUNCTION_WORDS | _SMALL_TALK
"""A sentence of such words only makes no claim."""
_SOUND = re.compile(
    r"[a-z]?|(ha|he|ho|ja){2,}h?|l+o+l+|(lo){2,}l|r?o?f?lmf?ao+|rofl|h+m+|m+|mhm+|w+o+w+|wo+h+o+|wo+a+h*"
    r"|o+h+|a+h+|u+h+|u+m+|e+h+|hu+h|e+w+|a+w+|ya+y+|ye+a+h+|ye+s+|no+|na+h+|oo+ps|yu+m+|ug+h+"
    r"|ee+k|sh+|z+|so+|su+re|thank+s+|he+y+|hi+|ok+|x+d+|idk|imo|imho|btw|tbh|brb|pls|im|ive|id"
    r"|dont|cant|wont|didnt|doesnt|isnt|thats|whats|youre|theyre|ur|u|gotta|gonna|wanna|kinda")
_AGAIN = re.compile(r"(.{1,4}?)\1{2,}")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_APART = re.compile(r" ?' ?(s|m|re|ve|ll|d|t)\b(?!')")
_ENDS = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|\n+")
_ASKS = re.compile(r"(?:[a-z]+ ?, )?(?:is it true\b|have you heard of\b|(?:(?:do|did) you know )?"
                   rf"(?:{'|'.join(sorted(QUESTION_WORDS))})\b).*\?\W*$", re.DOTALL)
"""As in "wow , when was it built ?"."""
_HEART = re.compile(r"(?<!<)<+3+|[:;=8x][-o^']?[()\[\]dp3/\\|*]+(?!\w)")


def has_claim(sentence: str, history: Sequence[str] = ()) -> bool:
    """Whether a text of one or more sentences makes a claim.

    Small talk, questions, sounds, endless repetitions, copies of an earlier turn of ``history``,
    statements that the given text has no answer, and texts in no language or in no order make none.
    The text may be in lower case and tokenised ("do n't").

    >>> has_claim("yes , it was built in 1889 .")
    True
    >>> has_claim("that's awesome! what do you think ?")
    False
    """
    return _has_claim(sentence, tuple(history))


@functools.lru_cache(maxsize=1024)  # every metric of a run asks about the same texts
def _has_claim(sentence: str, history: tuple[str, ...]) -> bool:
    said = {tuple(_words(part)) for turn in history for part in (turn, *sentences(plain(turn)))}
    echoed = {words for words in said if len(words) > 2}  # a mere name may be repeated
    words = _words(sentence)
    if _repeats(words) or tuple(words) in echoed:
        return False
    return in_order(part for part in stating(sentence) if tuple(_words(part)) not in echoed)


def stating(text: str) -> Iterator[str]:
    """Yields, once each, the sentences that state something in some language, in any word order."""
    for part in dict.fromkeys(sentences(text)):
        whole, said = joined(part), plain(part)
        if (any(map(is_content, _WORD.findall(said))) and not _ASKS.match(said)
                and is_language(part) and not says_nothing(whole)):
            yield whole


def read_ahead(texts: Iterable[str]) -> None:
    """Lets the network read texts in batches that are asked about one by one afterwards."""
    statements([joined(part) for text in texts for part in sentences(text)])


def plain(text: str) -> str:
    """In lower case, with contractions in one piece ("it 's" → "it's") and without emoticons."""
    return joined(text.lower())


def joined(text: str) -> str:
    text = text.replace("’", "'").replace("`", "'").replace(" n't", "n't")
    return _HEART.sub(" ", _APART.sub(r"'\1", text))


def sentences(text: str) -> list[str]:
    """The rules may cut a sentence in two: for finding a claim, this does no harm."""
    return [part for part in _ENDS.split(text) if part.strip()]


def _words(text: str) -> list[str]:
    return _WORD.findall(plain(text))


def _repeats(words: Sequence[str]) -> bool:
    """One or two words, or one syllable, at least three times."""
    if len(words) == 1:
        return not words[0].isdigit() and bool(_AGAIN.fullmatch(words[0]))
    return len(set(words)) <= 2 and len(words) >= 3 * len(set(words))


def is_content(word: str) -> bool:
    stem = CONTRACTED.sub("", word)
    return stem not in NOT_CLAIMED and not _SOUND.fullmatch(stem)


# --- yes/no questions and short answers -------------------------------------------------------

LONGEST = 14
"""In words, of a short answer."""
YesNo = Literal["yes", "no"]
_PRONOUN = r"(?:it|he|she|they|there|that|this|you)"
_AUXILIARY = (r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|should|must|may)")
_SURELY = r"(?:of course|certainly|absolutely|definitely)"
_YES = re.compile(
    rf"(?:(?:yes|yeah|yep|yup|correct|true|indeed)(?:[,\s]+{_SURELY})?|{_SURELY})"
    rf"(?:[,\s]+{_PRONOUN} {_AUXILIARY})?[\s.!]*", re.IGNORECASE)
_NO = re.compile(
    rf"(?:(?:no|nope|nah|incorrect|false)(?:[,\s]+{_SURELY} not)?|{_SURELY} not)"
    rf"(?:[,\s]+{_PRONOUN} (?:{_AUXILIARY} ?(?:not|n['’]t)|can(?:not|['’]t)|won['’]t))?[\s.!]*",
    re.IGNORECASE)
_POLITE = re.compile(r"(?:and|so|but|ok|okay|then|hi|hello|please)\b[,\s]*", re.IGNORECASE)
_ASKS_FOR_YES = re.compile(rf"(?:{_AUXILIARY}|am)\s+(?!you\b|your\b|we\b|n['’]t)", re.IGNORECASE)
_QUESTION_BEGINS = re.compile(
    r"(?:who|what|which|when|where|how|in (?:which|what)|is|are|was|were|does|do|did|has|can)\s",
    re.IGNORECASE)


def is_short(response: str) -> bool:
    return len(response.split()) <= LONGEST


def verdict_of(response: str) -> YesNo | None:
    """What a response says, if it says only "yes" or "no".

    >>> verdict_of("Yes, it does."), verdict_of("No."), verdict_of("Yes, on Sundays.")
    ('yes', 'no', None)
    """
    said = response.strip()
    return "yes" if _YES.fullmatch(said) else "no" if _NO.fullmatch(said) else None


def last_question(text: str) -> str:
    """The last sentence of a text if it is a question; otherwise "".

    >>> last_question("I like towers. And when was it built?")
    'when was it built?'
    """
    sentences = split_sentences(text)
    said = text[slice(*sentences[-1])] if sentences else ""
    while (opening := _POLITE.match(said)) is not None and opening.end() < len(said):
        said = said[opening.end() :]
    return said if said.endswith("?") or _QUESTION_BEGINS.match(said) else ""


def decides(response: str, question: str | None) -> bool:
    """Whether a response only says "yes" or "no" to a yes/no question."""
    return bool(question and verdict_of(response) and _ASKS_FOR_YES.match(last_question(question)))
