"""The experiments: on small files in the public formats, and on the real annotated responses."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeBackbone, FakeMetric, FakeSentences
from optional import agreement

from q2_metric.data.dnli import read_dnli
from q2_metric.data.screeneval import read_screeneval
from q2_metric.data.usr import read_usr
from q2_metric.data.wow import read_annotated, read_selected
from q2_metric.engine.cache import Cache
from q2_metric.errors import DataError, InputError
from q2_metric.evaluation import dnli, evidence, true, usr
from q2_metric.evaluation.scores import MetricSource, ScoreColumns
from q2_metric.evaluation.statistics import Interval
from q2_metric.evaluation.tables import Cell, Report
from q2_metric.evaluation.wow import experiment as wow
from q2_metric.evaluation.wow.controls import other_knowledge
from q2_metric.evaluation.wow.responses import pairs
from q2_metric.metrics.overlap import Bleu, OverlapF1, TokenF1
from q2_metric.metrics.scale import Scale, ScaleSettings
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


# --- Wizard of Wikipedia ------------------------------------------------------------------


@pytest.fixture
def small_wow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Six contexts in the public form, and a table of scores: consistent 0.9, others 0.2."""
    folder = tmp_path / "wow_q2"
    folder.mkdir()
    (folder / "LICENSE.txt").write_text("MIT")
    lines = [",episode_idx,round,topic,message,dodeca_response,memnet_response,knowledge,gold,"
             "dodeca_label,memnet_label"]
    table: dict[str, float] = {}
    selected: dict[tuple[str, bool], list[str]] = {}
    # (dodeca, memnet) is inconsistent: four contexts have one of each.
    for i, wrong in enumerate([(0, 1), (1, 0), (0, 1), (0, 1), (0, 0), (1, 1)]):
        knowledge = f"Fact {i}."
        for system, bad in zip(("dodeca", "memnet"), wrong, strict=True):
            response = f"{system} says {i}"
            table[response] = 0.2 if bad else 0.9
            selected.setdefault((system, not bad), []).append(
                f"{i},{i // 2},{i},m,{response},{knowledge}"
            )
        lines.append(f"{i},{i // 2},{i},T,m,dodeca says {i},memnet says {i},{knowledge},g,"
                     f"{wrong[0]},{wrong[1]}")
    (folder / "cross_annotation.csv").write_text("\n".join(lines) + "\n")
    for (system, consistent), rows in selected.items():
        name = f"{system}_{'' if consistent else 'in'}consistent.csv"
        text = "\n".join([",episode_idx,round,message,response,knowledge", *rows])
        (folder / name).write_text(text + "\n")
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    return table


def test_wow(small_wow: dict[str, float]) -> None:
    scale, f1 = FakeMetric("scale", small_wow), FakeMetric("knowledge_f1")
    report = wow.experiment(columns(scale, f1))
    consistent = cells(report, "absolute", "dodecaDialogue", "consistent")
    assert (consistent["n"], consistent["SCALE"], consistent["token F1"]) == (4, 0.9, 0.5)
    assert cells(report, "absolute", "MemNet", "inconsistent")["SCALE"] == pytest.approx(0.2)
    # The random sample is all six responses where a system has so few: two are inconsistent.
    random = cells(report, "absolute", "dodecaDialogue", "random")
    assert (random["n"], random["SCALE"]) == (6, pytest.approx((4 * 0.9 + 2 * 0.2) / 6))
    assert (random["arXiv v1: Q²"], random["arXiv v1: unanswerable"]) == (0.478, 0.3548)

    assert cells(report, "standing", "SCALE") == {
        "metric": "SCALE",
        "AUC, selected": "above every baseline",
        "AUC, annotated": "above every baseline",
        "system level": "above every baseline",
    }
    detected = cells(report, "detection_annotated", "SCALE")
    assert detected["ROC-AUC"] == Interval(1.0, 1.0, 1.0)
    assert detected["accuracy"] == 1.0
    # At 0.5 nothing is consistent, as 0.5 itself is inconsistent: 6 of 12 are.
    undecided = cells(report, "detection_annotated", "token F1")
    assert undecided["ROC-AUC"] == Interval(0.5, 0.5, 0.5)
    assert (undecided["accuracy"], undecided["inconsistent: recall"]) == (0.5, 1.0)

    assert cells(report, "systems", "SCALE")["Spearman"] == Interval(
        pytest.approx(1.0), pytest.approx(1.0), pytest.approx(1.0)
    )
    assert cells(report, "systems", "token F1")["Spearman"] == Interval(0.0, 0.0, 0.0)
    emnlp = "published: Q² without NLI (Q², EMNLP 2021, table 3)"
    assert cells(report, "detection_selected", emnlp)["accuracy"] == 0.731
    emnlp = "published: overlap (Q², EMNLP 2021, table 4)"
    assert cells(report, "systems", emnlp)["Spearman"] == 0.878
    falling = cells(report, "robustness", "SCALE")
    assert (falling["0"], falling["1"]) == (pytest.approx(0.9), pytest.approx(0.2))
    assert falling["0.5"] == pytest.approx(0.55)
    length = cells(report, "length", "dodecaDialogue", "consistent")
    assert (length["characters"], length["tokens"]) == (len("dodeca says 0"), 3)
    assert (length["arXiv v1: characters"], length["arXiv v1: tokens"]) == (69.49, 15.13)
    assert report.signatures == {
        "scale": "scale|version:test", "knowledge_f1": "knowledge_f1|version:test"}
    assert set(report.curves) == {
        "precision_recall", "roc", "reliability", "histogram", "robustness"
    }


