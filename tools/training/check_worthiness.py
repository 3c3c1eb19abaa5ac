"""``python -m tools.training.check_worthiness``: makes the table that tells statements from
refusals, chat, questions and announcements (:mod:`q2_metric.english.claims.check_worthiness`).

A logistic regression learns from the parts of responses in ``written/silent.jsonl`` and from the
other written claims. Some claims get an opening ("Let me tell you that ..."), so that an opening
alone does not make a claim vanish. The command prints what share of each kind would be left out,
cross-validated over responses.
"""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from q2_metric.english.claims import check_worthiness
from q2_metric.english.claims.check_worthiness import BIAS, MOST, features
from q2_metric.english.claims.checkable import joined
from tools.training.reading import WRITTEN, by_file

OTHERS = 12_000
"""How many further claims are read, half of them with an opening."""
OPENINGS = """
let me tell you that|i can tell you that|i'm happy to say that|i'm sorry to say that|sorry , but
i'm sorry , but|thanks for asking ,|great question !|good question ,|here is what i found :
here's the answer :|in short :|the short answer :|to answer your question ,|sure ,|of course ,
unfortunately ,|i'm afraid that|i'm afraid|as far as i can see ,|i cannot say for sure , but
i don't know , but|i am not sure , but|the text says that|the passage mentions that|the report says
according to the document ,|based on the provided context ,|as the passage says ,|please note that
you should know that|i'd like to add that|i hope this helps :|you will love that|wow ,|oh no ,
glad you asked ,|hi there ,|hello ,|it is clear that|there is no doubt that|note :|yes ,|no ,
the documents show that|i found that|the documents say|the article says|the source states that
the notes mention that|the guide says|from what i can see ,|happy to help :|nice ! so|haha ,
i can confirm that|i can confirm|i can tell you|congratulations ,|sorry ,|good news :
i know|i know that|i've never tried it , but i know|i have never been there , but i know that
""".replace("\n", "|").strip("|").split("|")
TOLD = ("did you know that|did you know|do you know that|have you heard that|have you heard"
        "|did you ever notice that|isn't it true that").split("|")
"""Openings of questions that state what follows."""
ASKED = ("is it true that|do you know if|do you know whether|can you tell me if|did you know why"
         "|does the text say whether|are you sure that").split("|")
ENOUGH = 2
"""An n-gram has a weight if this many texts without a claim have it, or ``FREQUENT`` of all."""
FREQUENT = 40
"""As many texts know a word."""
STRENGTH = 10.0
"""scikit-learn's C, the inverse strength of the regularisation."""


def parts(folder: Path = WRITTEN) -> list[tuple[str, str, str]]:
    """The parts of the written responses: the id of the response, the text and its kind."""
    rows = map(json.loads, (folder / "silent.jsonl").read_text(encoding="utf-8").splitlines())
    return [(row["id"], joined(part["text"]), part["kind"])
            for row in rows for part in row["parts"]]


def behind_refusals(rows: Sequence[tuple[str, str, str]], seed: int = 1
                    ) -> list[tuple[str, str, str]]:
    """A claim behind each refusal, as in "I don't know, but it opened in 1962"."""
    rng = random.Random(seed)
    further = [joined(row.query) for found in by_file().values() for row in found]
    found = []
    for name, text, kind in rows:
        if kind == "refusal":
            after = rng.choice(further)
            between = rng.choice((", but ", ": ", "; ", " - ", ", though ", ". "))
            found.append((name, f"{text.rstrip(' .!,')}{between}{after[:1].lower()}{after[1:]}",
                          "claim"))
    return found


