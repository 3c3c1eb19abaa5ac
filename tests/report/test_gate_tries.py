"""Tries to fool ``q2 gate``: each row of the table edits one file, and says how the gate ends.

Exit codes: 0 the gate passed, 2 it could not be decided, 4 it failed.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from q2_metric.cli.main import main

GOOD, BAD = "Rome has seven hills.", "Milan is tiny."
Row = dict[str, Any]
Edit = Callable[[list[Row]], object]
N = 20


def _rows(bad: Sequence[int] = ()) -> list[Row]:
    return [{"id": f"r{i}", "question": f"What of row {i}?", "response": BAD if i in bad else GOOD,
             "context": f"Rome has seven hills. Row {i}.", "history": [f"turn {i}"]}
            for i in range(N)]


def _write(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _score(path: Path, *more: str) -> Path:
    out = path.with_suffix(".scores.jsonl")
    done = CliRunner().invoke(
        main, ["score", str(path), "-m", "word_share", "-o", str(out), "--quiet", *more])
    assert done.exit_code in (0, 1), done.output
    return out


def _gate(*args: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["gate", *map(str, args), "-m", "word_share"])
    assert "Traceback" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def _edited(path: Path, edit: Edit, *, signed: bool = True) -> Path:
    """Edits the rows of a file of scores. With ``signed``, the manifest is made to fit again, as if
    another program had written the file."""
    from q2_metric.files import fingerprint

    rows = [json.loads(line) for line in path.read_text().splitlines()]
    edit(rows)
    _write(path, rows)
    manifest = Path(f"{path}.manifest.json")
    if signed:
        fields = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**fields, "output": fingerprint(path)}))
    return path


# --- rows that are missing, silent or other rows: edits of the answers, before they are scored ---

def _swap(key: str, i: int = 3, j: int = 4) -> Edit:
    def edit(rows: list[Row]) -> None:
        rows[i][key], rows[j][key] = rows[j][key], rows[i][key]
    return edit


def _put(key: str, value: object, *places: int) -> Edit:
    def edit(rows: list[Row]) -> None:
        for i in places or range(len(rows)):
            rows[i][key] = value
    return edit


def _cut(start: int, stop: int) -> Edit:
    return lambda rows: rows.__delitem__(slice(start, stop))


def _twice(rows: list[Row]) -> None:
    rows[3] = dict(rows[2])


def _other_ids(rows: list[Row]) -> None:
    for row in rows:
        row["id"] = "new-" + row["id"]


def _nothing(_rows: list[Row]) -> None:
    return None


ANSWERS: list[tuple[str, Edit, tuple[str, ...], int, str]] = [
    ("the same answers", _nothing, (), 0, "20 of 20 rows"),
    ("in another order", list.reverse, (), 0, "20 of 20 rows"),
    ("three rows are gone", _cut(17, 20), (), 4, "row r17 is only in the baseline"),
    ("the first row is gone", _cut(0, 1), (), 4, "row r0 is only in the baseline"),
    ("one row is left", _cut(1, 20), (), 4, "19 rows only in the baseline"),
    ("as many as allowed are gone", _cut(17, 20), ("--allow-missing", "3"), 0, "passed"),
    ("one more is gone", _cut(16, 20), ("--allow-missing", "3"), 4, "row r16"),
    ("any number is allowed", _cut(1, 20), ("--allow-missing", "all"), 0, "allowed by"),
    ("allowed failures are no missing rows", _cut(17, 20), ("--allow", "9"), 4, "r17"),
    ("a blank answer", _put("response", " ", 5), (), 4, "row r5 has no score: the response is"),
    ("an empty answer", _put("response", "", 5), (), 4, "row r5 has no score"),
    ("no answer", _put("response", None, 5), (), 4, "row r5 has no score"),
    ("an answer that is no text", _put("response", 5, 5), (), 4, "row r5 could not be scored"),
    ("nothing was retrieved", _put("context", "", 5), (), 4, "row r5 has no score: there is no"),
    ("nothing was retrieved, null", _put("context", None, 5), (), 4, "row r5 has no score"),
    ("nothing was retrieved, list", _put("context", [], 5), (), 4, "row r5 has no score"),
    ("all are silent", _put("response", ""), (), 4, "no response has a score"),
    ("all are silent, and allowed", _put("response", ""), ("--allow-unscored", "all",
                                                            "--allow-changed", "all"), 4,
     "no response has a score"),
    ("one is silent, and allowed", _put("response", "", 5), ("--allow-unscored", "1"), 0, "passed"),
    ("two are silent, one allowed", _put("response", "", 5, 6), ("--allow-unscored", "1"), 4, "r6"),
    ("allowed failures are no silence", _put("response", "", 5), ("--allow", "9"), 4, "r5"),
    ("two ids are swapped", _swap("id"), (), 4, "row r3 has 1.000; it is another row than in"),
    ("two contexts are swapped", _swap("context"), (), 4, "other knowledge"),
    ("two questions are swapped", _swap("question"), (), 4, "other question"),
    ("two histories are swapped", _swap("history"), (), 4, "other history"),
    ("the knowledge repeats the answer", _put("context", GOOD, 5), (), 4, "row r5 has 1.000; it"),
    ("a changed context is allowed", _put("context", GOOD, 5), ("--allow-changed", "1"), 0, ""),
    ("two changed, one allowed", _put("context", GOOD, 5, 6), ("--allow-changed", "1"), 4, "r6"),
    ("a missing row is no changed row", _cut(19, 20), ("--allow-changed", "all"), 4, "r19"),
    ("an id twice hides a row", _twice, (), 4, "row r3 is only in the baseline"),
    ("other ids, same texts", _other_ids, (), 0, "20 of 20 rows"),
    ("a new row that fails", lambda rows: rows.append({**rows[0], "id": "x", "response": BAD}),
     (), 4, "row x has 0.000"),
    ("a new row that passes", lambda rows: rows.append({**rows[0], "id": "x"}), (), 0, "20 of 21"),
    ("an answer fails", _put("response", BAD, 5), (), 4, "row r5 has 0.000; it was 1.000"),
    ("an allowed failure", _put("response", BAD, 5), ("--allow", "1"), 0, "1 of 20"),
    ("a known failure", _put("response", BAD, 1), (), 0, "1 failed in the baseline too"),
    ("all answers are a little worse",
     _put("response", "Rome has seven hills and fountains."), (), 4, "word_share changed by -"),
]


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _score(_write(tmp_path_factory.mktemp("main") / "main.jsonl", _rows(bad=[1])))


@pytest.mark.parametrize(
    ("edit", "options", "code", "words"),
    [pytest.param(*more, id=name) for name, *more in ANSWERS])
def test_answers(
    baseline: Path, tmp_path: Path, edit: Edit, options: tuple[str, ...], code: int, words: str
) -> None:
    rows = _rows(bad=[1])
    edit(rows)
    found = _gate(_score(_write(tmp_path / "new.jsonl", rows)), "--baseline", baseline, *options)
    assert found[0] == code, found[1]
    assert words in found[1]


# --- edits of the scores -------------------------------------------------------------------------

def _without(key: str) -> Edit:
    return lambda rows: rows[5].pop(key)


SCORES: list[tuple[str, Edit, int, str]] = [
    ("a score is null", _put("word_share", None, 5), 4, "no reason is recorded; it was 1.000"),
    ("a score is gone", _without("word_share"), 2, "line 6: has no score"),
    ("an unknown reason", lambda rows: rows[5].update(word_share=None, reason="busy"), 4,
     "row r5 has no score: busy"),
    ("an error", lambda rows: rows[5].update(word_share=None, error="out of paper"), 4,
     "row r5 could not be scored: out of paper"),
    ("a score above 1", _put("word_share", 1.5, 5), 2, "line 6: the score word_share is 1.5"),
    ("a score in percent", _put("word_share", 87, 5), 2, "the score word_share is 87"),
    ("a score below 0", _put("word_share", -0.1, 5), 2, "the score word_share is -0.1"),
    ("NaN", _put("word_share", float("nan"), 5), 2, "'word_share' is not a number"),
    ("infinity", _put("word_share", float("inf"), 5), 2, "'word_share' is not a number"),
    ("true", _put("word_share", True, 5), 2, "'word_share' is not a number"),
    ("words", _put("word_share", "good", 5), 2, "'word_share' is not a number"),
    ("a list", _put("word_share", [1.0], 5), 2, "'word_share' is not a number"),
    ("no id", _put("id", None, 5), 2, "line 6: has no id"),
    ("a row is gone", _cut(5, 6), 4, "row r5 is only in the baseline"),
]


@pytest.mark.parametrize(
    ("edit", "code", "words"), [pytest.param(*more, id=name) for name, *more in SCORES])
def test_scores(baseline: Path, tmp_path: Path, edit: Edit, code: int, words: str) -> None:
    scores = _edited(_score(_write(tmp_path / "new.jsonl", _rows(bad=[1]))), edit)
    found = _gate(scores, "--baseline", baseline)
    assert found[0] == code, found[1]
    assert words in found[1]


def test_a_key_twice(baseline: Path, tmp_path: Path) -> None:
    scores = _score(_write(tmp_path / "new.jsonl", _rows(bad=[1])))
    lines = scores.read_text().splitlines()
    lines[1] = lines[1].replace("{", '{"word_share": 0.0, ', 1)
    scores.write_text("\n".join(lines))
    Path(f"{scores}.manifest.json").unlink()
    code, said = _gate(scores, "--baseline", baseline)
    assert code == 2
    assert "line 2: has the key 'word_share' twice" in said


@pytest.mark.parametrize(("cell", "header", "code", "words"), [
    ("", "", 4, "row r5 has no score"),
    ("7", "", 2, "the score word_share is 7"),
    ("1.0", "word_share", 2, "the header has the column 'word_share' twice"),
])
def test_csv(
    baseline: Path, tmp_path: Path, cell: str, header: str, code: int, words: str
) -> None:
    out = tmp_path / "new.csv"
    done = CliRunner().invoke(main, [
        "score", str(_write(tmp_path / "new.jsonl", _rows(bad=[1]))), "-m", "word_share",
        "-o", str(out), "--quiet"])
    assert done.exit_code == 0, done.output
    assert _gate(out, "--baseline", baseline)[0] == 0
    with out.open(newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    table[6][table[0].index("word_share")] = cell
    if header:
        table = [[*row, header if not i else "1.0"] for i, row in enumerate(table)]
    with out.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(table)
    Path(f"{out}.manifest.json").unlink()
    found = _gate(out, "--baseline", baseline)
    assert found[0] == code, found[1]
    assert words in found[1]


# --- the manifest --------------------------------------------------------------------------------

def _field(**fields: object) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), **fields})


MANIFESTS: list[tuple[str, Callable[[str], str | None], int, str]] = [
    ("as written", lambda text: text, 0, "gate passed"),
    ("none", lambda _text: None, 0, "no manifest is beside this file"),
    ("of an unfinished run", _field(complete=False), 2, "says that the run did not finish"),
    ("without complete", _field(complete=None), 2, "says that the run did not finish"),
    ("with another hash", _field(output="0" * 64), 2, "was edited after q2 score wrote it"),
    ("without a hash", _field(output=None), 2, "is not a manifest of q2 score"),
    ("cut off", lambda text: text[: len(text) // 2], 2, "is not JSON"),
    ("empty", lambda _text: "", 2, "is not JSON"),
    ("a list", lambda _text: "[]", 2, "is not a manifest of q2 score"),
    ("without signatures", _field(signatures={}), 2, "has no signature of word_share"),
    ("signatures are null", _field(signatures=None), 2, "is not a manifest of q2 score"),
    ("a damaged signature", _field(signatures={"word_share": "word_share|?"}), 2, "damaged"),
    ("another metric's signature", _field(signatures={"word_share": "q2|version:1"}), 2, "damaged"),
    ("another version", lambda text: text.replace("|version:", "|version:9"), 2,
     "different models, settings or versions"),
]


@pytest.mark.parametrize("side", ["new", "baseline"])
@pytest.mark.parametrize(
    ("change", "code", "words"), [pytest.param(*more, id=name) for name, *more in MANIFESTS])
def test_manifest(
    baseline: Path, tmp_path: Path, side: str, change: Callable[[str], str | None], code: int,
    words: str,
) -> None:
    scores = _score(_write(tmp_path / "new.jsonl", _rows(bad=[1])))
    manifest = Path(f"{scores}.manifest.json")
    changed = change(manifest.read_text())
    manifest.unlink() if changed is None else manifest.write_text(changed)
    files = (scores, baseline) if side == "new" else (baseline, scores)
    found = _gate(files[0], "--baseline", files[1])
    assert found[0] == code, found[1]
    assert words in found[1]


def test_one_pair_gives_no_interval(baseline: Path, tmp_path: Path) -> None:
    """So one answer that became worse, but still passes, does not fail the gate by its mean."""
    row = {**_rows()[0], "response": "Rome has seven hills and fountains."}
    code, said = _gate(_score(_write(tmp_path / "new.jsonl", [row])), "--baseline", baseline,
                       "--allow-missing", "all")
    assert (code, "over 1 pair" in said, "interval" in said) == (0, True, False)


def test_an_edited_score(baseline: Path, tmp_path: Path) -> None:
    """The manifest knows the file's contents."""
    scores = _score(_write(tmp_path / "new.jsonl", _rows(bad=[1, 2])))
    assert _gate(scores, "--baseline", baseline)[0] == 4
    code, said = _gate(_edited(scores, _put("word_share", 1.0, 2), signed=False))
    assert code == 2
    assert f"{scores}: was edited after q2 score wrote it" in said


