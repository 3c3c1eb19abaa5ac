"""The benchmark TRUE, and readers of data sets: on small files in the public formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeMetric
from optional import agreement

from q2_metric.data.readers import read_dnli, read_screeneval, read_usr
from q2_metric.engine.cache import Cache
from q2_metric.errors import DataError, InputError
from q2_metric.evaluation import agreement as measured
from q2_metric.evaluation.scores import MetricSource, ScoreColumns
from q2_metric.evaluation.statistics import Interval
from q2_metric.evaluation.tables import Cell, Report
from q2_metric.types import Example, Metric

pytestmark = agreement()


def columns(*metrics: Metric) -> ScoreColumns:
    def source(metric: Metric) -> MetricSource:
        return MetricSource(metric.name, lambda: metric, Cache(None))

    return ScoreColumns([source(metric) for metric in metrics])


def cells(report: Report, table: str, *row: str) -> dict[str, Cell]:
    """A row of a table, by the titles of its columns."""
    found = next(one for one in report.tables if one.name == table)
    line = next(one for one in found.rows if one[: len(row)] == row)
    return {column.title: cell for column, cell in zip(found.columns, line, strict=True)}


# --- TRUE ---------------------------------------------------------------------------------


def true_file(path: Path, rows: Sequence[tuple[str, int]]) -> str:
    lines = ["grounding,generated_text,label", *(f"k,{text},{label}" for text, label in rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_true(tmp_path: Path) -> None:
    one = true_file(tmp_path / "one.csv", [("a", 1), ("b", 1), ("c", 0), ("d", 0)])
    two = true_file(tmp_path / "two.csv", [("a", 1), ("c", 0)])
    scale = FakeMetric("scale", {"a": 0.9, "b": 0.4, "c": 0.6, "d": 0.1})
    both = columns(scale, FakeMetric("knowledge_bleu"))
    report = measured.on_true(both, measured.read_sets([one, two]))
    auc = cells(report, "auc", "SCALE")
    assert (auc["one"].value, auc["two"].value) == (0.75, 1.0)  # type: ignore[union-attr]
    assert auc["average"] == pytest.approx(0.875)
    # Compared with the first metric, as token F1 is not there: BLEU knows nothing.
    compared = cells(report, "comparison", "one", "BLEU")
    difference = compared["AUC minus that of SCALE"]
    assert isinstance(difference, Interval)
    assert difference.value == -0.25
    assert 0 < compared["p"] <= 1  # type: ignore[operator]
    # Bins of one response each: (0.1 + 0.4 + 0.4 + ... ) worked for "two": 0.9 and 0.6.
    calibration = cells(report, "calibration", "SCALE", "as they are")
    assert calibration["two"] == pytest.approx((0.1 + 0.6) / 2)
    stretched = cells(report, "calibration", "SCALE", "stretched to [0, 1]")
    assert stretched["two"] == 0.0


def test_true_refuses(tmp_path: Path) -> None:
    level = true_file(tmp_path / "level.csv", [("a", 1), ("b", 1)])
    with pytest.raises(InputError, match="level: all labels are the same"):
        measured.on_true(columns(FakeMetric("knowledge_f1")), measured.read_sets([level]))
    with pytest.raises(InputError, match="two sets have the name 'level'"):
        measured.read_sets([level, level])
    good = measured.read_sets([true_file(tmp_path / "good.csv", [("a", 1), ("b", 0)])])
    with pytest.raises(InputError, match="no metric 'x' to compare with; the metrics are "
                                         "knowledge_f1"):
        measured.on_true(columns(FakeMetric("knowledge_f1")), good, against="x")


# --- Dialogue NLI -------------------------------------------------------------------------

DNLI = [
    {"id": "t1", "label": "positive", "sentence1": "i have two dogs .",
     "sentence2": "i own dogs .", "triple1": ["i", "have_pet", "dog"], "dtype": "matchingtriple"},
    {"id": "t2", "label": "neutral", "sentence1": "i have two dogs .", "sentence2": "i like tea ."},
    {"id": "t3", "label": "negative", "sentence1": "i have two dogs .", "sentence2": "no dogs ."},
    {"id": "t4", "label": "positive", "sentence1": "my car is red .", "sentence2": "i drive ."},
]


@pytest.mark.parametrize("lines", [False, True])
def test_read_dnli(lines: bool, tmp_path: Path) -> None:
    path = tmp_path / "dialogue_nli_verified_test.jsonl"
    text = "\n".join(map(json.dumps, DNLI)) if lines else json.dumps(DNLI)
    path.write_text(text)
    pairs = read_dnli(path)
    assert pairs[0].example == Example("i own dogs .", "i have two dogs .")
    assert pairs[0].example.id == "t1"
    assert [pair.consistent for pair in pairs] == [True, False, False, True]
    assert [pair.example.id for pair in read_dnli(path, neutral=False)] == ["t1", "t3", "t4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"label": "x", "sentence1": "a", "sentence2": "b"}]', "row 1: the label is 'x'"),
        ('[{"label": "neutral", "sentence1": "a"}]', "row 1: has no 'sentence2'"),
        ('[{"label": "neutral", "sentence1": "a", "sentence2": 3}]', "is 3, not a text"),
        ("[1]", "row 1: is not a JSON object but a number"),
        ('{"a": 1}\n{', "line 2: is not JSON"),
    ],
)
def test_read_dnli_refuses(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_dnli(path)


# --- Topical-Chat -------------------------------------------------------------------------


def topical(text: str, model: str, uses: list[int]) -> dict[str, Any]:
    return {"response": f"{text}\n", "model": model, "Understandable": [1, 1, 1], "Natural": [3],
            "Uses Knowledge": uses, "Overall": [4, 4, 5]}


USR = [
    {"context": "hi , do you like tea ?\nyes , a lot !\n", "fact": "Tea is a drink.\n",
     "responses": [
         topical("tea is a drink", "Argmax Decoding", [1, 1, 1]),
         topical("i like tea", "Nucleus Decoding (p = 0.3)", [1, 0, 0]),
         topical("no", "New Human Generated", [0, 0, 0]),
         topical("the truth", "Original Ground Truth", [1, 1, 1]),
     ]},
    {"context": "hi\n", "fact": "_nofact\n", "responses": [topical("a", "Argmax", [1, 1, 1])]},
]


def test_read_usr(tmp_path: Path) -> None:
    path = tmp_path / "tc_usr_data.json"
    path.write_text(json.dumps(USR))
    rated = read_usr(path)
    assert [one.rating for one in rated] == [1.0, pytest.approx(1 / 3), 0.0]
    assert rated[0].example == Example(
        "tea is a drink", "Tea is a drink.", ("hi , do you like tea ?", "yes , a lot !")
    )
    assert [one.example.id for one in rated] == ["0-0", "0-1", "0-2"]
    assert len(read_usr(path, leave_out=())) == 4


def test_read_usr_refuses(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{**USR[0], "responses": [{"response": "a"}]}]))
    with pytest.raises(DataError, match="row 1: a response has no text or no 'Uses Knowledge'"):
        read_usr(path)


# --- evidence -----------------------------------------------------------------------------

SCREENEVAL = {
    "convo": {"0": ["A: We meet on Monday.", "B: Not Tuesday? Fine.", "A: Bring the dog."],
              "1": ["A: We meet on Monday.", "B: Not Tuesday? Fine.", "A: Bring the dog."],
              "2": ["C: It rains.", "D: A lot."]},
    "inferred_summary": {"0": "They meet on Monday.", "1": "The dog will bring B.",
                         "2": "It snows."},
    "agg_label": {"0": True, "1": True, "2": False},
    "rel_utt": {"0": [0], "1": [0, 1], "2": []},
}


def write_screeneval(tmp_path: Path, content: object = SCREENEVAL) -> Path:
    path = tmp_path / "screen_eval.json"
    path.write_text(json.dumps(content))
    return path


def test_read_screeneval(tmp_path: Path) -> None:
    rows = read_screeneval(write_screeneval(tmp_path))
    assert rows[0].example.knowledge.split("\n") == SCREENEVAL["convo"]["0"]
    assert (rows[0].consistent, rows[0].relevant, rows[2].relevant) == (True, {0}, set())
    assert rows[1].example.response == "The dog will bring B."


def test_read_screeneval_takes_the_lines_that_are_numbered(tmp_path: Path) -> None:
    content = {**SCREENEVAL, "original_convo": {"0": "a\nb\nc", "1": "a\n\nc", "2": "a"}}
    rows = read_screeneval(write_screeneval(tmp_path, content))
    assert rows[0].example.knowledge == "a\nb\nc"
    assert rows[1].example.knowledge == "a\n\nc", "places stay what they are"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("rel_utt", [3], "row 1: 'rel_utt' is .3., not a list of indices of the 3 utterances"),
        ("agg_label", "yes", "'agg_label' is not true or false"),
        ("convo", 7, "'convo' is not a dialogue"),
        ("inferred_summary", None, "has no 'inferred_summary'"),
    ],
)
def test_read_screeneval_refuses(
    column: str, value: object, message: str, tmp_path: Path
) -> None:
    row = {name: values["0"] for name, values in SCREENEVAL.items()}  # type: ignore[index]
    with pytest.raises(DataError, match=message):
        read_screeneval(write_screeneval(tmp_path, [{**row, column: value}]))


