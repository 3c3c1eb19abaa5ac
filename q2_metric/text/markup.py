"""Removes markup, which states nothing about the world. Blanks overwrite it, so that every other
character keeps its position. The numbers of a list become dashes."""

import html
import re

from q2_metric.memory import LruCache

SOURCE = (r"(?:doc|document|source|ref|reference|passage|context|citation|cite|chunk|snippet)s?"
          r"[\s.:#_-]*")
NAME = r"[\^#]?\d{1,3}"
NAMES = rf"{NAME}(?:\s*(?:[,;&–-]|and)\s*(?:{SOURCE})?{NAME})*"
FILE = r"[\w./-]{1,80}\.(?:pdf|docx?|html?|md|txt|csv|xlsx?|pptx?|json)"
_PAGE = r"(?:\s*,\s*(?:pp?\.?|pages?|§|section|sec\.)\s*\d{1,4}(?:\s*[–-]\s*\d{1,4})?)?"
"""Patterns of a citation: the word before the passages' numbers with the signs after it, a number,
several numbers, the name of a file, and a page, which may be missing."""

_MARK = rf"\[\s*(?:{SOURCE})?{NAMES}{_PAGE}\s*\](?!\()"
_MARKS = rf"(?:{SOURCE})?{_MARK}(?: ?(?:,|&|,? and) ?(?:{SOURCE})?{_MARK}){{0,9}}"
"""A citation, and several that are words of their sentence: "according to [1] and [2]"."""

_AFTER = r"(?:(?<=[a-z]{3})|(?<=[.,;!?]))"
"""What stands before a raised number that is a citation. In "m²" and "10^6", it is none."""

_ATTRIBUTE = r"""\s+[a-z_:][\w:.-]*\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""

# A text that a reader takes for a statement must not match: <the tower is tall>.
_WHOLE = (
    # A model's reasoning before its answer. The opening tag may be missing because the chat
    # template contains it. The closing tag may be missing because of a token limit.
    re.compile(r"(?:<think(?:ing)?>|\A)(?:(?!</?think(?:ing)?>).)*</think(?:ing)?>"
               r"|<think(?:ing)?>(?:(?!</?think(?:ing)?>).)*\Z", re.DOTALL | re.IGNORECASE),
    re.compile(rf"{_AFTER}(?:<sup>\s*\[?\d{{1,2}}\]?\s*</sup>"
               r"|(?:\^\d{1,2}|[¹²³⁴-⁹]{1,2})(?!\w))", re.IGNORECASE),  # a raised number
    # Emoji and smileys.
    re.compile(r"[\U0001F000-\U0001FAFF\uFE0F\u200D]+|(?<!\S)[:;]-?[)(DP](?!\S)"),
    re.compile(r"<!--(?:(?!<!--).){0,2000}?-->", re.DOTALL),
    re.compile(rf"</?[a-z][a-z0-9]*(?:{_ATTRIBUTE})*\s*/?>", re.IGNORECASE),
    re.compile(rf"\(\s*(?:see\s+)?{_MARKS}\s*\)", re.IGNORECASE),  # (see [1])
    re.compile(r",?\s?\b(?:according to|as per|per|based on|from|in|see|as \w{4,10} (?:in|by))\s+"
               rf"{_MARKS}\s?[,:]?", re.IGNORECASE),  # according to [1]
    re.compile(rf"(?:(?<=[.!?]\s)|^|,?\s?\bas\s+){_MARKS}\s+(?:says?|states?|mentions?|notes?"
               r"|reports?|explains?|indicates?|confirms?|shows?)\b(?:\s+that\b|,)?",
               re.IGNORECASE | re.MULTILINE),  # [1] states that; as [1] says
    re.compile(rf"\^?{_MARK}\^?|\[citation needed\]"
               r"|\(?\[(?:sources?|read more|learn more)\]\([^()\s]*\)\)?",
               re.IGNORECASE),  # [1], [2, 3], [doc 4]
    re.compile(rf"\(\s*(?:see\s+)?(?:{SOURCE}){{1,2}}{NAMES}{_PAGE}"
               r"(?:\s+for (?:more )?(?:details|information))?\s*\)",
               re.IGNORECASE),  # (source: doc 2)
    re.compile(rf"[(\[]\s*(?:see\s+)?(?:{SOURCE})?{FILE}{_PAGE}\s*[)\]](?!\()",
               re.IGNORECASE),  # (see rules.pdf, p. 3)
    re.compile(r"【\d[^\s【】]{0,60}】"),
    re.compile(r"^[ \t]*#{1,6}(?=[ \t]+\S)", re.MULTILINE),
)
"""Overwritten completely."""


def _around(sign: str, most: int) -> re.Pattern[str]:
    """Words of one line between 1 to ``most`` signs on both sides: "**bold**"."""
    return re.compile(rf"(?<![\w{sign}]){sign}{{1,{most}}}(?=\S)([^\n{sign}]{{1,300}})"
                      rf"(?<=\S){sign}{{1,{most}}}(?![\w{sign}])")


_AROUND = (
    re.compile(r"!?\[([^\[\]\n]+)\]\([^()\s]*(?:\s+\"[^\"\n]*\")?\)"),  # [text](address)
    _around(r"\*", 3),
    _around("`", 3),
    _around("_", 2),
)
"""Overwritten except for the pattern's group."""

