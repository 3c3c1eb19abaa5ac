"""``q2 compare``: systems side by side, with sacrebleu's significance tests."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest as Sacrebleus

from q2_metric.cli.main import main
from q2_metric.evaluation.tables import escape
from q2_metric.metrics.overlap import bleu_of, bleu_statistics, corpus_bleu
from q2_metric.report.compare import difference, holm

WORDS = "rome has seven hills and one river that they call the tiber in the south".split()


def texts(seed: int, n: int = 40) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(5, 12))) for _ in range(n)]


def p_values(one: Any, two: Any, measure: Any = None) -> tuple[Any, Any, Any]:
    found = difference("mean", one, two, measure, tests=True)
    return found.interval, found.p_bootstrap, found.p_randomised


class _Mean(BLEU):  # type: ignore[misc]
    """The mean of numbers, as one of sacrebleu's metrics."""

    def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
        self.num_refs = 1
        return [[float(text), 1.0] for text in hypotheses]

    def _compute_score_from_stats(self, stats: Any) -> Any:
        score = BLEU(effective_order=True).sentence_score("a", ["a"])
        score.score = stats[0] / stats[1]
        return score

    def _aggregate_and_compute(self, stats: Any) -> Any:
        return self._compute_score_from_stats(np.sum(stats, axis=0))


@pytest.mark.parametrize(("kind", "place"), [("bs", 1), ("ar", 2)])
def test_p_values_are_those_of_sacrebleu(kind: str, place: int) -> None:
    draw = random.Random(1)
    one = [f"{draw.random():.6f}" for _ in range(40)]
    two = [f"{float(number) + draw.gauss(0.05, 0.2):.6f}" for number in one]
    theirs = Sacrebleus([("a", one), ("b", two)], {"mean": _Mean()}, [one], kind)()[1]
    ours = p_values([float(text) for text in one], [float(text) for text in two])[place]
    assert ours == pytest.approx(theirs["BLEU"][1].p_value, abs=2e-4)
    assert 0.02 < ours < 0.5

    said, gold = (texts(2), texts(3)), texts(4)
    tested = Sacrebleus([("a", said[0]), ("b", said[1])], {"BLEU": BLEU()}, [gold], kind)()[1]
    counts = [np.array([bleu_statistics(a, [b]) for a, b in zip(side, gold, strict=True)])
              for side in said]
    assert p_values(*counts, bleu_of)[place] == pytest.approx(tested["BLEU"][1].p_value, abs=2e-3)


def test_a_system_does_not_differ_from_itself() -> None:
    assert p_values([0.1, 0.7, 0.4], [0.1, 0.7, 0.4]) == ((0, 0), 1, 1)
    assert p_values([0.1], [0.1]) == (None, None, None)


def test_swapped_rows_that_give_the_same_difference_count() -> None:
    """Of the eight ways to exchange three rows, two give a difference as large as the observed."""
    assert p_values([0.1] * 3, [0.4] * 3)[2] == pytest.approx(0.25, abs=0.02)


def test_bleu_from_statistics_is_corpus_bleu() -> None:
    said, golds = texts(5, 9), [[a, b] for a, b in zip(texts(6, 9), texts(7, 9), strict=True)]
    sums = np.sum([bleu_statistics(*pair) for pair in zip(said, golds, strict=True)], axis=0)
    assert bleu_of(sums[None])[0] == pytest.approx(corpus_bleu(said, golds))


def test_holm_keeps_the_order_and_stays_below_one() -> None:
    assert holm([0.6, 0.01, 0.7]) == pytest.approx([1, 0.03, 1])
    assert holm([0.2]) == [0.2]


GOOD, BAD = "Rome has seven hills.", "Milan is tiny."


