"""q2 reproduce: each table on small data in the public formats, and on the real responses."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import FakeBackbone, FakeMetric
from optional import agreement

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.data.readers import read_annotated, read_selected
from q2_metric.engine.cache import Cache
from q2_metric.errors import DataError, InputError, MissingExtra
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.reproduce import q2 as q2_paper
from q2_metric.evaluation.reproduce import scale
from q2_metric.evaluation.reproduce.scale import search, utterances
from q2_metric.evaluation.reproduce.table import PAPERS, Key, PaperTable, Run, published, reproduce
from q2_metric.evaluation.scores import MetricSource, ScoreColumns
from q2_metric.evaluation.statistics import Interval
from q2_metric.evaluation.tables import Table
from q2_metric.metrics import bootstrap
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import ScaleSettings
from q2_metric.models.endpoints import Endpoint
from q2_metric.models.presets import PRESETS, preset
from q2_metric.types import Comparison, Example, Metric, Question, Score, Span

pytestmark = agreement()

Asked = list[tuple[str, dict[str, Any]]]


def run_with(
    asked: Asked | None = None, name: str = "bundled", **made: Metric
) -> Run:
    """A run of these metrics; ``asked`` gets the settings with which each was requested."""

    def source(metric: str, settings: Mapping[str, Any]) -> MetricSource:
        if asked is not None:
            asked.append((metric, dict(settings)))
        if metric not in made:
            raise MissingExtra(f"the metric {metric!r}", "nothing", "torch")
        return MetricSource(metric, lambda: made[metric], Cache(None))

    def columns(
        names: Sequence[str], settings: Mapping[str, Any], _rows: Sequence[Example]
    ) -> ScoreColumns:
        return ScoreColumns([source(one, settings) for one in names])

    return Run(preset(name), columns, source)


def value(
    figures: Mapping[Key, Any], model: str, data: str, measure: str, variant: str = ""
) -> Any:
    (found,) = (cell for key, cell in figures.items()
                if (key.model, key.data, key.measure, key.variant) == (
                    model, data, measure, variant))
    return found.value if isinstance(found, Interval) else found


def named(tables: Sequence[PaperTable], name: str) -> PaperTable:
    return next(one for one in tables if one.name == name)


class Asking(FakeMetric):
    """Q² with one question for each response of a table: unanswerable if its score is below 0.3,
    none if the response is not there."""

    def __init__(self, table: Mapping[str, float]) -> None:
        super().__init__("q2", table)

    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        return [self._one(example) for example in examples]

    def _one(self, example: Example) -> Score:
        if example.response not in self.table:
            return Score(example, None)
        number = self.table[example.response]
        how = "no_answer" if number < 0.3 else "token_f1"
        question = Question(Span(example, example.response, 0), "What?")
        item = Comparison(question, "a", "b", number, None, how, number)  # type: ignore[arg-type]
        return Score(example, number, (item,), no_nli=number / 2)


# --- Wizard of Wikipedia ------------------------------------------------------------------


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quicker: nothing that is asserted here depends on the number of draws."""
    monkeypatch.setattr(bootstrap, "N_BOOTSTRAP", 20)
    monkeypatch.setattr(st, "system_correlation", partial(st.system_correlation, repeats=20))


@pytest.fixture
def small_wow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_draws: None
) -> dict[str, float]:
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
                f"{i},{i // 2},{i},m,{response},{knowledge},human {i}"
            )
        lines.append(f"{i},{i // 2},{i},T,m,dodeca says {i},memnet says {i},{knowledge},human {i},"
                     f"{wrong[0]},{wrong[1]}")
    (folder / "cross_annotation.csv").write_text("\n".join(lines) + "\n")
    for (system, consistent), rows in selected.items():
        name = f"{system}_{'' if consistent else 'in'}consistent.csv"
        text = "\n".join([",episode_idx,round,message,response,knowledge,gold", *rows])
        (folder / name).write_text(text + "\n")
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    return table


