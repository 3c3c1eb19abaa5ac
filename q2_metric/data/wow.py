"""Reads Wizard of Wikipedia responses with human labels of consistency (Q², section 3).

In ``cross_annotation.csv``, the label 1 means **in**consistent.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from q2_metric.data.download import folder
from q2_metric.data.labelled import Labelled
from q2_metric.data.set_rows import read_rows
from q2_metric.errors import DataError
from q2_metric.files import read_json
from q2_metric.types import Example

WOW_FILE = "valid_random_split.json"
SYSTEMS = ("dodeca", "memnet")


def read_annotated(path: Path | None = None) -> list[Labelled]:
    """Reads the 1,088 annotated responses: in each context, dodecaDialogue's, then MemNet's.

    Order and texts are those of the data set ``true/q2``. The history is the message that the
    response answers, if there is one. The id has the form ``episode-round-system``.
    """
    path = path or folder("wow_q2") / "cross_annotation.csv"
    return [
        Labelled(_example(row, row[f"{system}_response"], system),
                 not row.label(f"{system}_label"), system)
        for row in read_rows(path, "csv") for system in SYSTEMS]


def read_gold(path: Path | None = None) -> list[Example]:
    """Reads the 544 contexts, each with the response that the human speaker gave.

    The order is that of :func:`read_annotated`. The id has the form ``episode-round``.
    """
    path = path or folder("wow_q2") / "cross_annotation.csv"
    return [_example(row, row["gold"]) for row in read_rows(path, "csv")]


def read_selected(*, said: Literal["response", "gold"] = "response") -> list[Labelled]:
    """Reads the 600 responses that the Q² paper selected: 150 of each system and class. With
    ``said="gold"``, reads the human responses in the same contexts."""
    directory = folder("wow_q2")
    return [
        Labelled(_example(row, row[said], system), consistent, system)
        for system in SYSTEMS
        for consistent in (True, False)
        for row in read_rows(directory / f"{system}_{'' if consistent else 'in'}consistent.csv",
                             "csv")
    ]


def whole_dialogues(examples: Sequence[Example], path: Path | None = None) -> list[Example]:
    """The examples with all turns before the response as history. ``path`` is the validation set of
    Wizard of Wikipedia; episode and round of an example are its dialogue and wizard's turn.
    DataError: the dialogue is not there, or does not have the example's message."""
    path = path or folder("wow") / WOW_FILE
    dialogues = read_json(path)
    whole = []
    for example in examples:
        episode, number = map(int, (example.id or "").split("-")[:2])
        try:
            turns = dialogues[episode]["dialog"]
            place = 2 * number + ("Wizard" not in turns[0]["speaker"])
            history = tuple(str(turn["text"]) for turn in turns[:place])
        except (LookupError, TypeError) as error:
            raise DataError(f"{path}: has no dialogue {episode} as Wizard of Wikipedia writes it"
                            ) from error
        if [text.strip() for text in history[-1:]] != [text.strip() for text in example.history]:
            raise DataError(f"{path}: round {number} of dialogue {episode} does not answer "
                            f"{' '.join(example.history)!r}; is it the validation set?")
        whole.append(replace(example, history=history))
    return whole


def _example(row: dict[str, str], response: str, system: str | None = None) -> Example:
    return Example(
        response, row["knowledge"], (row["message"],) if row["message"].strip() else (),
        id="-".join(filter(None, (row["episode_idx"], row["round"], system))))
