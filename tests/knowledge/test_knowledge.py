"""Selection logic by hand: reader, EGR, votes, metrics, mentions, pools, bad input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from q2_metric.errors import InputError, MissingExtra
from q2_metric.knowledge import bm25, dstc
from q2_metric.knowledge.bm25 import Bm25, stems
from q2_metric.knowledge.detection import evaluate_detection
from q2_metric.knowledge.dstc import passages, read_pool
from q2_metric.knowledge.evaluate import error_kind, evaluate, first_stage_recall, response_scores
from q2_metric.knowledge.mentions import MentionFinder, spoken_words
from q2_metric.knowledge.reranking import Ensemble, EntityGuided, hard_vote, rerank, soft_vote
from q2_metric.knowledge.types import Dialogue, Pool, Ranked, Ranker, Snippet, Turn


def snippet(domain: str, entity: str, doc: str, name: str | None = None) -> Snippet:
    return Snippet(domain, entity, name, doc, f"question {doc}?", f"answer {doc}.")


YALE = snippet("hotel", "1", "6", "Yale Hotel")
YALE2 = snippet("hotel", "1", "7", "Yale Hotel")
ARTMAR = snippet("hotel", "2", "3", "Artmar Hotel")
FAROLITO = snippet("restaurant", "1", "1", "El Farolito")
TAXI = snippet("taxi", "*", "1")
POOL = Pool([YALE, YALE2, ARTMAR, FAROLITO, TAXI])


def ranking(*snippets: Snippet) -> list[Ranked]:
    return [Ranked(s, 1.0 - 0.1 * i) for i, s in enumerate(snippets)]


def order(found: list[Ranked]) -> list[Snippet]:
    return [ranked.snippet for ranked in found]


class Fixed:
    """A ranker that says the same of every dialogue."""

    name = "fixed"

    def __init__(self, *snippets: Snippet) -> None:
        self.found = ranking(*snippets)

    def rank(self, dialogues: Any, pool: Pool, k: int = 5) -> list[list[Ranked]]:
        return [self.found[:k] for _ in dialogues]


# --- EGR (Algorithm 1) ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mentioned", "expected"),
    [
        ([], [ARTMAR, FAROLITO, YALE, YALE2]),
        ([("hotel", "1")], [YALE, ARTMAR, FAROLITO, YALE2]),
        ([("hotel", "2")], [ARTMAR, FAROLITO, YALE, YALE2]),
        ([("restaurant", "1"), ("hotel", "1")], [FAROLITO, ARTMAR, YALE, YALE2]),
        # The latest has no snippet in the ranking: the one before decides.
        ([("taxi", "*"), ("hotel", "1")], [YALE, ARTMAR, FAROLITO, YALE2]),
        ([("train", "*")], [ARTMAR, FAROLITO, YALE, YALE2]),
    ],
)
def test_egr(mentioned: list[tuple[str, str]], expected: list[Snippet]) -> None:
    assert order(rerank(ranking(ARTMAR, FAROLITO, YALE, YALE2), mentioned)) == expected


def test_egr_looks_at_the_top_only() -> None:
    long = ranking(ARTMAR, TAXI, FAROLITO, *(snippet("hotel", str(i), "1") for i in (7, 8)), YALE)
    assert order(rerank(long, [("hotel", "1")]))[0] == ARTMAR


def test_egr_keeps_scores_and_respects_a_margin() -> None:
    found = rerank(ranking(ARTMAR, FAROLITO, YALE), [("hotel", "1")])
    assert [r.score for r in found] == pytest.approx([0.8, 1.0, 0.9])
    close = rerank(ranking(ARTMAR, FAROLITO, YALE), [("hotel", "1"), ("restaurant", "1")],
                   margin=0.15)
    assert order(close) == [FAROLITO, ARTMAR, YALE]
    assert rerank([], [("hotel", "1")], margin=1.0) == []


def test_entity_guided_reads_the_dialogue() -> None:
    dialogue = Dialogue.of("el farolito please", "also the Yale hotel?", "no, a taxi. is it late")
    guided = EntityGuided(Fixed(ARTMAR, YALE, FAROLITO, TAXI, YALE2))
    assert order(guided.rank([dialogue], POOL)[0])[:2] == [TAXI, ARTMAR]
    # A reader of one snippet still reorders five.
    assert order(guided.rank([dialogue], POOL, k=1)[0]) == [TAXI]
    assert guided.name == "fixed+egr"


# --- mentions ------------------------------------------------------------------------------


def test_mentions_are_latest_first_and_the_longest_name_wins() -> None:
    inner = snippet("attraction", "9", "1", "Yale")
    pool = Pool([*POOL, inner])
    finder = MentionFinder(pool)
    dialogue = Dialogue.of("Yale Hotel or Artmar Hotel?", "Yale, then", "el FAROLITO & a taxi")
    assert finder.entities(dialogue) == [
        ("taxi", "*"), ("restaurant", "1"), ("attraction", "9"), ("hotel", "2"), ("hotel", "1")
    ]


@pytest.mark.parametrize(
    "said",
    ["how about the yale hotle", "what about yail hotel", "is the ya le hotel nice", "yale hotel"],
)
def test_misheard_names(said: str) -> None:
    names = ("Yale Hotel", "Artmar Hotel", "Hotel Nikko", "Phoenix Hotel", "Marina Motel")
    pool = Pool([snippet("hotel", str(i), "1", name) for i, name in enumerate(names)])
    assert MentionFinder(pool, "fuzzy").entities(Dialogue.of(said))[:1] == [("hotel", "0")]


def test_fuzzy_reads_the_other_hypotheses() -> None:
    names = ("Yale Hotel", "Artmar Hotel", "Hotel Nikko", "Phoenix Hotel", "Marina Motel")
    pool = Pool([snippet("hotel", str(i), "1", name) for i, name in enumerate(names)])
    turn = Turn("for the del tell", "U", ("for the gale hotel", "for the artmar hotel"))
    assert MentionFinder(pool, "exact").entities(Dialogue((turn,))) == []
    assert ("hotel", "1") in MentionFinder(pool, "fuzzy").entities(Dialogue((turn,)))


def test_numbers_as_they_are_said() -> None:
    assert spoken_words("Nineteen 06 & 24th") == "nineteen zero six and twenty four th".split()
    pool = Pool([snippet("hotel", "1", "1", "Nineteen 06 Mission")])
    said = Dialogue.of("is nineteen zero six mission open")
    assert MentionFinder(pool).entities(said) == [("hotel", "1")]


# --- votes ---------------------------------------------------------------------------------


def test_hard_vote() -> None:
    votes = [ranking(YALE, ARTMAR), ranking(FAROLITO, ARTMAR), ranking(FAROLITO, YALE)]
    found = hard_vote(votes)
    # First places 2:1:0; Yale and Artmar have two votes each among the first two places,
    # but Yale has one for the first.
    assert order(found) == [FAROLITO, YALE, ARTMAR]
    assert [r.score for r in found] == pytest.approx([2 / 3, 1 / 3, 0])


def test_hard_vote_tie_goes_to_the_second_places_then_to_the_earlier_ranker() -> None:
    assert order(hard_vote([ranking(YALE, ARTMAR), ranking(ARTMAR, FAROLITO)]))[0] == ARTMAR
    assert order(hard_vote([ranking(YALE), ranking(ARTMAR)])) == [YALE, ARTMAR]


def test_soft_vote() -> None:
    sure = [Ranked(YALE, 5.0), Ranked(ARTMAR, 0.0)]
    unsure = [Ranked(ARTMAR, 1.0), Ranked(YALE, 0.9)]
    found = soft_vote([unsure, sure])
    assert order(found) == [YALE, ARTMAR]
    # softmax(5, 0) = .9933, .0067; softmax(1, .9) = .5250, .4750
    assert [r.score for r in found] == pytest.approx([0.73415, 0.26585], abs=1e-4)


def test_soft_vote_follows_the_places_that_egr_gave() -> None:
    moved = rerank([Ranked(ARTMAR, 5.0), Ranked(YALE, 0.0)], [("hotel", "1")])
    assert order(soft_vote([moved])) == [YALE, ARTMAR]


def test_ensemble() -> None:
    rankers: list[Ranker] = [Fixed(YALE, ARTMAR), Fixed(FAROLITO), Fixed(FAROLITO, YALE)]
    found = Ensemble(rankers).rank([Dialogue.of("hello")], POOL, k=1)
    assert [order(one) for one in found] == [[FAROLITO]]


# --- metrics -------------------------------------------------------------------------------


def test_metrics_by_hand() -> None:
    rankings = [
        ranking(YALE, ARTMAR),  # right
        ranking(ARTMAR, YALE),  # entity error, second place
        ranking(YALE2, TAXI, FAROLITO, ARTMAR, YALE),  # document error, fifth place
        ranking(FAROLITO),  # domain error, not found
    ]
    gold = [[YALE.key], [YALE.key], [YALE.key], [TAXI.key]]
    found = evaluate(rankings, gold)
    assert list(found) == ["all", "hotel", "taxi"]
    overall = found["all"]
    assert (overall.n, overall.r1, overall.r5) == (4, 0.25, 0.75)
    assert overall.mrr5 == pytest.approx((1 + 1 / 2 + 1 / 5) / 4)
    errors = (overall.domain_errors, overall.entity_errors, overall.document_errors)
    assert errors == (0.25, 0.25, 0.25)
    assert found["hotel"].r1 == pytest.approx(1 / 3)
    assert found["taxi"].r5 == 0
    assert first_stage_recall(rankings, gold, (1, 2, 10)) == {1: 0.25, 2: 0.5, 10: 0.75}


def test_places_beyond_the_fifth_do_not_count() -> None:
    others = [snippet("hotel", str(i), "1") for i in range(10, 15)]
    found = evaluate([ranking(*others, YALE)], [[YALE.key]])["all"]
    assert (found.r5, found.mrr5) == (0, 0)


def test_several_gold_snippets() -> None:
    assert error_kind(ranking(YALE2), [ARTMAR.key, YALE.key]) == "document"
    assert error_kind(ranking(YALE), [ARTMAR.key, YALE.key]) is None
    assert error_kind([], [YALE.key]) == "domain"
    assert evaluate([ranking(TAXI, YALE)], [[YALE.key, YALE2.key]])["all"].mrr5 == 0.5


def test_metrics_of_nothing() -> None:
    with pytest.raises(InputError, match="0 rankings for 0"):
        evaluate([], [])
    with pytest.raises(InputError, match="labelled turn 0 names no snippet"):
        evaluate([ranking(YALE)], [[]])


def test_detection_by_hand() -> None:
    found = evaluate_detection([0.9, 0.6, 0.5, 0.2], [True, False, True, True])
    assert (found.precision, found.recall) == (0.5, pytest.approx(1 / 3))
    assert found.f1 == pytest.approx(0.4)
    assert evaluate_detection([0.1], [True]).f1 == 0


# --- BM25 ----------------------------------------------------------------------------------


def test_bm25_finds_the_words() -> None:
    pool = passages(["Parking is free.", "Pets are welcome here.", "Breakfast costs ten dollars."])
    found = Bm25().rank([Dialogue.of("hi", "hello", "may i park my car")], pool, 2)
    assert found[0][0].snippet.answer == "Parking is free."
    assert len(found[0]) == 2
    assert stems("Are the parking lots free?") == ["park", "lot", "free"]


def test_bm25_of_a_query_or_pool_without_words() -> None:
    pool = passages(["Parking is free.", "Pets are welcome."])
    assert [r.score for r in Bm25().rank([Dialogue.of("xyzzy")], pool)[0]] == [0, 0]
    assert len(Bm25().rank([Dialogue.of("park")], passages(["the", "..."]))[0]) == 2


# --- the reader ----------------------------------------------------------------------------

KNOWLEDGE = {
    "hotel": {"1": {"name": "Yale Hotel", "docs": {"6": {"title": "Pets?", "body": "No."}}}},
    "taxi": {"*": {"name": None, "docs": {"1": {"title": "Cost?", "body": "Ten."}}}},
}
LOGS = [
    [
        {"speaker": "U", "text": "hello", "nbest": [{"hyp": "hello"}, {"hyp": "yellow"}]},
        {"speaker": "S", "text": "hi"},
        {"speaker": "U", "text": "can i bring my dog"},
    ]
]
LABELS: list[dict[str, Any]] = [
    {"target": True, "knowledge": [{"domain": "hotel", "entity_id": 1, "doc_id": 6}],
     "response": "No pets."},
    {"target": False},
]


def write(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_read(tmp_path: Path) -> None:
    pool = read_pool(write(tmp_path, "k.json", KNOWLEDGE))
    assert [s.key for s in pool] == [("hotel", "1", "6"), ("taxi", "*", "1")]
    assert [s.subject for s in pool] == ["Yale Hotel", "taxi"]
    (dialogue,) = dstc.read_logs(write(tmp_path, "l.json", LOGS))
    assert dialogue.turns[0] == Turn("hello", "U", ("yellow",))
    assert dialogue.last.text == "can i bring my dog"
    labels = dstc.read_labels(write(tmp_path, "b.json", LABELS))
    assert labels == [
        dstc.TurnLabel(True, (("hotel", "1", "6"),), "No pets."), dstc.TurnLabel(False)
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hotel": {"1": {"docs": {"6": {"title": "Pets?"}}}}}, "hotel/1/6 has no answer"),
        ({"hotel": {"1": {"docs": {"6": {"title": "Pets?", "body": " "}}}}}, "hotel/1/6 has no a"),
        ({"hotel": {"1": {"name": "x"}}}, "hotel/1 has no 'docs'"),
        ({"hotel": []}, "domain 'hotel' is not"),
        ({}, "has no snippets"),
        ({"hotel": {}}, "has no snippets"),
        (3, "is not an object of domains"),
        ("{", "is not JSON"),
    ],
)
def test_bad_knowledge(tmp_path: Path, change: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_pool(write(tmp_path, "k.json", change))


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ([[]], "dialogue 0 has no turns"),
        ([LOGS[0], [{"speaker": "U"}]], "dialogue 1, turn 0 has no text"),
        ([[{"speaker": "X", "text": "a"}]], "turn 0 has the speaker 'X'"),
        ([[{"text": "a", "nbest": [{}]}]], "turn 0 has an 'nbest' that is not a list"),
        ([[{"text": " "}]], "dialogue 0 has no text"),
        ({}, "not a list of dialogues"),
    ],
)
def test_bad_logs(tmp_path: Path, logs: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dstc.read_logs(write(tmp_path, "l.json", logs))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([{"target": True}], "label 0 needs knowledge but names no snippet"),
        ([{"target": "yes"}], "label 0 has no 'target'"),
        ([{"target": True, "knowledge": [{"domain": "hotel"}]}], "label 0 names a snippet without"),
    ],
)
def test_bad_labels(tmp_path: Path, labels: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dstc.read_labels(write(tmp_path, "b.json", labels))


def test_a_label_for_each_dialogue(tmp_path: Path) -> None:
    logs, labels = write(tmp_path, "l.json", LOGS), write(tmp_path, "b.json", LABELS)
    with pytest.raises(InputError, match="has 2 labels for 1 dialogues"):
        dstc.read_labelled(logs, labels, POOL)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (("spa", "1", "1"), "b.json: label 0: unknown domain 'spa'; the domains of .* are hotel"),
        (("hotel", "9", "1"), "no entity '9' of 'hotel'"),
        (("hotel", "1", "99"), "no doc '99' of entity '1' of 'hotel'"),
    ],
)
def test_labels_of_another_pool(
    key: tuple[str, str, str], message: str, tmp_path: Path
) -> None:
    named = dict(zip(("domain", "entity_id", "doc_id"), key, strict=True))
    labels = write(tmp_path, "b.json", [{"target": True, "knowledge": [named]}])
    with pytest.raises(InputError, match=message):
        dstc.read_labelled(write(tmp_path, "l.json", LOGS), labels, POOL)


def test_turn_out_of_range(tmp_path: Path) -> None:
    path = write(tmp_path, "d.json", LOGS[0])
    assert dstc.read_dialogue(path, 0).last.text == "hello"
    for turn in (3, -1):
        with pytest.raises(InputError, match=f"there is no turn {turn}; its turns are 0 to 2"):
            dstc.read_dialogue(path, turn)


# --- pools ---------------------------------------------------------------------------------


def test_pools_of_passages(tmp_path: Path) -> None:
    pool = read_pool(write(tmp_path, "p.json", ["One.", {"text": "Two.", "id": "b"}]))
    assert [(s.doc_id, s.answer) for s in pool] == [("0", "One."), ("b", "Two.")]
    lines = '{"question": "Q?", "body": "A.", "name": "Yale", "domain": "hotel"}\n{"text": "T"}\n'
    named, bare = read_pool(write(tmp_path, "p.jsonl", lines))
    assert (named.domain, named.entity_name, named.question) == ("hotel", "Yale", "Q?")
    assert bare.entity_name is None


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "p.json: has no snippets"),
        (["a", ""], "p.json: snippet 1 has no answer"),
        ([{"question": "Q?"}], "p.json: snippet 0 has no answer"),
        ([3], "p.json: snippet 0 is neither"),
        ([{"text": ["a"]}], "p.json: snippet 0 has a answer that is not a text"),
        ([{"text": "a", "id": "x"}, {"text": "b", "id": "x"}], "snippet x occurs twice"),
    ],
)
def test_bad_pools(items: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_pool(write(tmp_path, "p.json", items))


def test_the_real_data() -> None:
    folder = os.environ.get("Q2_DATA_DIR")
    if not folder or not (Path(folder) / "dstc10").is_dir():
        pytest.skip("the folder dstc10 is not in Q2_DATA_DIR")
    pool = read_pool(Path(folder) / "dstc10" / "knowledge.json")
    turns = dstc.read_labelled(Path(folder) / "dstc10" / "val_logs.json",
                               Path(folder) / "dstc10" / "val_labels.json", pool)
    assert (len(pool), len(turns.dialogues), len(turns.seeking().labels)) == (12039, 263, 104)


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("rapidfuzz.process", lambda: MentionFinder(POOL, "fuzzy")),
        ("bm25s", lambda: Bm25().rank([Dialogue.of("park")], POOL)),
        ("Stemmer", lambda: stems("parking")),
        ("rouge_score.rouge_scorer", lambda: response_scores(["a"], ["a"])),
    ],
)
def test_missing_packages(
    package: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    bm25._stemmer.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"q2-metric\[knowledge\]"):
        use()
    bm25._stemmer.cache_clear()


def test_a_very_long_turn() -> None:
    turn = "nothing to see here " * 1000 + "but the yail hotel"
    assert ("hotel", "1") in MentionFinder(POOL, "fuzzy").entities(Dialogue.of(turn))