def test_pairs(small_wow: dict[str, float]) -> None:
    good, bad = zip(*q2_paper.pairs(read_annotated()), strict=True)
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
    same = q2_paper.other_knowledge(own, rows, same_dialogue=True)
    # Contexts 2i and 2i + 1 are turns of one dialogue.
    assert [e.knowledge for e in same] == [f"Fact {i}." for i in (1, 0, 3, 2, 5, 4)]
    other = q2_paper.other_knowledge(own, rows, same_dialogue=False)
    assert [e.response for e in other] == [e.response for e in own]
    for i, example in enumerate(other):
        assert example.knowledge not in (f"Fact {i}.", f"Fact {i ^ 1}.")
    assert other == q2_paper.other_knowledge(own, rows, same_dialogue=False)


def test_v1_leaves_out_responses_without_a_question(small_wow: dict[str, float]) -> None:
    asked: Asked = []
    known = {text: number for text, number in small_wow.items() if text != "dodeca says 0"}
    run = run_with(asked, q2=Asking({**known, "human 1": 0.6}))
    found = named(q2_paper.TABLES, "q2-v1-2").measure(run)
    assert value(found, "q2", "dodeca consistent", "mean") == pytest.approx(0.9), "not 0.5 for one"
    assert value(found, "q2", "dodeca consistent", "coverage") == 3 / 4
    assert value(found, "q2", "dodeca consistent", "questions") == 3
    assert value(found, "q2", "dodeca inconsistent", "unanswerable") == 1
    # dodecaDialogue is inconsistent in contexts 1 and 5; the human says "human 1" and "human 5".
    assert value(found, "q2", "human, where dodeca is inconsistent", "mean") == 0.6
    assert value(found, "q2_no_nli", "human, where dodeca is inconsistent", "mean") == 0.3
    assert all(settings == {"fallback": False, "personal": "keep", "decoding": "greedy"}
               for _, settings in asked)


def test_the_ladder_builds_up(small_wow: dict[str, float]) -> None:
    asked: Asked = []
    run = run_with(asked, q2=Asking(small_wow))
    found = named(q2_paper.TABLES, "q2-v1-7").measure(run)
    steps = list(dict.fromkeys(json.dumps(settings, sort_keys=True) for _, settings in asked))
    assert [json.loads(step) for step in steps][:3] == [
        {"decoding": "greedy", "fallback": False, "personal": "keep"},
        {"decoding": "greedy", "fallback": False, "personal": "remove"}, {"fallback": False}]
    assert value(found, "q2_no_nli", "memnet consistent", "mean") == pytest.approx(0.45)
    assert value(found, "q2_no_nli", "memnet consistent", "coverage", "no personal questions") == 1
    assert asked[-1] == ("q2", {"fallback": False, "coreference": True})
    assert value(found, "q2_no_nli", "memnet consistent", "coverage",
                 "no personal questions, top 5, coreference") == 1
    assert "the whole dialogues are not here (wow: unpack it" in run.notes[0]


def test_the_ladder_resolves_whole_dialogues(
    small_wow: dict[str, float], tmp_path: Path
) -> None:
    seen: list[Example] = []

    class Seeing(Asking):
        def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
            seen.extend(examples)
            return super().score(examples, evidence=evidence)

    (tmp_path / "wow").mkdir()
    # Episodes 0 to 2; the rounds of the small data go on counting from one episode to the next.
    dialogue = {"dialog": [
        {"speaker": f"0_{('Apprentice', 'Wizard')[i % 2]}", "text": "m" if i % 2 == 0 else f"w{i}"}
        for i in range(12)]}
    (tmp_path / "wow" / "valid_random_split.json").write_text(json.dumps([dialogue] * 3))
    run = run_with(q2=Seeing(small_wow))
    named(q2_paper.TABLES, "q2-v1-7").measure(run)
    assert run.notes == []
    lengths = {example.id: len(example.history) for example in seen}
    # Cached scores hide no example, because the history of each differs from the earlier steps'.
    assert lengths["2-5-dodeca"] == 11
    assert seen[-1].history[:3] == ("m", "w1", "m")


