"""Rules that cut text into sentences, also tokenised text in lower case. There they find sentence
ends better than spaCy's small model, which starts a sentence at almost any "i"."""

import re

from q2_metric.text.normalise import words

MAX_SENTENCE = 2000
"""In characters. A longer sentence is cut at a blank, so that any text can be parsed."""

# A match starts only at the beginning of a run of marks. Otherwise a long run would take quadratic
# time.
_ENDING = re.compile(
    r"(?:(?<![.!?…])[.!?…]+(?:\s[.!?…]+)*(?:\s?[\"'”’)\]»]+(?=\s|$))?(?=\s|$))|\n\s*"
    r"|(?<=[^\W\d_]{2})\.(?=[^\W\d_]{2})"  # a full stop without a blank
)
_GLUED = re.compile(r"([^\W\d_]+)(?=[\s,;:'’!?]|\.?(?:\s|$))")
_IN_ADDRESSES = words(
    "com org net edu gov mil int io co uk us eu de fr tv info biz me fm ai ly www js py html htm "
    "php asp aspx xml json pdf txt doc docx csv jpg jpeg png gif mp3 mp4 exe zip"
)
_TITLES = words(
    "mr mrs ms mx messrs mme mlle dr drs st ste prof gen maj col lt sgt cpl capt cmdr adm brig pvt "
    "rep reps sen sens gov rev hon pres supt insp fr br sr amb atty"
)
"""A full stop after a title does not end a sentence."""
INSIDE = {"approx": "approximately", "avg": "average", "ca": "about", "cf": "see",
          "excl": "excluding", "incl": "including", "resp": "respectively", "tbsp": "tablespoons",
          "tsp": "teaspoons", "viz": "namely"}
"""Abbreviations that hardly ever end a sentence, and their meanings."""
_ABBREVIATIONS = _TITLES | INSIDE.keys() | words(
    "jr esq vs ft mt mts ave blvd rd hwy sq dept dist div est al inc ltd co corp llc bros "
    "assn assoc intl natl univ inst govt mfg etc max min temp "
    "jan feb apr jun jul aug sept oct nov dec tue tues thu thur thurs fri "
    "ala ariz calif colo conn fla kan ky mich minn mont neb nev okla tenn tex va vt wis wyo "
    "ont que alta sask hr hrs mins secs yr yrs lb lbs oz mph cc km kg cm mm "
    "ed eds trans repr rept introd abbr anon b.sc e.g i.e u.s u.k u.n d.c a.k.a b.c a.d b.c.e c.e "
    "a.m p.m ph.d m.d b.a m.a r.i n.y n.j n.c s.c n.h n.m n.d s.d l.a u.s.a u.s.s.r"
)
_CAPITAL_ABBREVIATIONS = words(
    "ark del ga ill ind la mass md miss mo ore pa wash mon wed sat sun mar sep me cal cir ct")
