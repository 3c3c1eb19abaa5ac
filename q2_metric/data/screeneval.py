"""Reads ScreenEval (Lattimer et al., EMNLP 2023): sentences about long dialogues.

``convo`` is a list of utterances, or a text with one a line; ``original_convo`` is read instead if
there is one. ``rel_utt`` holds the indices of the utterances that support the sentence.
https://github.com/asappresearch/scale-score
"""

from pathlib import Path

from q2_metric.data.labelled import Labelled
from q2_metric.data.set_rows import SetRow, read_rows
from q2_metric.types import Example


def read_screeneval(path: str | Path) -> list[Labelled]:
    """Reads the labelled sentences (the responses) of a file. The knowledge is the dialogue, one
    utterance a line. The ids are row numbers, from 0."""
    labelled = []
    for row in read_rows(path, "json"):
        lines = _utterances(row)
        if row["agg_label"] not in (0, 1):
            raise row.wrong("'agg_label' is not true or false")
        relevant = row.get("rel_utt") or []
        if not isinstance(relevant, list) or not all(
            isinstance(place, int) and 0 <= place < len(lines) for place in relevant
        ):
            raise row.wrong(f"'rel_utt' is {relevant!r}, not a list of indices of the "
                            f"{len(lines)} utterances")
        sentence = " ".join(row.text("inferred_summary").split())
        example = Example(sentence, "\n".join(lines), id=str(row.number - 1))
        labelled.append(
            Labelled(example, bool(row["agg_label"]), relevant=frozenset(relevant)))
    return labelled


def _utterances(row: SetRow) -> list[str]:
    name = "original_convo" if "original_convo" in row else "convo"
    lines = row[name].split("\n") if isinstance(row[name], str) else row[name]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise row.wrong(f"{name!r} is not a dialogue")
    return [" ".join(line.split()) for line in lines]
