"""The stage "reading": what its written claims promise, and how premises are shortened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tools.training.examples import TrainingExample
from tools.training.reader_data import written as questions
from tools.training.reading import SECOND, WRITTEN, by_file, excerpt, overlap_auc, weight

FILLER = " ".join(f"Sentence {i} talks of weather and wind." for i in range(40))
PREMISE = f"Ann founded the mill. {FILLER} She sold it to Bo in 1980. {FILLER}"


@pytest.fixture(scope="module")
def written() -> dict[str, list[TrainingExample]]:
    return by_file()


def test_an_excerpt_holds_distant_sentences_in_their_order() -> None:
    found = excerpt(PREMISE, "Ann's mill was sold to Bo.", words=40)
    assert found.startswith("Ann founded the mill.")
    assert "She sold it to Bo in 1980." in found
    assert len(found.split()) <= 40
    assert excerpt("Short.\nText.", "x") == "Short.\nText."


def test_an_excerpt_does_not_depend_on_the_process(
    written: dict[str, list[TrainingExample]], tmp_path: Path
) -> None:
    """A resumed run must draw the rows of the run before it."""
    for name in ("deep", "sums"):  # their premises are the longest
        (tmp_path / f"{name}.jsonl").symlink_to(WRITTEN / f"{name}.jsonl")
    code = ("from pathlib import Path; from tools.training.reading import by_file; import json; "
            "print(json.dumps([[row.text for row in rows] "
            "for rows in by_file(Path({folder!r})).values()]))")
    said = subprocess.check_output([sys.executable, "-c", code.format(folder=str(tmp_path))],
                                   env=os.environ | {"PYTHONHASHSEED": "2"})
    assert json.loads(said) == [
        [row.text for row in written[name]] for name in ("written_deep", "written_sums")]


def test_a_sentence_longer_than_the_limit_is_kept() -> None:
    long = "word " * 300 + "mill."
    assert excerpt(long + " Other words here.", "the mill", words=50).startswith("word word")


def test_the_claims_are_balanced(written: dict[str, list[TrainingExample]]) -> None:
    """By the label, and by the words that they share with their source."""
    ids: Counter[str] = Counter()
    for path in [*WRITTEN.glob("*.jsonl"), *SECOND.glob("*.jsonl")]:
        for line in path.read_text(encoding="utf-8").splitlines():
            ids[json.loads(line)["id"]] += 1
    assert max(ids.values()) == 1
    for name, rows in [*written.items(), *by_file(SECOND).items()]:
        shares = Counter(row.target for row in rows)
        assert 0.44 <= shares["supported"] / len(rows) <= 0.56, name
        assert min(shares.values()) >= 0.15 * len(rows), name
        assert 0.42 <= overlap_auc(rows[::3]) <= 0.6, name


@pytest.mark.parametrize(("auc", "expected"), [(0.4, 1.0), (0.725, 0.55), (0.85, 0.1), (1.0, 0.1)])
def test_sources_that_word_overlap_decides_weigh_little(auc: float, expected: float) -> None:
    assert weight(auc) == pytest.approx(expected)


def test_the_auc_of_word_overlap() -> None:
    pairs = [("Rome has hills", "supported"), ("Milan lies north", "refuted"),
             ("Rome has bridges", "not_enough")]
    rows = [TrainingExample(claim, "Rome has seven hills.", label, "") for claim, label in pairs]
    assert overlap_auc(rows) == 1.0


def test_the_form_of_a_claim_hardly_tells_its_label() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold, cross_val_predict

    rows = [(claim["text"], claim["label"] == "supported", row["id"])
            for path in WRITTEN.glob("*.jsonl")
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
            for claim in row.get("claims", ())]
    texts, labels, groups = zip(*rows, strict=True)
    words = CountVectorizer(ngram_range=(1, 2), min_df=3).fit_transform(texts)
    found = cross_val_predict(LogisticRegression(C=0.05, max_iter=500), words, labels,
                              groups=groups, cv=GroupKFold(5), method="predict_proba")[:, 1]
    assert roc_auc_score(labels, found) < 0.68


def test_questions_have_their_answers_in_claim_and_source() -> None:
    """About half of those about sources have an answer."""
    rows = {source.name: source.examples for source in questions()}
    assert set(rows) == {"asked_own", "asked_written", "asked_unanswered"}
    assert all(row.target is None for row in rows["asked_unanswered"])
    answers = [row.text[slice(*row.target)] for row in rows["asked_written"]]
    assert len(answers) > 8_000
    assert all(answer.strip() == answer != "" for answer in answers)
    assert 0.4 < len(answers) / (len(answers) + len(rows["asked_unanswered"])) < 0.6
