"""``python -m tools.training.language --data FOLDER``: makes the rule's table.

:mod:`q2_metric.english.claims.language` uses this table to tell language from gibberish. It
contains common groups of letters, counted in wordfreq's lists of common words of 42 languages. Then
the command measures the two errors of the rule: which real texts it rejects (hypotheses of the
annotated sets, spaCy's example sentences of 68 languages), and how much noise it accepts.
"""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import click

from q2_metric.english.claims import language
from q2_metric.english.claims.language import HAN, HANGUL, LATIN, SIZES, folded, groups, is_language
from tools.training.examples import read_jsonl

WORDS, ENGLISH = 12000, 30000
"""Number of words in which letter groups are counted, for each other language and for English."""
SHARE = {LATIN: 1.5e-4, HAN: 4e-5, HANGUL: 4e-5}
"""By script: a letter group is kept if it makes up at least this share of a language's groups."""
OTHER = 4e-4
"""This share for all other scripts."""
COMMONEST, COMMONEST_ENGLISH = 60, 180
"""Number of most common words that are kept, for each other language and for English."""
CODES = {"fil": "tl"}
"""ISO 639-1 codes of languages for which wordfreq has another code."""

def lists() -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Yields (language, [(common word, its frequency), …]) for each language of wordfreq."""
    import wordfreq  # type: ignore[import-not-found,unused-ignore]

    for name in wordfreq.available_languages("best"):
        often = wordfreq.get_frequency_dict(name)
        most = ENGLISH if name == "en" else WORDS
        yield name, [(word, often[word]) for word in wordfreq.top_n_list(name, most)
                     if word in often]

def count() -> tuple[dict[str, set[str]], dict[str, list[str]]]:
    """(letter groups to keep, by script; common words by language, the most common first)."""
    kept: dict[str, set[str]] = {}
    common: dict[str, list[str]] = {}
    for name, words in lists():
        most = COMMONEST_ENGLISH if name == "en" else COMMONEST
        found: dict[str, defaultdict[str, float]] = {}
        top = common[CODES.get(name, name)] = []
        for place, (word, often) in enumerate(words):
            for part in language._WORD.findall(folded(word)):
                if place < most and part not in top:
                    top.append(part)
                for group, script in groups(part):
                    found.setdefault(script, defaultdict(float))[group] += math.sqrt(often)
        whole = sum(sum(counts.values()) for counts in found.values())
        for script, times in found.items():
            total = sum(times.values())
            if total > whole / 20:  # a Greek list also contains Latin words
                least = SHARE.get(script, OTHER) * total
                kept.setdefault(script, set()).update(g for g, n in times.items() if n > least)
    return kept, common

def write(kept: dict[str, set[str]], common: dict[str, list[str]], place: Path) -> None:
    """Writes the table to the file ``place``: a line of letter groups for each script, and a line
    of common words for each language."""
    lines = [f"{script}\t{''.join(sorted(found))}" for script, found in sorted(kept.items())
             if all(len(group) == SIZES.get(script, 2) for group in found)]
    lines += [f"{name}\t{' '.join(common[name])}" for name in sorted(common)]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")

# --- what it takes and what it finds ----------------------------------------------------

ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
BLOCKS = ((0x400, 0x45f), (0x3b1, 0x3c9), (0x620, 0x64a), (0x5d0, 0x5ea), (0x905, 0x939),
          (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0x10d0, 0x10f0), (0x561, 0x586), (0xa000, 0xa48c))

def _keyboard(rng: random.Random) -> str:
    row, size = rng.choice(ROWS), rng.randint(3, 8)
    if rng.random() < 0.5:
        return "".join(rng.choice("".join(ROWS)) for _ in range(size))
    start = rng.randrange(len(row))
    return "".join(row[(start + i * rng.choice((1, 1, 2))) % len(row)] for i in range(size))

def noise(pieces: list[str]) -> dict[str, Callable[[random.Random, int], str]]:
    """By kind of noise, a function ``make(rng, n)`` that makes a text of about ``n`` words.

    ``pieces`` are word pieces of a tokenizer, from which one kind of noise is made.
    """

    def scripts(rng: random.Random, n: int, several: bool) -> str:
        block = rng.choice(BLOCKS[:6])
        return " ".join(
            "".join(chr(rng.randint(*(rng.choice(BLOCKS) if several else block)))
                    for _ in range(rng.randint(2, 7)))
            for _ in range(n))

    def syllables(rng: random.Random, n: int) -> str:
        syllable = "".join(rng.choice("abcdefghiklmnoprstuvz") for _ in range(rng.randint(1, 4)))
        return syllable * max(6, n)

    def syllable_words(rng: random.Random, n: int) -> str:
        known = [rng.choice("bcdfghklmnprstvz") + rng.choice("aeiou") for _ in range(2)]
        return " ".join(rng.choice(known) for _ in range(max(8, n)))

    return {
        "keyboard": lambda rng, n: " ".join(_keyboard(rng) for _ in range(n)),
        "syllables": syllables,
        "syllables apart": syllable_words,
        "letters of a script": lambda rng, n: scripts(rng, n, several=False),
        "letters of many scripts": lambda rng, n: scripts(rng, n, several=True),
        "pieces of words": lambda rng, n: " ".join(
            rng.choice(pieces) for _ in range(n)).replace(" ##", ""),
    }

def real(folder: Path) -> dict[str, list[str]]:
    """Real texts: the hypotheses of the annotated sets in ``folder``, and spaCy's example sentences
    of many languages."""
    import spacy.lang

    found = sorted({row["hypothesis"] for name in ("groundedness", "groundedness2")
                    for file in sorted((folder / name).glob("*.gz")) for row in read_jsonl(file)})
    other: list[str] = []
    for module in pkgutil.iter_modules(spacy.lang.__path__):
        try:
            other += importlib.import_module(f"spacy.lang.{module.name}.examples").sentences
        except ModuleNotFoundError:
            continue
    return {"hypotheses": found, "other languages": other}

@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness/, groundedness2/")
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="file of the table; by default the package's own")
@click.option("--measure", is_flag=True, help="do not write the table, only measure the errors")
def main(data: Path, out: Path | None, measure: bool) -> None:
    if not measure:
        place = files("q2_metric.english.claims").joinpath(language.TABLE)
        write(*count(), out or Path(str(place)))
        language._table.cache_clear()
    for name, texts in real(data).items():
        taken = [text for text in texts if not is_language(text)]
        click.echo(f"{name}: {len(taken)} of {len(texts)} taken for no language")
        for text in taken[:60]:
            click.echo(f"    {text[:150]}")
    vocabulary = json.loads(
        files("q2_metric.models.bundled").joinpath("weights/tokenizer.json").read_text("utf-8"))
    pieces = [piece for piece in vocabulary["model"]["vocab"]
              if piece.isascii() and piece.strip("#").isalpha()]
    for kind, make in noise(pieces).items():
        rng = random.Random(0)
        shares = []
        for size in (3, 6, 12, 20):
            rows = [make(rng, size) for _ in range(500)]
            shares.append(f"{sum(not is_language(row) for row in rows) / 500:.1%} of {size} words")
        click.echo(f"{kind}: {', '.join(shares)}")

if __name__ == "__main__":
    main()