def test_only_a_missing_resolver_leaves_a_metric_out() -> None:
    def refused(_names: object, settings: Mapping[str, Any], _rows: object) -> ScoreColumns:
        raise InputError(f"wrong: {settings}")

    run = Run(preset("bundled"), refused, lambda *_: pytest.fail("no source is asked for"))
    assert run.scores([], ["q2"], coreference=True) == {}
    assert run.left_out == ["Q² was left out: wrong: {'coreference': True}."]
    with pytest.raises(InputError, match="wrong"):
        run.scores([], ["q2"], personal="keep")


def test_simulated_systems(small_wow: dict[str, float]) -> None:
    run = run_with(q2=Asking(small_wow), overlap=FakeMetric("overlap"))
    found = named(q2_paper.TABLES, "q2-emnlp-4").measure(run)
    assert value(found, "q2", "WoW", "Spearman") == pytest.approx(1.0)
    assert value(found, "overlap", "WoW", "Spearman") == 0, "it gives 0.5 to all"
    assert len(run.left_out) == 3, "BERTScore, BLEU and NLI cannot be loaded here"
    without = {text: number for text, number in small_wow.items() if text != "memnet says 3"}
    run = run_with(q2=Asking(without), overlap=FakeMetric("overlap"))
    named(q2_paper.TABLES, "q2-v1-4").measure(run)
    assert run.notes == ["3 of 4 contexts have two responses with a question."]


def test_smaller_models_replace_one_at_a_time(small_wow: dict[str, float]) -> None:
    asked: Asked = []
    run = run_with(asked, "paper", q2=Asking(small_wow))
    found = named(q2_paper.TABLES, "q2-emnlp-7").measure(run)
    assert [settings for _, settings in asked] == [
        {}, {"question_model": "valhalla/t5-small-qa-qg-hl"},
        {"reader_model": "twmkn9/albert-base-v2-squad2"}]
    assert {key.size for key in found} == {"", "t5-small", "albert-base"}
    assert all(key in published("q2-emnlp")[7] for key in found)
    alone = run_with(q2=Asking(small_wow))
    assert {key.size for key in named(q2_paper.TABLES, "q2-emnlp-8").measure(alone)} == {""}
    assert alone.left_out == ["The smaller T5 and ALBERT need a preset with Hub models."]


def test_single_responses_length_and_control(small_wow: dict[str, float]) -> None:
    run = run_with(q2=Asking(small_wow), overlap=FakeMetric("overlap", small_wow))
    found = named(q2_paper.TABLES, "q2-emnlp-3").measure(run)
    assert (value(found, "q2", "WoW", "accuracy"), value(found, "q2", "WoW", "ROC-AUC")) == (1, 1)
    assert set(run.curves) == {"precision_recall", "roc", "reliability", "histogram"}
    length = named(q2_paper.TABLES, "q2-v1-9").measure(run)
    assert value(length, "", "dodeca consistent", "characters") == len("dodeca says 0")
    assert value(length, "", "dodeca consistent", "tokens") == 3
    other = named(q2_paper.TABLES, "q2-v1-8").measure(run)
    assert value(other, "q2_no_nli", "other dialogue", "mean") == pytest.approx(0.45)
    shares = named(q2_paper.TABLES, "q2-v1-figures").measure(run)
    assert [value(shares, "q2", f"{share} inconsistent", "mean") for share in (0, 0.05, 0.25, 1)
            ] == pytest.approx([0.9, 0.865, 0.725, 0.2])


# --- Dialogue NLI, Topical-Chat ------------------------------------------------------------

DNLI = [("positive", "i own dogs ."), ("neutral", "i like tea ."), ("negative", "no dogs ."),
        ("positive", "i drive ."), ("negative", "unasked")]


