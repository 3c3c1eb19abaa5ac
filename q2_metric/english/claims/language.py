"""Decides by letter groups and common words whether a text is in any language, and in which.
``python -m tools.training.language`` makes the table of 42 languages, ``language.tsv``."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from q2_metric.english.lexicon import rows_of

TABLE = "language.tsv"
LATIN, HAN, HANGUL = "LATIN", "CJK", "HANGUL"
LEAST = 10
"""A text with fewer letter groups always counts as language: a single name has so few."""
KNOWN = 0.65
"""Minimum share of a text's letter groups that must occur in some language."""
DISTINCT = 0.34
"""Minimum share of different groups among a text's first letter groups."""
READ = 300
"""Number of letter groups among which repetitions are counted. Any longer text repeats groups."""
LONGEST = 60
"""Letters examined in a word."""
STRETCH = 10
"""So many words without a punctuation mark are no list of names."""
COMMON = 1 / 15
"""Minimum share of common words in a text with so long a stretch."""
READ_FOR_LANGUAGE = 10_000
"""Characters by which a text's language is told."""
FEWEST, FEWEST_SIGNS = 6, 10
"""Words, and signs of a script without blanks, that a text in another language has at least."""
FOREIGN, FOREIGN_ACCENTED = 3, 2
"""Different common words of another language in such a text, at least; with accented letters."""
FOREIGN_SHARE = 0.12
"""Their minimum share of its words."""
ENGLISH_SHARE = 0.3
"""A text with more common words of English is English."""
UNSPACED = (HAN, "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""Scripts without blanks between words."""
_NOT_FOLDED = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae",
                             "œ": "oe", "þ": "th", "ð": "d", "ħ": "h", "ŋ": "n", "ə": "e"})
_ACCENTS = re.compile("([a-z\u00df-\u024f\u0370-\u03ff])[\u0300-\u036f]+")
_SPELT = re.compile(
    r"\d|[@_\\/=<>{}|$#]|www\.|\w[.(]\w"  # XR-500, H2O, addresses, paths, code
    r"|[a-z][A-Z]|(?<![^\W\d_])[A-Z]{1,5}s?(?![^\W\d_])"  # NaCl, NATO
)
"""As in "XR-500", "NaCl". Such words are ignored."""
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0590-\u05ff\u064b-\u065f\u0670"
                   r"\u0900-\u0dff\u0e30-\u0e4e\u200c\u200d])*")
"""Letters, with the vowel signs and accents of their script."""
_BREAK = re.compile(r"[^\w\s'’-]+")


class LanguageTables(NamedTuple):
    """``groups`` are three letters in the Latin script, one in Chinese and Korean, and two in other
    scripts. A blank marks the start and the end of a word (" to"). ``words`` are the common words
    of all languages in the Latin script, ``languages`` those of each, by its code."""

    groups: frozenset[str]
    words: frozenset[str]
    languages: Mapping[str, frozenset[str]]
    scripts: frozenset[str]


def is_language(text: str) -> bool:
    """Whether a text could be natural language rather than gibberish. In doubt it could. Capitals
    matter, because they identify names and formulas.

    >>> is_language("asdf qwer zxcv"), is_language("itititititititit")
    (False, False)
    >>> is_language("Der Turm wurde 1889 gebaut"), is_language("XR-500, NaCl, f(x)")
    (True, True)
    """
    plain = text.lower() if text.isupper() else text
    plain = " ".join("0" if _SPELT.search(piece) else piece for piece in plain.split())
    words = [word[:LONGEST] for word in _WORD.findall(folded(plain))]
    return not (_has_unknown_groups(words) or _repeats_groups(words) or _lacks_common_words(plain))


@lru_cache(256)
def not_english(text: str) -> str | None:
    """The language of a text that is not English: its ISO 639-1 code, or "und" for one that the
    table does not have. ``None`` if the text is English, or in doubt: if it is short, a list of
    names, numbers or code, or English with words of another language.

    >>> not_english("Der Turm wurde 1889 in Paris gebaut und ist nicht der Turm, den ich meine.")
    'de'
    >>> not_english("The Casa de la Cultura de los Andes, in Quito") is None
    True
    """
    plain = " ".join(piece for piece in text[:READ_FOR_LANGUAGE].split()
                     if not _SPELT.search(piece) or not piece.isascii())
    words = _WORD.findall(folded(plain))
    letters: Counter[str] = Counter()
    for word in words:
        letters[_script(word[0])] += len(word)
    if not letters:
        return None
    script = letters.most_common(1)[0][0]
    own = [word for word in words if _script(word[0]) == script]
    if script == LATIN:
        small = sum(piece[0].islower() for piece in _WORD.findall(plain))
        return _latin_language(own, plain) if 5 * small >= 2 * len(words) else None  # names
    enough = letters[script] >= FEWEST_SIGNS if script in UNSPACED else (
        len(own) >= FEWEST and letters[script] >= 2 * len(own))  # not formulas with Greek letters
    if not enough or 2 * letters[script] < letters.total():
        return None
    return _other_language(script, own, letters)