def claims(seed: int = 0) -> list[tuple[str, str, str]]:
    """Further claims, as :func:`parts`; every other one has an opening, some have an exclamation,
    and some are in lower case. Some become questions: "Did you know that ...?" states the claim,
    "Is it true that ...?" does not."""
    rng = random.Random(seed)
    found = [row for rows in by_file().values() for row in rows]
    drawn = []
    for i, row in enumerate(rng.sample(found, min(OTHERS, len(found)))):
        text = joined(row.query)
        if i % 40 == 6:  # a question that states the claim, and one that asks about it
            for openings, kind in ((TOLD, "claim"), (ASKED, "question")):
                drawn.append((f"claim {i}", f"{rng.choice(openings)} {text[:1].lower()}"
                                            f"{text[1:].rstrip('.')} ?", kind))
            continue
        if i % 2:
            opening = rng.choice(OPENINGS)
            text = f"{opening[:1].upper()}{opening[1:]} {text[:1].lower()}{text[1:]}"
        if i % 8 < 2:
            text = text.rstrip(".") + "!"
        if i % 8 == 4:
            text = f"{text.lower().rstrip('.')} ."
        drawn.append((f"claim {i}", text, "claim"))
    return drawn


def fitted(rows: Sequence[Mapping[str, float]], silent: NDArray[np.bool_]) -> dict[str, float]:
    """The weights of the n-grams and counts, by name."""
    from sklearn.linear_model import LogisticRegression

    without = Counter(name for row, none in zip(rows, silent, strict=True) if none for name in row)
    everywhere = Counter(name for row in rows for name in row)
    names = sorted(name for name, count in everywhere.items()
                   if without[name] >= ENOUGH or count >= FREQUENT or name in MOST)
    column = {name: i for i, name in enumerate(names)}
    model = LogisticRegression(C=STRENGTH, max_iter=1000, fit_intercept=False)
    model.fit(matrix(rows, column), silent)
    return dict(zip(names, model.coef_[0].tolist(), strict=True))


def matrix(rows: Sequence[Mapping[str, float]], column: Mapping[str, int]) -> csr_matrix:
    cells = [(i, column[name], value) for i, row in enumerate(rows)
             for name, value in row.items() if name in column]
    i, j, values = zip(*cells, strict=True)
    return csr_matrix((values, (i, j)), shape=(len(rows), len(column)))


def vocabulary(texts: Sequence[str]) -> dict[str, float]:
    """The words that at least ``FREQUENT`` texts have."""
    found = Counter(name for text in texts for name in features(text, {}) if " " not in name)
    return {name: 0.0 for name, count in found.items() if count >= FREQUENT}


def learnt(rows: Sequence[tuple[str, str, str]]) -> dict[str, float]:
    known = vocabulary([text for _, text, _ in rows])
    weights = fitted([features(text, known) for _, text, _ in rows],
                     np.array([kind != "claim" for *_, kind in rows]))
    kept = {name: round(weight, 1) for name, weight in weights.items()}
    return {name: weight for name, weight in kept.items()
            if weight or name in known or name == BIAS}


def written(table: Mapping[str, float]) -> str:
    """The table's file: a line for each weight."""
    lines = defaultdict(list)
    for name, weight in sorted(table.items()):
        lines[weight].append(name)
    return "".join(f"{weight:g}\t" + "\t".join(names) + "\n"
                   for weight, names in sorted(lines.items()))


def shares(rows: Sequence[tuple[str, str, str]], folds: int = 5) -> dict[str, float]:
    """The share of each kind that is left out, by tables that have not seen the response."""
    found: dict[str, list[bool]] = defaultdict(list)
    for fold in range(folds):
        inside = [hash_of(name) % folds == fold for name, *_ in rows]
        table = learnt([row for row, here in zip(rows, inside, strict=True) if not here])
        for (name, text, kind), here in zip(rows, inside, strict=True):
            if here:
                group = f"further {kind}" if name.startswith("claim") else kind
                found[group].append(check_worthiness.says_nothing(text, table))
    return {kind: round(sum(values) / len(values), 4) for kind, values in sorted(found.items())}


def hash_of(name: str) -> int:
    return zlib.crc32(name.encode())


@click.command(help=__doc__)
@click.option("--out", type=click.Path(path_type=Path),
              default=Path(check_worthiness.__file__).with_name(check_worthiness.TABLE))
def main(out: Path) -> None:
    said = parts()
    rows = [*said, *behind_refusals(said), *claims()]
    for kind, share in shares(rows).items():
        click.echo(f"{kind:14} {share:.1%} left out")
    table = learnt(rows)
    out.write_text(written(table), encoding="utf-8")
    click.echo(f"{out}: {len(table)} n-grams")


if __name__ == "__main__":
    main()