def test_dnli_of_both_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    (tmp_path / "dnli").mkdir()
    rows = [{"label": label, "sentence1": "k", "sentence2": text} for label, text in DNLI]
    (tmp_path / "dnli" / "dialogue_nli_verified_test.jsonl").write_text(json.dumps(rows))
    q2 = Asking({"i own dogs .": 0.8, "i like tea .": 0.05, "no dogs .": 0.3, "i drive .": 0.2})
    nli = FakeMetric("nli", {"i own dogs .": 1.0})  # 0.5, neutral, for the others
    asked: Asked = []
    data = "DNLI, pairs that are not neutral"
    found = named(q2_paper.TABLES, "q2-v1-5").measure(run_with(asked, q2=q2, nli=nli))
    # Without the neutral pair and the one without a question, only "no dogs" is wrong.
    assert value(found, "q2", data, "accuracy") == pytest.approx(2 / 3)
    assert value(found, "q2", data, "coverage") == 3 / 4
    assert value(found, "nli", data, "accuracy") == 3 / 4, "neutral is not entailment"
    assert ("q2", {"fallback": False, "personal": "keep", "decoding": "greedy",
                   "drop_unanswerable": True}) in asked
    found = named(q2_paper.TABLES, "q2-emnlp-6").measure(run_with(asked := [], q2=q2, nli=nli))
    assert value(found, "q2", "DNLI", "accuracy") == 3 / 4, "of the pairs with a score"
    assert asked == [("q2", {"personal": "keep"}), ("nli", {"personal": "keep"})]


@pytest.mark.usefixtures("few_draws")
def test_topical_chat_of_both_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    (tmp_path / "usr").mkdir()
    said = [("a", "x", [1, 1]), ("b", "x", [1, 0]), ("c", "x", [0, 0]),
            ("d", "Original Ground Truth", [1, 1]), ("unasked", "x", [0, 0])]
    content = [{"context": "hi\n", "fact": "Fact.", "responses": [
        {"response": text, "model": model, "Uses Knowledge": uses} for text, model, uses in said]}]
    (tmp_path / "usr" / "tc_usr_data.json").write_text(json.dumps(content))
    q2 = Asking({"a": 0.9, "b": 0.5, "c": 0.4, "d": 0.1})
    first = named(q2_paper.TABLES, "q2-v1-6").measure(run_with(q2=q2))
    # Ratings 1, 0.5, 0 and 1 with scores 0.9, 0.5, 0.4 and 0.1.
    assert value(first, "q2", "Topical-Chat", "coverage") == 4 / 5
    assert value(first, "q2", "Topical-Chat", "Spearman") == pytest.approx(0.1054, abs=1e-4)
    # With 0 for the response without a question, which people rated 0.
    assert value(first, "q2", "Topical-Chat", "Spearman", "0 without a question") == pytest.approx(
        0.4743, abs=1e-4)
    second = named(q2_paper.TABLES, "q2-emnlp-5").measure(run_with(q2=q2))
    assert value(second, "q2", "Topical-Chat", "Spearman") == pytest.approx(1.0)


# --- SCALE ---------------------------------------------------------------------------------