def test_wow_says_where_a_baseline_is_better(small_wow: dict[str, float]) -> None:
    report = wow.experiment(columns(FakeMetric("scale"), FakeMetric("knowledge_bleu", small_wow)))
    found = cells(report, "standing", "SCALE")
    assert set(found.values()) == {"SCALE", "not above BLEU"}
    alone = wow.experiment(columns(FakeMetric("scale")), control=False)
    assert alone.tables[0].name == "absolute", "without a baseline there is nothing to say"


def test_wow_pairs(small_wow: dict[str, float]) -> None:
    good, bad = pairs(read_annotated())
    texts = [row.example.response for row in read_annotated()]
    assert [texts[i] for i in good] == [
        "dodeca says 0", "memnet says 1", "dodeca says 2", "dodeca says 3"
    ]
    assert [texts[i] for i in bad] == [
        "memnet says 0", "dodeca says 1", "memnet says 2", "memnet says 3"
    ]


def test_other_knowledge(small_wow: dict[str, float]) -> None:
    rows = read_annotated()
    own = [row.example for row in rows if row.system == "dodeca"]
    same = other_knowledge(own, rows, same_dialogue=True)
    # Contexts 2i and 2i + 1 are turns of one dialogue.
    assert [e.knowledge for e in same] == [f"Fact {i}." for i in (1, 0, 3, 2, 5, 4)]
    other = other_knowledge(own, rows, same_dialogue=False)
    assert [e.response for e in other] == [e.response for e in own]
    for i, example in enumerate(other):
        assert example.knowledge not in (f"Fact {i}.", f"Fact {i ^ 1}.")
    assert other == other_knowledge(own, rows, same_dialogue=False)
    assert other != other_knowledge(own, rows, same_dialogue=False, seed=1)


def test_control_scores_what_others_did_not(small_wow: dict[str, float]) -> None:
    class Reading(FakeMetric):
        """Consistent where the response's number is in the knowledge."""

        def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Any]:
            self.table = {e.response: float(e.response[-1] in e.knowledge) for e in examples}
            return super().score(examples)

    report = wow.experiment(columns(Reading("scale")))
    assert cells(report, "random_knowledge", "own")["SCALE"] == 1.0
    assert cells(report, "random_knowledge", "same dialogue")["SCALE"] == 0.0
    assert cells(report, "random_knowledge", "other dialogue")["SCALE"] == 0.0
    assert all(t.name != "random_knowledge"
               for t in wow.experiment(columns(Reading("scale")), control=False).tables)


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
    report = true.experiment(both, true.read_sets([one, two]))
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
    assert not any("published" in str(row[0]) for table in report.tables for row in table.rows), (
        "no paper has these sets")


def test_true_beside_the_published(tmp_path: Path) -> None:
    named = true_file(tmp_path / "q2.csv", [("a", 1), ("c", 0)])
    fake = FakeMetric("knowledge_f1", {"a": 0.9})
    report = true.experiment(columns(fake), true.read_sets([named]))
    for size, auc, ece in (("large", 0.843, 0.103), ("xl", 0.863, 0.286)):
        name = f"published: SCALE, flan-t5-{size} (SCALE, EMNLP 2023, table"
        assert cells(report, "auc", f"{name} 3)")["q2"] == auc
        assert cells(report, "calibration", f"{name} 4)")["q2"] == ece
    assert cells(report, "auc", "token F1")["q2"] == Interval(1.0, 1.0, 1.0)