"""With a capital only: "Ill." is a state, but "ill." is a word at the end of a sentence."""
_UNITS = words("g m l kg cm mm km ft lb lbs oz tbsp tsp cc mph hr hrs min mins secs yr yrs")
"""A full stop after a number and a unit ends a sentence if a capital follows: "4 g. Stir it."."""
_APART = {("i", "e"), ("ph", "d")}
"""The two parts of abbreviations that a tokenizer splits: "i . e ." and "ph . d ."."""
_NUMBERED = words(
    "no nos vol vols fig figs p pp ch chap sec sect art eq eqs op para pt pts ver ex app tab bk "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
"""They stand before a number."""
_SUBJECT_STARTERS = words("the it he she they we i you this that these those there")
_STARTERS = _SUBJECT_STARTERS | words(
    "in on at a an his her its their but and so yes no what who when where how if each some many "
    "most all one as for while after since before our your my"
)
_GOES_ON = words("a an the and or than that within into")
"""A line that ends with one of these is broken inside a sentence."""
_TURNS = words("i oh yes yeah yea yep no well lol ok okay can could do does did what where when "
               "who how why thats")
"""Words with which a speaker often begins, also in lower case."""
_ENTRY = re.compile(r"\w+ ?[:=]|[^\n]*(?:\||\S  +\S)")
"""A line with a name before it, or with columns: it does not go on with the line above."""
_FEW = 3
"""A line of fewer words may be an item of a list in lower case."""
_NEAR = 24
"""Characters before a mark in which its last word is looked for."""
_INITIALS = re.compile(r"(?:[a-z]\.)*[a-z]")
_LAST_WORD = re.compile(rf"(?:\b[a-zA-Z] ?\. ?){{0,{_NEAR}}}[\w-]{{1,{_NEAR}}} ?\Z")


def _ends(text: str, match: re.Match[str], lower: bool) -> bool:
    """``lower``: the text has no capitals, so that sentences may begin in lower case."""
    if match.group().isspace():
        return lower or not _is_wrapped(text, match)
    if match.end() < len(text) and text[match.end()].isalnum():
        return _is_glued(text, match.start(), lower)
    following = text[match.end() : match.end() + 40].split(None, 1)
    if not following or match.group().strip("\"'”’)]» ") != ".":
        # "!", "?" and "..." end a sentence, unless the next word begins with a lower-case letter.
        return lower or not following or not following[0][0].islower()
    as_written = _last_word(text, match.start())
    last, word = as_written.replace(" ", "").lower(), following[0]
    capital = word[0].isupper()
    if (last, word) in _APART or (last in _NUMBERED and word[0].isdigit()):
        return False
    before = text[max(0, match.start() - 2 * _NEAR) : match.start()].rstrip()
    before = before.removesuffix(as_written).rstrip()
    if capital and last in _UNITS and before[-1:].isdigit():
        return True
    if last in _ABBREVIATIONS or (last in _CAPITAL_ABBREVIATIONS and as_written.istitle()):
        starters = _STARTERS if capital else _SUBJECT_STARTERS if lower else frozenset[str]()
        return last not in _TITLES and word.strip(",.").lower() in starters
    if _INITIALS.fullmatch(last) and last != "i":
        # An initial ("j . r . r . tolkien"), unless a new sentence clearly starts.
        return word.lower() in _STARTERS - {"a", "i"}
    if last.isdigit() and len(last) <= 3 and word[0].isdigit():
        return False  # "1 . 5"
    return lower or not word[0].islower()


def _is_wrapped(text: str, match: re.Match[str]) -> bool:
    """Whether a line ends inside a sentence, as in text that is broken at a width."""
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    said, following = line.split(), text[match.end() : match.end() + 40].split(None, 1)
    ends = line[-1:]
    if (not following or match.group() != "\n" or not (ends.isalpha() or ends == ",")
            or _ENTRY.match(line) or _ENTRY.match(text, match.end())):
        return False
    goes_on = following[0][0].islower() and following[0] not in _TURNS and len(said) >= _FEW
    return goes_on or (following[0][0].isalnum() and said[-1].lower() in _GOES_ON)


def _last_word(text: str, stop: int) -> str:
    nearby = _LAST_WORD.search(text[max(0, stop - _NEAR) : stop])
    return nearby[0].rstrip() if nearby else ""


def _is_glued(text: str, stop: int, lower: bool) -> bool:
    """Whether a full stop without a blank ends a sentence, unlike the one in "example.com"."""
    last = _last_word(text, stop).lower()
    after = _GLUED.match(text, stop + 1)
    if (not after or not last.isalpha()
            or {last, after[1].lower()} & (_ABBREVIATIONS | _IN_ADDRESSES)
            or not (lower or (text[stop - 1].islower() and after[1].istitle()))):
        return False
    before = text[max(0, stop - _NEAR) : stop].rsplit(None, 1)
    return not any(mark in before[-1] for mark in "/@\\")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """The range (start, end) of each sentence, without blanks at its ends. Every other character
    lies in exactly one sentence.

    >>> split_sentences("it ' s from st . louis . i love it ! ! !")
    [(0, 24), (25, 40)]
    """
    lower = not any(letter.isupper() for letter in text)
    cuts = [m.end() for m in _ENDING.finditer(text) if _ends(text, m, lower)]
    sentences: list[tuple[int, int]] = []
    start = 0
    for cut in [*cuts, len(text)]:
        while start < cut:
            end = cut
            if end - start > MAX_SENTENCE:
                blank = text.rfind(" ", start + 1, start + MAX_SENTENCE)
                end = blank if blank > 0 else start + MAX_SENTENCE
            piece = text[start:end].strip()
            left = text.find(piece, start)
            right = left + len(piece)
            lone_marks = piece and not any(map(str.isalnum, piece))  # '" .'
            if sentences and lone_marks and right - sentences[-1][0] <= MAX_SENTENCE:
                sentences[-1] = (sentences[-1][0], right)
            elif piece:
                sentences.append((left, right))
            start = end
    return sentences