def test_true_with_a_published_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    (tmp_path / "true").mkdir()
    rows = [("a", 1), ("b", 1), ("c", 0), ("d", 0)]
    for name in ("paws", "dialfact_a"):
        lines = ["grounding,generated_text,label", *(f"k,{text},{label}" for text, label in rows)]
        (tmp_path / "true" / f"{name}.csv").write_text("\n".join(lines) + "\n")
    made = FakeMetric("scale", {"a": 0.9, "b": 0.4, "c": 0.6, "d": 0.1})
    report = reproduce([named(scale.TABLES, "scale-3"), named(scale.TABLES, "scale-4")],
                       run_with(name="paper", scale=made))
    assert [row[:3] for row in report.tables[0].rows] == [
        ("scale-3", "TRUE, ROC-AUC", "in part, see its note"),
        ("scale-4", "TRUE, calibration error (table and figure 3)", "in part, see its note")]
    auc = rows_of(report.tables[1])
    assert auc["SCALE", "", "ours: flan-t5-xl"]["paws"] == Interval(0.75, 0.0, 1.0)
    assert auc["SCALE", "", "published: flan-t5-xl"]["paws"] == 0.919
    assert auc["SCALE", "", "difference"]["paws"] == pytest.approx(0.75 - 0.919)
    assert auc["SCALE", "", "published: flan-t5-large"]["paws"] == 0.969
    assert auc["ANLI", "", "published: the paper's models"]["dialfact"] == 0.777
    assert "average" not in [key for key, cell in auc["SCALE", "", "ours: flan-t5-xl"].items()
                             if cell is not None], "a mean over two sets could not be compared"
    assert "dialfact is dialfact_a, 4,473 of" in report.tables[1].note
    assert "frank is not here." in report.tables[1].note
    # Bins of width 0.1: .1 (0), .4 (1), .6 (0), .9 (1): (.1 + .6 + .6 + .1) / 4.
    ece = rows_of(report.tables[2])
    assert ece["SCALE", "", "ours: flan-t5-xl"]["paws"] == pytest.approx(0.35)
    # Stretched: 0, .375, .625, 1: (0 + .625 + .625 + 0) / 4.
    stretched = ece["SCALE", "stretched to [0, 1]", "ours: flan-t5-xl"]["paws"]
    assert stretched == pytest.approx(0.3125)


def rows_of(table: Table) -> dict[tuple[str, ...], dict[str, Any]]:
    """The rows of a table by their texts, each by the titles of its columns."""
    texts = sum(column.kind == "text" for column in table.columns)
    titles = [column.title for column in table.columns[texts:]]
    return {tuple(map(str, row[:texts])): dict(zip(titles, row[texts:], strict=True))
            for row in table.rows}


SCREENEVAL = {
    "convo": {"0": ["A: We meet on Monday.", "B: Not Tuesday? Fine.", "A: Bring the dog."],
              "1": ["A: We meet on Monday.", "B: Not Tuesday? Fine.", "A: Bring the dog."],
              "2": ["C: It rains.", "D: A lot."]},
    "inferred_summary": {"0": "They meet on Monday.", "1": "The dog will bring B.",
                         "2": "It snows."},
    "agg_label": {"0": True, "1": True, "2": False},
    "rel_utt": {"0": [0], "1": [0, 1], "2": []},
}


@pytest.fixture
def screeneval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_draws: None) -> None:
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("Q2_CHAT_MODEL", raising=False)
    (tmp_path / "screeneval").mkdir()
    (tmp_path / "screeneval" / "screen_eval.json").write_text(json.dumps(SCREENEVAL))


def test_screeneval(screeneval: None) -> None:
    asked: Asked = []
    made = Scale(FakeBackbone(), ScaleSettings(chunk_size=100))
    run = run_with(asked, scale=made)
    five = named(scale.TABLES, "scale-5").measure(run)
    for measure in ("Pearson", "Kendall", "ROC-AUC"):
        assert value(five, "scale", "ScreenEval", measure) > 0.5
        assert value(five, "Rouge-1", "ScreenEval", measure) is not None
    assert value(five, "scale", "ScreenEval", "seconds") > 0
    assert ("scale", {"batch_size": 1}) in asked
    six = named(scale.TABLES, "scale-6").measure(run)
    assert value(six, "scale", "ScreenEval", "F1-macro") == 1.0
    assert "Q2_CHAT_MODEL" in run.left_out[-1]
    # By shared words: "They meet on Monday." is in line 0; "The dog ... bring" in line 2.
    seven = named(scale.TABLES, "scale-7").measure(run)
    assert value(seven, "scale", "ScreenEval", "recall") == 0.5
    assert asked[-1] == ("scale", {"chunk_size": 10**6}), "the tree begins with all utterances"
    swept = named(scale.TABLES, "scale-figures").measure(run)
    assert value(swept, "scale", "100 tokens", "ROC-AUC") == 1.0
    assert ("scale", {"chunk_size": 3000, "batch_size": 1}) in asked
    assert run.curves["sweep"]["ECE"]["scale"]["x"] == list(scale.CHUNKS)