def scored(folder: Path, name: str, responses: list[str], more: Any = (), **columns: Any) -> Path:
    path, out = folder / f"{name}.in.jsonl", folder / f"{name}.jsonl"
    path.write_text("".join(
        json.dumps({"id": f"r{i}", "response": text, "context": f"{GOOD} Row {i}."} | columns)
        + "\n" for i, text in enumerate(responses)), encoding="utf-8")
    result = CliRunner().invoke(
        main, ["score", str(path), "--metrics", "word_share", "--out", str(out), *more])
    assert result.exit_code == 0, result.output
    return out


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def test_the_table_has_means_intervals_and_p_values(tmp_path: Path) -> None:
    a = scored(tmp_path, "a", [GOOD] * 20, reference=GOOD)
    b = scored(tmp_path, "b", [GOOD] * 10 + [BAD] * 10, reference=GOOD)
    c = scored(tmp_path, "c", [GOOD] * 19 + [BAD], reference=GOOD)
    result = compare(a, b, c, "--format", "json")
    assert result.exit_code == 0, result.output
    scores, tested = json.loads(result.stdout)["tables"]
    assert [column["title"] for column in scores["columns"]] == [
        "system", "content words found", "F1 (reference)", "BLEU (reference)", "n"]
    assert [row[1]["value"] for row in scores["rows"]] == pytest.approx([1, 0.5, 0.95])
    assert [row[2]["value"] for row in scores["rows"]] == pytest.approx([1, 0.5, 0.95])
    metric, system, change, *rest = tested["rows"][0]
    assert (metric, system, change["value"]) == ("content words found", str(b), -0.5)
    assert change["low"] < -0.5 < change["high"] < 0
    assert rest[2:] == [0, 10, 10, 20]
    alone = json.loads(compare(a, b, "--format", "json").stdout)["tables"][1]["rows"][0]
    assert rest[0] == pytest.approx(2 * alone[3])  # Holm: the smaller of two p-values
    assert "adjusted for 2 systems (Holm)" in tested["note"]
    assert "seed 12345" in tested["note"]


def test_the_interval_is_that_of_the_gate(tmp_path: Path) -> None:
    a = scored(tmp_path, "a", [GOOD] * 20)
    b = scored(tmp_path, "b", [GOOD] * 10 + [BAD] * 10)
    row = json.loads(compare(a, b, "--format", "json").stdout)["tables"][1]["rows"][0]
    gate = CliRunner().invoke(
        main, ["gate", str(b), "--baseline", str(a), "-m", "word_share", "--json"])
    change = json.loads(gate.stdout)["change"]
    assert [row[2]["low"], row[2]["high"]] == change["interval"]


@pytest.mark.parametrize(("form", "start"), [
    ("text", "Mean scores"), ("markdown", "# "), ("latex", "% "), ("json", "{"), ("csv", "table,")])
def test_formats(tmp_path: Path, form: str, start: str) -> None:
    a = scored(tmp_path, "a_1", [GOOD] * 3)
    b = scored(tmp_path, "b_2", [GOOD, BAD, GOOD])
    result = compare(a, b, "--format", form)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(start)
    if form == "csv":
        assert {row["table"] for row in csv.DictReader(io.StringIO(result.stdout))} == {
            "scores", "differences"}
    if form == "latex":
        body = "\n".join(line for line in result.stdout.splitlines() if not line.startswith("%"))
        assert r"b\_2.jsonl & $-$0.333 [$-$1.000, 0.000]" in body
        assert "b_2" not in body


def test_latex_prints_every_name_as_it_stands() -> None:
    assert escape(r"a_b & 50% $x$ #1 {y} ~^\<>") == (
        r"a\_b \& 50\% \$x\$ \#1 \{y\} \textasciitilde{}\textasciicircum{}\textbackslash{}"
        r"\textless{}\textgreater{}")


def test_other_rows_are_refused(tmp_path: Path) -> None:
    a = scored(tmp_path, "a", [GOOD] * 3)
    fewer = compare(a, scored(tmp_path, "b", [GOOD] * 2))
    assert fewer.exit_code == 2
    assert "1 row is not in the other file" in fewer.stderr
    assert ": r2;" in fewer.stderr
    asked = compare(a, scored(tmp_path, "c", [GOOD] * 3, question="How many?"))
    assert asked.exit_code == 2
    assert "(other question)" in asked.stderr