_NAMED = r"(?:[^\n.!?:]|(?<=\b[a-z])\.|(?<=\b[dms][rs])\.|(?<=\bmrs)\.|(?<=\bprof)\.){0,40}"
"""A name, perhaps with a title and initials."""
_FRAME = (
    # A block that is not closed ends with the text.
    re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S),
    re.compile(rf"\A\s*(?:dear|hi|hello|hey|good (?:morning|afternoon|evening))\b{_NAMED}[,!]"
               r"[ \t]*\n", re.IGNORECASE),
    re.compile(r"^[ \t]*(?:(?:with )?(?:kind|kindest|best|warm) (?:regards|wishes)|yours \w{4,10}"
               r"|sincerely|regards|cheers|best|many thanks),?[ \t]*\n"
               rf"(?:{_NAMED}(?:Inc\.|Ltd\.)?(?:\n|\Z)){{0,3}}\Z", re.IGNORECASE | re.MULTILINE),
    # Only lines with an address, so that no claim can hide here.
    re.compile(r"^[ \t#*_]*(?:references|bibliography|works cited|citations|footnotes)\b[ \t:*_]*\n"
               rf"(?:[ \t]*(?:[-*•–\[\d][^\n]*(?:https?://|www\.|\]\(|{FILE})[^\n]*)?(?:\n|\Z))+\Z",
               re.IGNORECASE | re.MULTILINE),
    re.compile(r"^[ \t]*\[\^\w{1,8}\]:[^\n]*", re.MULTILINE),
    re.compile(rf"^[ \t]*(?:citations|references|sources):[ \t]*(?:\[{NAMES}\][ \t,;.]*)+$",
               re.IGNORECASE | re.MULTILINE),
)
"""Parts of a response that state nothing: code, a letter's greeting and signature, references."""
_ENDING = re.compile(r"</(?:t[dh]|tr|li|p|h[1-6]|div|ul|ol|dt|dd|table)\s*>|<br\s*/?>",
                     re.IGNORECASE)
"""Tags that end a cell or a line."""
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{2,5});")

_GAP = re.compile(r"\s{2,}([.,;:!?)\]]?)")
"""The blanks that overwritten markup leaves, and a punctuation mark after them."""

_ITEM = re.compile(r"^([ \t]*)(\d{1,2})[.)](?=[ \t]+\S)", re.MULTILINE)
_INLINE = re.compile(r"(?<![^\s:;,.])\(?(\d)\)(?=\s+\S)")
"""The number of a list's line, and of an item in a sentence: "1) Basic, 2) Pro"."""

_MAY_HAVE = re.compile(r"[<&\[(【#*`_^¹²³⁴-⁹\uFE0F\U0001F000-\U0001FAFF]|[:;]-?[)(DP]"
                       r"|^[ \t]*1[.)]|\b1\)", re.MULTILINE)
"""A text without a match has no markup. Most sentences have none, and each is asked for often."""
_BARE: LruCache[str, str] = LruCache(4096, 10_000_000)
"""Every metric of a run reads the same texts."""


def unmarked(text: str) -> str:
    """Overwrites markup with blanks, so that the length is unchanged.

    >>> unmarked("a [link](http://a.b), **bold**; 2 * 3 * 4, x[10001]")
    'a  link             ,   bold  ; 2 * 3 * 4, x[10001]'
    """
    if not _MAY_HAVE.search(text):
        return text
    bare = _BARE.get(text)
    if bare is None:
        bare = _ENTITY.sub(_character, text)
        for pattern in _WHOLE:
            bare = pattern.sub(_blank, bare)
        for pattern in _AROUND:
            bare = pattern.sub(_blank_around, bare)
        # A single number may be part of a statement.
        if [number for _, number in _ITEM.findall(bare)][:2] == ["1", "2"]:
            bare = _ITEM.sub(lambda item: f"{item[1]}-".ljust(len(item[0])), bare)  # still a list
        if _INLINE.findall(bare)[:2] == ["1", "2"]:
            bare = _INLINE.sub(_comma, bare)
        _BARE.put(text, bare, len(text))
    return bare


def body(response: str) -> str:
    """Overwrites with blanks what states nothing: code blocks, the greeting and the signature of a
    letter, references at the end.

    >>> body("Type\\n```\\nx = 4\\n```\\nand it prints 4.").split()
    ['Type', 'and', 'it', 'prints', '4.']
    """
    for pattern in _FRAME:
        response = pattern.sub(_blank, response)
    return response


def laid_out(text: str) -> str:
    """Replaces tags that end a table cell by "|" and tags that end a line by a newline. Blanks are
    added, so that the length is unchanged."""
    return _ENDING.sub(_end, text)


def squeezed(text: str) -> str:
    """Removes the blanks that :func:`unmarked` left. A single one stays, as in "it is tall ."."""
    return _GAP.sub(lambda match: match[1] or " ", text)


def _end(match: re.Match[str]) -> str:
    sign = "|" if match.group()[2:4].lower() in ("td", "th") else "\n"
    return sign.ljust(len(match.group()))


def _character(match: re.Match[str]) -> str:
    read = html.unescape(match.group()).replace("\u00a0", " ")
    return read.rjust(len(match.group())) if len(read) == 1 else match.group()


def _comma(match: re.Match[str]) -> str:
    before = match.string[: match.start()].rstrip()
    return ("," if before[-1:].isalnum() else " ").ljust(len(match.group()))


def _blank(match: re.Match[str]) -> str:
    # Line ends are kept, because they separate sentences.
    return re.sub(r"[^\n]", " ", match.group())


def _blank_around(match: re.Match[str]) -> str:
    return match[1].rjust(match.end(1) - match.start()).ljust(len(match[0]))