def test_true_refuses(tmp_path: Path) -> None:
    level = true_file(tmp_path / "level.csv", [("a", 1), ("b", 1)])
    with pytest.raises(InputError, match="level: all labels are the same"):
        true.experiment(columns(FakeMetric("knowledge_f1")), true.read_sets([level]))
    with pytest.raises(InputError, match="two sets have the name 'level'"):
        true.read_sets([level, level])
    good = true.read_sets([true_file(tmp_path / "good.csv", [("a", 1), ("b", 0)])])
    with pytest.raises(InputError, match="no metric 'x' to compare with; the metrics are "
                                         "knowledge_f1"):
        true.experiment(columns(FakeMetric("knowledge_f1")), good, against="x")


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
    assert [pair.label for pair in pairs] == [
        "entailment", "neutral", "contradiction", "entailment"
    ]
    assert [pair.consistent for pair in pairs] == [True, False, False, True]


def test_dnli(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(DNLI))
    pairs = read_dnli(path)
    scale = FakeMetric(
        "scale", {"i own dogs .": 0.8, "i like tea .": 0.1, "no dogs .": 0.3, "i drive .": 0.2}
    )
    report = dnli.experiment(columns(scale), pairs, dev=pairs)
    found = cells(report, "accuracy", "SCALE")
    # At 0.1, itself inconsistent, only "no dogs" is wrong; at 0.5 only "i drive".
    assert (found["at 0.1"], found["at 0.5"]) == (0.75, 0.75)
    # Both 0.15 and 0.55 are right for three of four: the lower is taken.
    assert (found["tuned threshold"], found["at the tuned"]) == (pytest.approx(0.15), 0.75)
    theirs = "published: Q², answerable questions only (Q², arXiv v1, table 5)"
    assert cells(report, "accuracy", theirs)["without neutral pairs"] == 0.6962
    assert cells(report, "means", "entailment")["SCALE"] == 0.5
    assert cells(report, "means", "contradiction") == {
        "label": "contradiction", "n": 1, "SCALE": 0.3
    }
    with pytest.raises(InputError, match="one class"):
        dnli.experiment(columns(scale), pairs[:1])


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
    assert read_usr(path, quality="Overall")[0].rating == pytest.approx(13 / 3)


def test_usr(tmp_path: Path) -> None:
    path = tmp_path / "tc_usr_data.json"
    path.write_text(json.dumps(USR))
    rated = read_usr(path)
    scale = FakeMetric("scale", {"tea is a drink": 0.9, "i like tea": 0.5, "no": 0.4})
    report = usr.experiment(columns(scale, FakeMetric("knowledge_bleu")), rated)
    found = cells(report, "correlation", "SCALE")
    assert found["Spearman"].value == pytest.approx(1.0)  # type: ignore[union-attr]
    # x = (1, 1/3, 0), y = (0.9, 0.5, 0.4): both differ from their means in proportion
    # (5, -1, -4) / 9 and (9, -3, -6) / 30.
    assert found["Pearson"].value == pytest.approx(  # type: ignore[union-attr]
        (5 * 9 + 3 + 24) / ((25 + 1 + 16) * (81 + 9 + 36)) ** 0.5
    )
    assert cells(report, "correlation", "BLEU")["Spearman"] is None, "BLEU says 0.5 of all"
    theirs = cells(report, "correlation", "published: Q² without NLI (Q², arXiv v1, table 6)")
    assert (theirs["Spearman"], theirs["Pearson"]) == (0.6324, 0.5914)
    assert "3 responses to 1 contexts" in report.tables[0].note
    with pytest.raises(InputError, match="three responses with different ratings"):
        usr.experiment(columns(scale), rated[:2])


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


def fake_scale(calls: list[int]) -> MetricSource:
    def load() -> Metric:
        calls.append(1)
        # The whole dialogue is one chunk; the search goes down to utterances all the same.
        return Scale(FakeBackbone(), FakeSentences(), ScaleSettings(chunk_size=100))

    return MetricSource("scale", load, Cache(None))