def test_without_rouge_score_the_extra_is_named_before_the_timed_run(
    screeneval: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    asked: Asked = []
    with pytest.raises(MissingExtra, match=r'q2-metric\[knowledge\]"'):
        named(scale.TABLES, "scale-5").measure(run_with(asked))
    assert asked == []


def test_a_chat_model_gets_the_prompt_of_the_paper(
    screeneval: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []

    def answer(self: Endpoint, body: str) -> Any:
        assert self.url == "http://here.test/v1"
        sent.append(json.loads(body))
        said = "No" if "snows" in sent[-1]["messages"][0]["content"] else " Yes"
        return {"choices": [{"message": {"content": said}}]}

    monkeypatch.setattr(Endpoint, "_sent", answer)
    monkeypatch.setenv("Q2_CHAT_MODEL", "openai:tiny-chat@http://here.test/v1/")
    made = Scale(FakeBackbone(), ScaleSettings(chunk_size=100))
    six = named(scale.TABLES, "scale-6")
    found = six.measure(run_with(scale=made))
    assert value(found, "tiny-chat", "ScreenEval", "F1-macro") == 1.0
    assert sent[2]["messages"][0]["content"] == (
        'C: It rains.\nD: A lot. Question: does the previous conversation factually imply '
        '"It snows."? Answer Yes or No.')
    assert (sent[2]["temperature"], sent[2]["max_tokens"]) == (0, 1)
    monkeypatch.setenv("Q2_CHAT_MODEL", "openai:tiny-chat@file:///etc")
    with pytest.raises(InputError, match="MODEL@URL"):
        six.measure(run_with(scale=made))


def test_search_with_the_bundled_models() -> None:
    lines = ["Anna: Have you booked the train to Berlin?",
             "Ben: Yes, it leaves at nine on Friday.",
             "Anna: Great. I will bring sandwiches.",
             "Ben: And I will ask Carla about the hotel.",
             "Anna: She said it costs eighty euros a night."]
    source = MetricSource("scale", Scale.from_preset, Cache(None))
    asked = ["The train leaves on Friday.", "A night in the hotel costs eighty euros."]
    examples = [Example(text, "\n".join(lines)) for text in asked]
    assert [line for line, _ in search(source, examples)] == [1, 4]


def test_utterances_are_lines() -> None:
    text = "A: one. Two!\n\n  B: three  \nC"
    assert [text[start:end] for start, end in utterances(text)] == ["A: one. Two!", "B: three", "C"]


# --- the command --------------------------------------------------------------------------


def q2(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)])


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, small_wow: dict[str, float]) -> Asked:
    asked: Asked = []

    def load(names: Sequence[str], chosen: Any, **keywords: Any) -> list[Metric]:
        asked.append((names[0], keywords))
        made = Asking(small_wow) if names[0] == "q2" else FakeMetric(names[0], small_wow)
        return [made]

    monkeypatch.setattr(metrics, "load_metrics", load)
    return asked


def test_one_table_in_all_formats(loaded: Asked, tmp_path: Path) -> None:
    outs = [tmp_path / f"r.{suffix}" for suffix in ("json", "csv", "md", "tex")]
    done = q2("q2-v1-2", "--no-cache", *(word for out in outs for word in ("--out", out)))
    assert done.exit_code == 0, done.output
    assert "published: the paper's models" in done.stdout
    table = json.loads(outs[0].read_text())["tables"][1]
    assert (table["name"], table["columns"][0]["title"]) == ("q2-v1-2", "model")
    assert "q2-v1-2,Q² / dodeca consistent / ours: bundled,mean,0.9" in outs[1].read_text()
    assert "## Q², arXiv v1, scores by system and of people" in outs[2].read_text()
    tex = outs[3].read_text()
    assert r"\toprule" in tex
    assert r"Q\textsuperscript{2} &  & dodeca consistent & published: the paper's models" in tex
    assert loaded[0] == ("q2", {"fallback": False, "personal": "keep", "decoding": "greedy"})


