"""Columns of scores: cached, of other files, side by side."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fakes import FakeEntailment, FakeMetric, FakePersonal, FakeQuestions, FakeReader, FakeSpans

from q2_metric.cli.main import main
from q2_metric.engine import cached
from q2_metric.engine.cache import Cache
from q2_metric.errors import InputError
from q2_metric.evaluation.scores import FileSource, MetricSource, ScoreColumns, ScoreSummary, values
from q2_metric.metrics.q2 import Q2
from q2_metric.rows.formats import read_fields
from q2_metric.types import Example, Metric

EXAMPLES = [Example(text, "k", id=text.upper()) for text in "abc"]
TABLE = {"a": 0.1, "b": None, "c": 0.7}


class Loader:
    def __init__(self, metric: Metric) -> None:
        self.metric, self.times = metric, 0

    def __call__(self) -> Metric:
        self.times += 1
        return self.metric


def quiet(_rows: int) -> None:
    pass


def source(cache: Path | None, load: Loader, **request: Any) -> MetricSource:
    return MetricSource("scale", load, Cache(cache), request)


def test_a_second_run_loads_nothing(tmp_path: Path) -> None:
    load = Loader(FakeMetric("scale", TABLE))
    cache = tmp_path / "folder" / "cache.sqlite"
    summaries = [ScoreSummary(0.1), ScoreSummary(None), ScoreSummary(0.7)]
    first = source(cache, load)
    assert first.scores(EXAMPLES, quiet) == summaries
    second = source(cache, load)
    assert second.scores(EXAMPLES[::-1], quiet) == summaries[::-1]
    assert second.signature == "scale|version:test"
    assert load.times == 1


def test_only_what_is_missing_is_scored(tmp_path: Path) -> None:
    metric = FakeMetric("scale", TABLE)
    load = Loader(metric)
    source(tmp_path / "c", load).scores(EXAMPLES[:2], quiet)
    finished: list[int] = []
    found = source(tmp_path / "c", load).scores([*EXAMPLES, EXAMPLES[0]], finished.append)
    assert [one and one.value for one in found] == [0.1, None, 0.7, 0.1]
    assert metric.batches == [2, 1]
    assert finished == [3, 1]


def test_blocks_are_kept_as_they_are_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached, "BLOCK", 2)

    class Breaking(FakeMetric):
        def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Any]:
            if examples[0].response == "c":
                raise InputError("broken off")
            return super().score(examples, evidence=evidence)

    with pytest.raises(InputError, match="broken off"):
        source(tmp_path / "c", Loader(Breaking("scale", TABLE))).scores(EXAMPLES, quiet)
    whole = FakeMetric("scale", TABLE)
    source(tmp_path / "c", Loader(whole)).scores(EXAMPLES, quiet)
    assert whole.batches == [1]


STOPPED = """
import pathlib, signal, sys
from q2_metric.cli.main import main
from q2_metric.metrics.overlap import TokenF1

def stop_at_the_third(self, examples, blocks=[], score=TokenF1.score):
    blocks.append(examples)
    if len(blocks) == 3:
        pathlib.Path(sys.argv[1]).touch()
        signal.pause()
    return score(self, examples)