def test_an_id_that_two_rows_have_is_named(tmp_path: Path) -> None:
    a = scored(tmp_path, "a", [GOOD] * 3, context=GOOD)
    twice = scored(tmp_path, "b", [GOOD] * 4, context=GOOD, id="same")
    result = compare(a, twice)
    assert result.exit_code == 2
    assert "b.jsonl: several rows have the id 'same'" in result.stderr


def test_rows_without_texts_were_not_checked(tmp_path: Path) -> None:
    a, b = (scored(tmp_path, name, [GOOD] * 3, more=("--no-texts",)) for name in "ab")
    assert f"{b}: some rows have no texts" in compare(a, b).stderr


def test_each_mean_has_its_own_n(tmp_path: Path) -> None:
    """f1 compares with the reference, which one row lacks."""
    a, b = (scored(tmp_path, name, [GOOD, GOOD, "Thanks!"], reference=GOOD, more=(
        "--metrics", "scale,word_share", "--preset", "bundled-small", "--no-claim", "exclude"))
        for name in "ab")
    scores, _ = json.loads(compare(a, b, "--format", "json").stdout)["tables"]
    titles = [column["title"] for column in scores["columns"]]
    row = dict(zip(titles, scores["rows"][0], strict=True))
    assert (row["n (SCALE)"], row["n (F1 (reference))"]) == (2, 3)


def test_other_signatures_are_refused(tmp_path: Path) -> None:
    a = scored(tmp_path, "a", [GOOD] * 3)
    b = scored(tmp_path, "b", [GOOD] * 3, more=("--no-claim", "exclude"))
    result = compare(a, b)
    assert result.exit_code == 2
    assert f"no_claim is zero in {a} and exclude in {b}" in result.stderr
    Path(f"{b}.manifest.json").unlink()
    unsigned = compare(a, b)
    assert unsigned.exit_code == 0
    assert f"{b}: no manifest is beside this file" in unsigned.stderr


def test_one_system_and_one_file_with_two(tmp_path: Path) -> None:
    a = scored(tmp_path, "a", [GOOD] * 3)
    assert "is the only system" in compare(a).stderr
    assert "named twice" in compare(a, a).stderr
    rows = [{"id": f"{model}{i}", "response": GOOD, "context": f"{GOOD} Row {i}.", "model": model}
            for model in "xy" for i in range(3)]
    path, out = tmp_path / "both.in.jsonl", tmp_path / "both.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    CliRunner().invoke(main, ["score", str(path), "-m", "word_share", "--out", str(out)])
    result = compare(out, "--systems", "model")
    assert result.exit_code == 0, result.output
    assert "Differences from x" in result.stdout


def test_references(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    a = scored(tmp_path, "a", [GOOD] * 3, ideal=[GOOD, BAD])
    b = scored(tmp_path, "b", [GOOD, BAD, GOOD], ideal=[GOOD, BAD])
    assert "F1" not in compare(a, b).stdout
    with_gold = compare(a, b, "--reference", "ideal", "--format", "json")
    assert with_gold.exit_code == 0, with_gold.output
    report = json.loads(with_gold.stdout)
    assert [row[2]["value"] for row in report["tables"][0]["rows"]] == [1, 1]
    assert report["signatures"]["bleu"].startswith("bleu|nrefs:")
    assert not caplog.messages  # such as sacrebleu's advice on sentences
    missing = compare(a, b, "--reference", "gold")
    assert missing.exit_code == 2
    assert "row r0 has no text in the column 'gold'" in missing.stderr
    other = scored(tmp_path, "c", [GOOD] * 3, ideal=GOOD)
    refused = compare(a, other, "--reference", "ideal")
    assert "the references of two systems differ" in refused.stderr