def _latin_language(words: Sequence[str], plain: str) -> str | None:
    languages, counted = _table().languages, Counter(words)
    english = languages["en"]
    said = sum(counted[word] for word in counted.keys() & english)
    if len(words) < FEWEST or said > ENGLISH_SHARE * len(words):
        return None
    hits = {name: (counted.keys() & known) - english
            for name, known in languages.items() if name != "en"}
    times = {name: sum(counted[word] for word in found) for name, found in hits.items()}
    best = max(times, key=lambda name: times[name])
    rest = sum(counted[word] for word in counted.keys() & english - languages[best])
    least = FOREIGN if plain.isascii() else FOREIGN_ACCENTED
    foreign = len(hits[best]) >= least and times[best] >= FOREIGN_SHARE * len(words)
    return best if foreign and times[best] > 3 * rest else None


def _other_language(script: str, words: Sequence[str], letters: Counter[str]) -> str:
    kana = letters["HIRAGANA"] + letters["KATAKANA"]
    if kana and (script != HAN or 10 * kana > letters[HAN]):
        return "ja"
    if script in (HAN, HANGUL):
        return "zh" if script == HAN else "ko"
    counted = Counter(words)
    times = {name: sum(counted[word] for word in counted.keys() & known)
             for name, known in _table().languages.items()}
    best = max(times, key=lambda name: times[name])
    return best if times[best] else "und"


def folded(text: str) -> str:
    """As in "Łódź" → "lodz"."""
    if text.isascii():
        return text.lower()
    apart = _ACCENTS.sub(r"\1", unicodedata.normalize("NFD", text.lower()))
    return unicodedata.normalize("NFC", apart).translate(_NOT_FOLDED)


@lru_cache(1 << 16)
def groups(word: str) -> tuple[tuple[str, str], ...]:
    """The letter groups of a :func:`folded` word, each with its script.

    >>> [group for group, _ in groups("tower")]
    [' to', 'tow', 'owe', 'wer', 'er ']
    """
    pieces: list[str] = []
    for sign in word:
        if pieces and _script(sign) in (_script(pieces[-1][-1]), ""):
            pieces[-1] += sign
        else:
            pieces.append(sign)
    found = []
    for piece in pieces:
        script = _script(piece[0])
        size = SIZES.get(script, 2)
        whole = piece if size == 1 else f" {piece} "
        found += [(whole[i : i + size], script) for i in range(len(whole) - size + 1)]
    return tuple(found)


@lru_cache(1 << 16)
def _script(sign: str) -> str:
    """"" for an accent on the letter before."""
    if sign < "\u0250":
        return LATIN
    if unicodedata.category(sign) in ("Mn", "Mc", "Cf"):
        return ""
    first = unicodedata.name(sign, "?").split()[0]
    return {"IDEOGRAPHIC": HAN, "KATAKANA-HIRAGANA": "KATAKANA"}.get(first, first)


@lru_cache(1 << 16)
def _group_counts(word: str) -> tuple[int, int, frozenset[str]]:
    """The number of the word's groups in the table, of all its groups, and its unknown scripts."""
    found, table = groups(word), _table()
    other = frozenset(script for _, script in found if script not in table.scripts)
    return sum(group in table.groups for group, _ in found), len(found), other


def _has_unknown_groups(words: Sequence[str]) -> bool:
    counted = [_group_counts(word) for word in dict.fromkeys(words)]
    alone = len(frozenset().union(*(scripts for _, _, scripts in counted))) == 1
    counted = [one for one in counted if not (alone and one[2])]  # only unknown scripts
    total = sum(size for _, size, _ in counted)
    return total >= LEAST and sum(known for known, _, _ in counted) < KNOWN * total


def _repeats_groups(words: Sequence[str]) -> bool:
    read: list[str] = []
    for word in words:
        if len(read) >= READ:
            break
        read += [group for group, _ in groups(word)]
    return len(read) >= LEAST and len(set(read)) < DISTINCT * min(len(read), READ)


def _lacks_common_words(text: str) -> bool:
    stretches = [stretch.split() for stretch in _BREAK.split(text)]
    if max(map(len, stretches)) < STRETCH:
        return False
    words = [word for stretch in stretches for word in stretch]
    if 2 * sum(word[0].isupper() for word in words) > len(words):
        return False  # a title, or names
    inner = _WORD.findall(folded(text))
    return (len(inner) >= STRETCH and all(_script(word[0]) == LATIN for word in inner)
            and sum(word in _table().words for word in inner) < COMMON * len(inner))


@cache
def _table() -> LanguageTables:
    """A line has a script and all its groups, or a language and its common words."""
    rows = rows_of(TABLE)
    by_script = {script: packed for script, packed in rows if script.isupper()}
    languages = {name: frozenset(packed.split()) for name, packed in rows if name.islower()}
    return LanguageTables(
        frozenset(packed[i : i + size] for script, packed in by_script.items()
                  for size in (SIZES.get(script, 2),)
                  for i in range(0, len(packed), size)),
        frozenset(word for known in languages.values() for word in known
                  if _script(word[0]) == LATIN),
        languages,
        frozenset(by_script))


SIZES = {LATIN: 3, HAN: 1, HANGUL: 1}
"""Letters in a group, by script; two in any other."""