# --- options and messages ------------------------------------------------------------------------

@pytest.mark.parametrize(("options", "code", "words"), [
    (("--threshold", "nan"), 2, "threshold must be a number in [0, 1], not nan"),
    (("--threshold", "1.5"), 2, "threshold must be a number in [0, 1], not 1.5"),
    (("--allow-missing", "-1"), 2, "neither a number of rows nor all"),
    (("--allow-missing", "some"), 2, "neither a number of rows nor all"),
    (("--allow-unscored", "1.5"), 2, "neither a number of rows nor all"),
    (("--threshold", "0"), 0, "gate passed"),
    (("--threshold", "1"), 4, "1 of 20 responses fails"),
])
def test_options(baseline: Path, options: tuple[str, ...], code: int, words: str) -> None:
    found = _gate(baseline, *options)
    assert found[0] == code, found[1]
    assert words in found[1]


def test_a_file_against_itself(baseline: Path, tmp_path: Path) -> None:
    (link := tmp_path / "link.jsonl").symlink_to(baseline)
    for path in (baseline, link):
        code, said = _gate(path, "--baseline", baseline)
        assert code == 2
        assert "is also the baseline" in said


def test_messages_name_the_users_files(tmp_path: Path) -> None:
    """Also those about a file that the gate scores first."""
    bad = _write(tmp_path / "new.jsonl", [{"response": GOOD, "context": "x"}, {"response": GOOD}])
    code, said = _gate(bad, "--no-cache")
    assert code == 4
    assert f"{bad}, line 2" in said
    empty = _write(tmp_path / "empty.jsonl", [])
    assert _gate(empty, "--no-cache") == (2, f"q2: {empty}: has no scores yet; scoring its rows by "
                                             f"word_share\nq2: error: {empty}: has no rows\n")
    missing = tmp_path / "missing.jsonl"
    code, said = _gate(bad, "--baseline", missing)
    assert (code, f"{missing}: there is no such file" in said) == (2, True)


# --- one conclusion ------------------------------------------------------------------------------

def test_page_and_gate_conclude_the_same(tmp_path: Path) -> None:
    """A response that fell silent counts as 0 in both, and so do means, pairs and intervals."""
    from contextlib import ExitStack

    from q2_metric.report.gate import gate
    from q2_metric.report.read import read_scores
    from q2_metric.report.systems import compare_runs

    rows = _rows(bad=[1])
    old = _score(_write(tmp_path / "old.jsonl", rows))
    for i, said in ((4, ""), (5, "Rome has seven hills and fountains."), (7, BAD)):
        rows[i]["response"] = said
    new = _score(_write(tmp_path / "new.jsonl", rows))
    with ExitStack() as files:
        both = read_scores([old, new], files)
        [page] = compare_runs(both.runs, both)
        one, other = (read_scores([path], files) for path in (new, old))
        decided = gate(one, "word_share", 0.5, other)
    assert decided.change == page.differences[0]
    assert decided.change is not None
    assert decided.change.n == N
    means = [run.scores[0].value for run in both.runs]
    assert decided.change.value == pytest.approx(means[1] - means[0])
