"""Writes what every metric returns for fixed texts, and compares two such files.

    python -m tools.freeze OUT.jsonl
    python -m tools.freeze --compare OLD.jsonl NEW.jsonl

OUT.jsonl has a line for each preset, file, metric and row: the score and its evidence. The bundled
models score the examples, the golden texts, the answers of the gaming tests and rows of the data
sets, whose folder ``Q2_DATA_DIR`` must name. Small imitations of the published models score a few
examples. No cache is used. The evaluation set ``wow_q2`` serves only this comparison.

The comparison ignores signatures and differences of at most 1e-6. The exit code is 1 if anything
else differs.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from q2_metric import Example, scoring
from tools.training.examples import read_jsonl

ROOT = Path(__file__).parents[1]
ROWS, LONGEST = 40, 1200
"""Number of rows of each large file, and of characters of a development set's knowledge."""
Files = dict[str, list[Example]]


def inputs(data: Path) -> Files:
    """The rows of all files that the bundled models score."""
    from gamed import TRICKS  # in tests/gaming

    golden = ROOT / "tests" / "golden"
    talk = [Example(row["response"], row["knowledge"], tuple(row["history"]))
            for row in read_jsonl(ROOT / "examples" / "dialogues.jsonl")]
    files = {"dialogues": talk, "rag": [
        Example(row["answer"], "\n".join(row["contexts"]), question=row["question"])
        for row in read_jsonl(ROOT / "examples" / "rag.jsonl")]}
    for name in ("answers", "claims", "questions", "values"):
        lines = (golden / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        files[name] = [Example(*re.split("\t.*\t|\t", line)) for line in _some(lines)]
    files["gaming"] = [replace(talk[0], response=trick(talk[0])) for trick in TRICKS.values()]
    with (data / "wow_q2" / "cross_annotation.csv").open(encoding="utf-8", newline="") as file:
        files["wow_q2"] = [Example(row["dodeca_response"], row["knowledge"], (row["message"],))
                           for row in _some(list(csv.DictReader(file)))]
    for path in sorted((data / "dev").glob("*.gz")):
        files[path.name] = [Example(row["hypothesis"], row["premise"][:LONGEST])
                            for row in _some(list(read_jsonl(path)))]
    files["dev/answers"] = [
        Example(said["text"], "\n".join(item["knowledge"]), question=item["question"])
        for item in islice(read_jsonl(data / "dev" / "answers.jsonl"), 20)
        for said in item["responses"]]
    for path in (golden / "summaries.jsonl", data / "dev" / "pairs.jsonl"):
        files[path.stem] = [
            Example(pair[side], pair["knowledge"], question=pair.get("question"))
            for pair in read_jsonl(path) for side in ("supported", "unsupported")]
    return files


def _some(rows: list[Any]) -> list[Any]:
    return rows[:: max(1, len(rows) // ROWS)][:ROWS]


def write(out: Path, data: Path) -> None:
    """Scores all rows and writes the lines."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "gaming")]
    from published_models import build_preset  # in tests

    files = inputs(data)
    few = {name: files[name][:5] for name in ("dialogues", "rag")}
    with tempfile.TemporaryDirectory() as folder, out.open("w", encoding="utf-8") as file:
        for preset, rows in (("bundled", files), ("bundled-small", few)):
            _write(file, rows, "groundedness,q2,scale,nli,knowledge_f1,word_share", preset=preset)
        for preset in ("paper", "paper-exact", "paper-small", "modern"):
            made = {stage: str(path) for stage, path in build_preset(preset, Path(folder)).items()}
            os.environ["Q2_ALLOW_PICKLES"] = ",".join(made.values())
            _write(file, few, "q2,scale,nli", preset=preset, device="cpu",
                   reader_model=made["reader"], question_model=made["questions"],
                   nli_model=made["nli"], scale_model=made["scale"],
                   nli_labels="entailment,neutral,contradiction")


def _write(out: TextIO, files: Files, metrics: str, **settings: str) -> None:
    loaded = scoring.load(metrics, settings)
    for name, rows in files.items():
        for i, scores in enumerate(scoring.score(loaded, rows, evidence=True)):
            for metric in loaded:
                print(json.dumps({"preset": settings["preset"], "file": name, "row": i,
                                  "metric": metric.name, "signature": metric.signature,
                                  "score": _plain(scores[metric.name])}), file=out)
        print(settings["preset"], name, len(rows), file=sys.stderr, flush=True)


def _plain(item: Any) -> Any:
    """A score as JSON, without the example."""
    if is_dataclass(item):
        return {field.name: _plain(getattr(item, field.name))
                for field in fields(item) if field.name != "example"}
    return [_plain(one) for one in item] if isinstance(item, (tuple, list)) else item


def differences(old: Any, new: Any, field: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yields each field that differs, without list indices, with its old and its new value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(new.keys() - old.keys())]:
            yield from differences(old.get(key), new.get(key), f"{field}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from differences(one, other, field)
    elif old != new and not (
            isinstance(old, float) and isinstance(new, float) and abs(old - new) <= 1e-6):
        yield field, old, new


def compare(old: Path, new: Path) -> int:
    """Prints how two files differ. Returns the number of fields that differ."""
    before, after = ({(line["preset"], line["file"], line["metric"], line["row"]): line["score"]
                      for line in read_jsonl(path)} for path in (old, new))
    found = [(key, *change) for key in [*before, *(after.keys() - before.keys())]
             for change in differences(before.get(key), after.get(key))]
    counts = Counter(f"{key[2]}{field or ' (the whole line)'}" for key, field, *_ in found)
    print(*(f"{count:6} {field}" for field, count in sorted(counts.items())), sep="\n")
    for key, field, was, now in found[:10]:
        print(*key, f"{field}: {str(was)[:200]} -> {str(now)[:200]}")
    print(f"{len(found)} fields differ, in {len({key for key, *_ in found})} lines")
    return len(found)


def main() -> None:
    match sys.argv[1:]:
        case ["--compare", old, new]:
            sys.exit(compare(Path(old), Path(new)) > 0)
        case [out] if "Q2_DATA_DIR" in os.environ and not out.startswith("-"):
            write(Path(out), Path(os.environ["Q2_DATA_DIR"]))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