def test_the_users_settings_come_first(loaded: Asked) -> None:
    assert q2("q2-v1-3", "-m", "q2,overlap", "-s", "personal=remove", "--no-cache").exit_code == 0
    assert {name for name, _ in loaded} == {"q2", "overlap"}
    assert q2("q2-v1-2", "-s", "personal=remove", "--no-cache").exit_code == 0
    assert loaded[-1] == ("q2", {"fallback": False, "personal": "remove", "decoding": "greedy"})


def test_all_says_what_is_missing(loaded: Asked, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    done = q2("--all", "--limit", "4", "--no-cache", "--quiet", "--out", out)
    assert done.exit_code == 0, done.output
    state = {row[0]: row[2] for row in json.loads(out.read_text())["tables"][0]["rows"]}
    assert state["q2-v1-3"] == "measured"
    assert state["q2-emnlp-4"] == "in part, see its note", "BERTScore needs an encoder"
    assert state["q2-v1-6"] == (
        "not run: usr: download it from https://shikib.com/tc_usr_data.json")
    assert state["scale-5"] == "not run: q2 data download screeneval"
    assert "bertscore" not in {name for name, _ in loaded}, "bundled needs no network"


def test_a_paper_leaves_out_what_is_missing(loaded: Asked) -> None:
    done = q2("q2-v1", "--limit", "4", "--no-cache")
    assert done.exit_code == 0, done.output
    assert "not run: dnli: unpack it from the archive" in " ".join(done.stdout.split())


@pytest.mark.parametrize(("arguments", "message"), [
    (["q2-v1-1"], "there is no table 'q2-v1-1'; q2 reproduce --list shows all tables"),
    ([], "name a table (q2 reproduce --list shows them), or give --all"),
    (["scale-5"], "scale-5: data sets are missing: q2 data download screeneval"),
])
def test_one_line_errors(loaded: Asked, arguments: list[str], message: str) -> None:
    done = q2(*arguments, "--no-cache")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == f"q2: error: {message}"


def test_the_list_names_every_published_table() -> None:
    from q2_metric.cli.experiments import _tables

    tables = _tables()
    assert len({one.name for one in tables}) == len(tables)
    measured = {(one.paper, one.table) for one in tables}
    for paper in PAPERS:
        assert {(paper, number) for number in published(paper)} <= measured
    done = q2("--list")
    assert done.exit_code == 0
    assert all(one.name in done.stdout for one in tables)


def test_a_figure_is_beside_one_of_its_size() -> None:
    assert PRESETS["paper"].scale.model.endswith("flan-t5-xl")
    key = Key("scale", "flan-t5-xl", data="paws", measure="ROC-AUC")
    assert published("scale")[3][key] == 0.919


# --- the real responses -------------------------------------------------------------------


def test_baselines_on_wow_are_the_published_ones() -> None:
    if not os.environ.get("Q2_DATA_DIR"):
        pytest.skip("Q2_DATA_DIR is not set: the annotated responses are not here")
    try:
        read_selected()
    except DataError as error:
        pytest.skip(str(error))
    overlap, bleu = metrics.load_metrics(["overlap", "knowledge_bleu"])
    run = run_with(overlap=overlap, knowledge_bleu=bleu)
    four = named(q2_paper.TABLES, "q2-emnlp-4").measure(run)
    # The paper: 0.878 and 0.3051, over other random draws.
    assert value(four, "overlap", "WoW", "Spearman") == pytest.approx(0.878, abs=0.005)
    assert value(four, "knowledge_bleu", "WoW", "Spearman") == pytest.approx(0.3051, abs=0.02)
    three = named(q2_paper.TABLES, "q2-v1-3").measure(run)
    for key, theirs in published("q2-v1")[3].items():
        if "random" not in key.data:
            assert three[key] == pytest.approx(theirs, abs=0.012)
    assert len(q2_paper.pairs(read_annotated())) == 244
    length = named(q2_paper.TABLES, "q2-v1-9").measure(run)
    assert value(length, "", "dodeca inconsistent", "characters") == pytest.approx(70.84, abs=0.5)