def test_read_screeneval(tmp_path: Path) -> None:
    rows = read_screeneval(write_screeneval(tmp_path))
    assert rows[0].utterances == SCREENEVAL["convo"]["0"]
    assert (rows[0].consistent, rows[0].relevant, rows[2].relevant) == (True, {0}, set())
    assert rows[1].example.response == "The dog will bring B."


def test_read_screeneval_takes_the_lines_that_are_numbered(tmp_path: Path) -> None:
    content = {**SCREENEVAL, "original_convo": {"0": "a\nb\nc", "1": "a\n\nc", "2": "a"}}
    rows = read_screeneval(write_screeneval(tmp_path, content))
    assert rows[0].utterances == ["a", "b", "c"]
    assert rows[1].utterances == ["a", "", "c"], "places stay what they are"


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


def test_evidence(tmp_path: Path) -> None:
    rows = read_screeneval(write_screeneval(tmp_path))
    calls: list[int] = []
    scale = fake_scale(calls)
    # By shared words: "They meet on Monday." is in line 0; "The dog ... bring" in line 2.
    assert evidence.search(scale, [row.example for row in rows[:2]], lambda _rows: None) == [0, 2]
    report = evidence.experiment(scale, columns(TokenF1()), rows)
    found = cells(report, "recall", "SCALE, tree search")
    assert found["recall"].value == 0.5  # type: ignore[union-attr]
    theirs = "published: SCALE, flan-t5-xl (SCALE, EMNLP 2023, table 7)"
    assert cells(report, "recall", theirs)["recall"] == 0.471
    assert cells(report, "recall", "chance")["recall"] == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert "units:utterance|branches:2" in report.signatures["evidence"]
    assert cells(report, "detection", "token F1")["ROC-AUC"] == Interval(1.0, 1.0, 1.0)
    with pytest.raises(InputError, match="no supported sentence"):
        evidence.experiment(scale, columns(TokenF1()), rows[2:])
    assert calls == [1]


def test_evidence_with_the_bundled_search() -> None:
    lines = ["Anna: Have you booked the train to Berlin?",
             "Ben: Yes, it leaves at nine on Friday.",
             "Anna: Great. I will bring sandwiches.",
             "Ben: And I will ask Carla about the hotel.",
             "Anna: She said it costs eighty euros a night."]
    scale = MetricSource("scale", Scale.from_preset, Cache(None))
    asked = ["The train leaves on Friday.", "A night in the hotel costs eighty euros."]
    examples = [Example(text, "\n".join(lines)) for text in asked]
    assert evidence.search(scale, examples, lambda _rows: None) == [1, 4]


def test_utterances_are_lines() -> None:
    text = "A: one. Two!\n\n  B: three  \nC"
    spans = evidence.Utterances().split([text])[0]
    assert [text[start:end] for start, end in spans] == ["A: one. Two!", "B: three", "C"]


# --- the real responses -------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> Report:
    if not os.environ.get("Q2_DATA_DIR"):
        pytest.skip("Q2_DATA_DIR is not set: the annotated responses are not here")
    try:
        read_selected()
    except DataError as error:
        pytest.skip(str(error))
    return wow.experiment(columns(TokenF1(), OverlapF1(), Bleu()))


def test_baselines_on_wow_are_the_published_ones(real: Report) -> None:
    f1 = cells(real, "detection_annotated", "token F1")
    # SCALE's table 3 has 65.9 for token F1.
    assert f1["ROC-AUC"].value == pytest.approx(0.659, abs=0.0005)  # type: ignore[union-attr]
    # Q²'s table 4 has 0.878 and 0.3051, over other random draws.
    overlap, bleu = (cells(real, "systems", name)["Spearman"] for name in ("overlap", "BLEU"))
    assert overlap.value == pytest.approx(0.878, abs=0.005)  # type: ignore[union-attr]
    assert bleu.value == pytest.approx(0.3051, abs=0.02)  # type: ignore[union-attr]
    assert bleu.low == pytest.approx(-0.8, abs=0.05)  # type: ignore[union-attr]


def test_the_contexts_of_the_paper(real: Report) -> None:
    good, bad = pairs(read_annotated())
    assert len(good) == len(bad) == 244
    length = cells(real, "length", "dodecaDialogue", "inconsistent")
    assert length["characters"] == pytest.approx(70.84, abs=0.5)
    assert length["tokens"] == pytest.approx(15.79, abs=0.5)
    control = cells(real, "random_knowledge", "other dialogue")
    assert control["token F1"] < 0.1  # type: ignore[operator]