TokenF1.score = stop_at_the_third
main(sys.argv[2:])
"""


@pytest.mark.slow
def test_an_experiment_that_is_killed_goes_on(tmp_path: Path) -> None:
    """SIGKILL after two blocks: they are not scored again, and the report is the same."""
    rows = [f'"row {i} has {i % 7} hills .","row {i} has {i % 5} hills .",{i % 2}'
            for i in range(600)]
    path = tmp_path / "set.csv"
    path.write_text("\n".join(["generated_text,grounding,label", *rows]) + "\n")

    def command(name: str) -> list[str]:
        return ["meta-eval", "true", str(path), "--quiet",
                "--metrics", "knowledge_f1,knowledge_bleu",
                "--cache", str(tmp_path / f"{name}.sqlite"),
                "--out", str(tmp_path / f"{name}.json")]

    def kept() -> int:
        try:
            with sqlite3.connect(f"file:{tmp_path}/killed.sqlite?mode=ro", uri=True) as database:
                return int(database.execute("select count(*) from scores").fetchone()[0])
        except sqlite3.Error:
            return 0

    ready = tmp_path / "third block"
    killed = subprocess.Popen([sys.executable, "-c", STOPPED, str(ready), *command("killed")])
    while not ready.exists():
        assert killed.poll() is None
        time.sleep(0.005)
    killed.kill()
    killed.wait()
    assert 2 * 256 <= kept() < 600
    for name in ("killed", "whole"):
        done = CliRunner().invoke(main, command(name))
        assert done.exit_code == 0, done.output
    assert kept() == 1803  # 600 of each metric, and three signatures
    tables = [json.loads((tmp_path / f"{name}.json").read_text())["tables"]
              for name in ("killed", "whole")]
    assert tables[0] == tables[1]


def test_another_request_is_another_score(tmp_path: Path) -> None:
    load = Loader(FakeMetric("scale", TABLE))
    source(tmp_path / "c", load, preset="bundled").scores(EXAMPLES, quiet)
    source(tmp_path / "c", load, preset="bundled").scores(EXAMPLES, quiet)
    assert load.times == 1
    source(tmp_path / "c", load, preset="paper").scores(EXAMPLES, quiet)
    assert load.times == 2


def test_a_changed_local_model_is_another_model(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_text("1")
    load = Loader(FakeMetric("scale", TABLE))
    source(tmp_path / "c", load, scale_model=str(model)).scores(EXAMPLES, quiet)
    (model / "weights").write_text("22")
    source(tmp_path / "c", load, scale_model=str(model)).scores(EXAMPLES, quiet)
    assert load.times == 2


def test_the_history_counts(tmp_path: Path) -> None:
    # A response that only echoes it claims nothing.
    metric = FakeMetric("scale", TABLE)
    turns = [Example("a", "k", history) for history in ((), ("Hi.",), ("Bye.",), ("Hi.",))]
    source(tmp_path / "c", Loader(metric)).scores(turns, quiet)
    assert metric.batches == [3]


def test_questions_are_counted() -> None:
    metric = Q2(FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), FakePersonal())
    columns = ScoreColumns([MetricSource("q2", Loader(metric), Cache(None))])
    knowledge = "Rome has 7 hills."
    found = columns.scores(
        [Example("Rome has 9 hills.", knowledge), Example("it has hills", knowledge)]
    )
    assert found["q2"] == [ScoreSummary(0.5, 0.5, 2, 1), ScoreSummary(1.0, 1.0, 0, 0)]
    assert found["q2_no_nli"] == [ScoreSummary(0.5), ScoreSummary(1.0)]
    assert columns.names == ["q2", "q2_no_nli"]
    assert "compare:f1" in columns.signatures["q2_no_nli"]
    assert "compare:nli" in columns.signatures["q2"]


def test_a_missing_value_is_neutral() -> None:
    assert values([ScoreSummary(0.2), ScoreSummary(None), None]) == [0.2, 0.5, 0.5]


# --- other files ----------------------------------------------------------------------------


def foreign(path: Path, text: str, column: str = "mine") -> FileSource:
    path.write_text(text)
    return FileSource(path, list(read_fields(path)), column, EXAMPLES)


def test_rows_are_matched_by_their_texts(tmp_path: Path) -> None:
    own = foreign(tmp_path / "s.csv", "Prediction,grounding,mine\nc,k,3\na,k,1\nx,k,9\nb,k,\n")
    assert own.scores(EXAMPLES, quiet) == [
        ScoreSummary(1.0), ScoreSummary(None), ScoreSummary(3.0)]
    assert own.signature == "mine|file:s.csv|version:unknown"


def test_rows_are_matched_by_their_ids(tmp_path: Path) -> None:
    own = foreign(tmp_path / "s.csv", "id,mine\nC,3\nA,1\nB,2\nD,4\n")
    assert own.scores(EXAMPLES, quiet) == [ScoreSummary(1.0), ScoreSummary(2.0), ScoreSummary(3.0)]


def test_rows_with_the_same_texts_have_their_own_scores(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("response,knowledge,mine\na,k,1\na,k,2\n")
    rows = [Example("a", "k"), Example("a", "k"), Example("a", "k")]
    own = FileSource(path, list(read_fields(path)), "mine", rows)
    assert [one and one.value for one in own.scores(rows, quiet)] == [1.0, 2.0, 2.0]


def test_other_ids_are_not_taken_for_an_order(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be matched .* the ids of the data set"):
        foreign(tmp_path / "s.csv", "id,mine\n3,3\n1,1\n2,2\n")
    own = foreign(tmp_path / "s.csv", "id,mine\n1,1\n2,2\n3,3\n")  # only row numbers
    assert [one and one.value for one in own.scores(EXAMPLES, quiet)] == [1.0, 2.0, 3.0]


def test_a_column_of_a_file_stands_alone(tmp_path: Path) -> None:
    """A file's q2 comes without a column "Q² without NLI", which was not read."""
    columns = ScoreColumns([foreign(tmp_path / "s.csv", "id,q2\nA,0.1\nB,0.2\nC,0.3\n", "q2")])
    assert columns.names == ["q2"]
    assert list(columns.scores(EXAMPLES)) == list(columns.signatures) == ["q2"]


def test_rows_are_matched_by_their_order(tmp_path: Path) -> None:
    rows = "".join(json.dumps({"mine": value}) + "\n" for value in (1, 2.5, None))
    own = foreign(tmp_path / "s.jsonl", rows)
    assert own.scores(EXAMPLES, quiet) == [ScoreSummary(1.0), ScoreSummary(2.5), ScoreSummary(None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,other\nA,1\n", "no column 'mine'; the columns are 'id', 'other'"),
        ("mine\n1\n2\n", "its 2 rows cannot be matched to the 3 responses"),
        ("mine\n1\nx\n2\n", "line 3: the score .* is 'x', not a number"),
        ("mine\n1\nnan\n2\n", "is 'nan', not a number"),
        ("response,knowledge,mine\nx,y,1\n", "none of its rows"),
        ("mine\n", "the columns are none"),
    ],
)
def test_files_that_do_not_fit(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        foreign(tmp_path / "s.csv", text)


def test_a_column_must_cover_the_experiment(tmp_path: Path) -> None:
    own = foreign(tmp_path / "s.csv", "response,knowledge,mine\na,k,1\n")
    fake = Loader(FakeMetric("knowledge_f1"))
    columns = ScoreColumns([MetricSource("knowledge_f1", fake, Cache(None)), own])
    with pytest.raises(InputError, match="mine: has no score for 2 of 3 responses of rows"):
        columns.scores(EXAMPLES, "rows")
    assert columns.scores(EXAMPLES, complete=False)["mine"] == [ScoreSummary(1.0), None, None]
    with pytest.raises(InputError, match="twice"):
        ScoreColumns([own, own])
