from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from q2_metric.data import catalogue, readers
from q2_metric.data.catalogue import CATALOGUE, DataFile, DataSet
from q2_metric.data.readers import (
    Labelled,
    contexts,
    read_annotated,
    read_gold,
    read_selected,
    read_true,
    whole_dialogues,
)
from q2_metric.errors import DataError
from q2_metric.types import Example

ANNOTATED = (
    ",episode_idx,round,topic,message,dodeca_response,memnet_response,knowledge,gold,"
    "dodeca_label,memnet_label\n"
    '0,7,3,Tea,"Hot, or not?",it is nan .,null,Tea is hot.,g,1,0\n'
    "1,8,0,Tea,,a,b,Tea is cold.,g,0,1\n"
)


# --- readers ---------------------------------------------------------------------------


def test_wow_label_one_is_inconsistent(tmp_path: Path) -> None:
    path = tmp_path / "cross_annotation.csv"
    path.write_text(ANNOTATED)
    items = read_annotated(path)
    assert [(item.example.response, item.system, item.consistent) for item in items] == [
        ("it is nan .", "dodeca", False),
        ("null", "memnet", True),
        ("a", "dodeca", True),
        ("b", "memnet", False),
    ]
    assert items[0].example == Example("it is nan .", "Tea is hot.", ("Hot, or not?",))
    assert items[2].example.history == ()  # the response opens the dialogue
    assert [item.example.id for item in items[:2]] == ["7-3-dodeca", "7-3-memnet"]


def test_wow_gold_responses(tmp_path: Path) -> None:
    path = tmp_path / "cross_annotation.csv"
    path.write_text(ANNOTATED)
    found = read_gold(path)
    assert found == [
        Example("g", "Tea is hot.", ("Hot, or not?",)),
        Example("g", "Tea is cold."),
    ]
    assert [item.id for item in found] == ["7-3", "8-0"]


def test_wow_whole_dialogues(tmp_path: Path) -> None:
    said = [("0_Wizard", "Tea is old."), ("1_Apprentice", "Hot, or not? "), ("0_Wizard", "Hot."),
            ("1_Apprentice", "Thanks.")]
    path = tmp_path / "valid_random_split.json"
    path.write_text(json.dumps([{"dialog": [
        {"speaker": speaker, "text": text} for speaker, text in said]}]))
    first = Example("a", "k", id="0-0-dodeca")
    second = Example("b", "k", ("Hot, or not?",), id="0-1-memnet")
    assert [one.history for one in whole_dialogues([first, second], path)] == [
        (), ("Tea is old.", "Hot, or not? ")]
    other = Example("b", "k", ("Cold?",), id="0-1-memnet")
    with pytest.raises(DataError, match="round 1 of dialogue 0 does not answer 'Cold"):
        whole_dialogues([other], path)
    with pytest.raises(DataError, match="has no dialogue 7"):
        whole_dialogues([Example("b", "k", id="7-1-memnet")], path)


def test_contexts_have_their_first_consistent_response() -> None:
    items = [
        Labelled(Example("wrong", "Tea is hot.", id="0"), consistent=False),
        Labelled(Example("strange", "Milk is white.", id="1"), consistent=False),
        Labelled(Example("right", "Tea is hot.", id="2"), consistent=True),
        Labelled(Example("also right", "Tea is hot.", id="3"), consistent=True),
    ]
    found = contexts(items)
    assert found == [Example("right", "Tea is hot."), Example("", "Milk is white.")]
    assert [item.id for item in found] == ["0", "1"]


def test_wow_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "folder", lambda _name: tmp_path)
    for system in ("dodeca", "memnet"):
        for kind in ("consistent", "inconsistent"):
            (tmp_path / f"{system}_{kind}.csv").write_text(
                f"episode_idx,round,message,response,knowledge\n1,2,m,{system} {kind},k\n"
            )
    items = read_selected()
    assert [(item.example.response, item.consistent) for item in items] == [
        ("dodeca consistent", True),
        ("dodeca inconsistent", False),
        ("memnet consistent", True),
        ("memnet inconsistent", False),
    ]


def test_true_label_one_is_consistent(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text(",grounding,generated_text,label\n0,k1,r1,1\n1,nan,None,0\n")
    items = read_true(path)
    assert [item.consistent for item in items] == [True, False]
    assert items[1].example == Example("None", "nan")
    assert [item.example.id for item in items] == ["0", "1"]
    assert items[0].system is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grounding,label\nk,1\n", "row 1: has no 'generated_text'"),
        ("grounding,generated_text,label\nk,r,maybe\n", "row 1: the label is 'maybe', not 0 or 1"),
        ("grounding,generated_text,label\nk,r,1\nk,r\n", "row 2: has no 'label'"),
        ('grounding,generated_text,label\nk,"r,1\n', "line 2: has a misplaced quotation mark"),
        ("", "has no rows"),
    ],
)
def test_files_that_are_not_what_they_should_be(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "set.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        read_true(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        read_true(tmp_path / "none.csv")


# --- catalogue -------------------------------------------------------------------------


def test_catalogue_is_well_formed() -> None:
    for name, dataset in CATALOGUE.items():
        assert dataset.name == name
        assert dataset.licence
        assert dataset.description
        for file in dataset.files:
            assert re.fullmatch(r"[0-9a-f]{64}|[0-9a-f]{40}|", file.digest)
            assert file.digest or dataset.by_hand
            if file.url is not None:  # pinned to a commit
                name = re.escape(file.name).replace("_", "[_/]")  # val_logs.json: val/logs.json
                name = name.removeprefix("test[_/]")
                assert re.search(rf"/[0-9a-f]{{40}}/.*/{name}$", file.url)
    unpublished = [name for name, dataset in CATALOGUE.items() if not dataset.published]
    assert unpublished == ["true/dialfact_a", "wow", "usr", "dnli"]


def test_select() -> None:
    assert [dataset.name for dataset in catalogue.select("true/q2")] == ["true/q2"]
    assert len(catalogue.select("true")) == 12
    with pytest.raises(DataError, match="no data set 'foo'; the sets are wow_q2, true/q2"):
        catalogue.select("foo")


# --- download --------------------------------------------------------------------------

TEXT = b"grounding,generated_text,label\nk,r,1\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and two sets to fetch into it: one published, one not."""
    folder = tmp_path / "cache"
    monkeypatch.delenv("Q2_DATA_DIR", raising=False)
    monkeypatch.setattr(catalogue, "cache_folder", lambda: folder)
    digest = hashlib.sha256(TEXT).hexdigest()
    sets = (
        DataSet("true/a", "d", "l", (DataFile("a.csv", digest, "https://x.test/a.csv"),)),
        DataSet("true/b", "d", "l", (DataFile("b.csv", digest, None),)),
    )
    monkeypatch.setattr(catalogue, "CATALOGUE", {item.name: item for item in sets})
    return folder


class FakePooch:
    """Writes TEXT in place of a download, or raises; counts what it was asked for."""

    known: str | None = "sha256:" + hashlib.sha256(TEXT).hexdigest()

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[str] = []

    def retrieve(self, url: str, known_hash: str | None, fname: str, path: Path) -> str:
        self.asked.append(url)
        assert known_hash == self.known
        if self.error is not None:
            raise self.error
        path.mkdir(parents=True, exist_ok=True)
        (path / fname).write_bytes(TEXT)
        return str(path / fname)

    def get_logger(self) -> Any:
        return SimpleNamespace(setLevel=lambda _level: None)


def use(monkeypatch: pytest.MonkeyPatch, pooch: FakePooch) -> FakePooch:
    monkeypatch.setitem(sys.modules, "pooch", pooch)
    return pooch


def test_download_into_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pooch = use(monkeypatch, FakePooch())
    with pytest.raises(DataError, match="run: q2 data download true/a"):
        catalogue.folder("true/a")
    assert catalogue.download("true") == [cache / "true" / "a.csv"]  # b is not published
    assert pooch.asked == ["https://x.test/a.csv"]
    assert catalogue.folder("true/a") == cache / "true"
    assert [item.consistent for item in read_true("a")] == [True]


def test_the_users_folder_comes_first(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pooch = use(monkeypatch, FakePooch())
    catalogue.download("true/a")
    own = tmp_path / "own"
    (own / "true").mkdir(parents=True)
    monkeypatch.setenv("Q2_DATA_DIR", str(own))
    assert catalogue.folder("true/a") == cache / "true"  # not there: the cache serves
    (own / "true" / "a.csv").write_bytes(TEXT + b"k,r,0\n")
    (own / "true" / "b.csv").write_bytes(TEXT)
    assert catalogue.folder("true/a") == own / "true"
    assert catalogue.download("true/b") == [own / "true" / "b.csv"]
    assert len(pooch.asked) == 1
    states = [catalogue.state(dataset) for dataset in catalogue.CATALOGUE.values()]
    assert states == ["differs", "here"]


def test_a_set_that_is_not_published(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakePooch())
    assert not cache.exists()
    for act in (catalogue.download, catalogue.folder):
        with pytest.raises(DataError, match=r"it is not published: put true/b\.csv in a folder"):
            act("true/b")
    assert catalogue.state(catalogue.CATALOGUE["true/b"]) == "missing"


def test_a_set_that_is_fetched_by_hand(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = DataSet("c", "d", "l", (DataFile("c.json", ""),), "download it from https://c.test")
    monkeypatch.setattr(catalogue, "CATALOGUE", {one.name: one})
    with pytest.raises(DataError, match=r"not here; download it from https://c.test, and put c/c"):
        catalogue.download("c")
    (cache / "c").mkdir(parents=True)
    (cache / "c" / "c.json").write_text("[]")
    assert (catalogue.folder("c"), catalogue.state(one)) == (cache / "c", "here")


def test_a_file_that_git_names(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = hashlib.sha1(b"blob %d\0" % len(TEXT) + TEXT, usedforsecurity=False).hexdigest()
    pooch = FakePooch()
    monkeypatch.setattr(pooch, "known", None)
    use(monkeypatch, pooch)
    for digest, fits in ((name, True), ("0" * 40, False)):
        one = DataSet("g", "d", "l", (DataFile("g.csv", digest, "https://x.test/g.csv"),))
        monkeypatch.setattr(catalogue, "CATALOGUE", {one.name: one})
        if fits:
            assert catalogue.download("g") == [cache / "g" / "g.csv"]
            assert catalogue.state(one) == "here"
        else:
            assert catalogue.state(one) == "differs"
            with pytest.raises(DataError, match="the file is not the published one"):
                catalogue.download("g")
            assert catalogue.state(one) == "missing"


def test_without_network_there_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = pytest.importorskip("requests")
    use(monkeypatch, FakePooch(requests.ConnectionError("HTTPSConnectionPool(\nlong story)")))
    with pytest.raises(DataError) as caught:
        catalogue.download("true/a")
    assert str(caught.value) == (
        "cannot download https://x.test/a.csv (the server cannot be reached); try again with a "
        "network, or put the file at true/a.csv in a folder that Q2_DATA_DIR names"
    )


def test_another_checksum_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("requests")
    use(monkeypatch, FakePooch(ValueError("SHA256 hash of file\ndoes not match")))
    with pytest.raises(DataError, match=r"\(SHA256 hash of file does not match\)"):
        catalogue.download("true/a")


def test_pooch_refuses_a_corrupt_file(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real pooch, with a file as its server."""
    pooch = pytest.importorskip("pooch")
    served = tmp_path / "a.csv"

    def fetch(_url: str, output: str, _pooch: object) -> None:
        Path(output).write_bytes(served.read_bytes())

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda *_args, **_keywords: fetch)
    served.write_bytes(TEXT + b"more")
    with pytest.raises(DataError, match="cannot download"):
        catalogue.download("true/a")
    assert not (cache / "true" / "a.csv").exists()
    served.write_bytes(TEXT)
    assert catalogue.download("true/a") == [cache / "true" / "a.csv"]
    (cache / "true" / "a.csv").write_bytes(b"spoilt")  # on disk, later
    assert catalogue.download("true/a")[0].read_bytes() == TEXT


# --- the sets themselves ---------------------------------------------------------------

needs_data = pytest.mark.skipif(
    not os.environ.get("Q2_DATA_DIR"), reason="needs the data sets: set Q2_DATA_DIR"
)


def _here(name: str) -> None:
    if catalogue.state(CATALOGUE[name]) != "here":
        pytest.skip(f"{name} is not in Q2_DATA_DIR")


@needs_data
def test_real_wow() -> None:
    _here("wow_q2")
    items = read_annotated()
    assert len(items) == 1088
    # 628 consistent of 1,088, and 150 for each of the selected files.
    assert sum(item.consistent for item in items) == 628
    selected = read_selected()
    assert (len(selected), sum(item.consistent for item in selected)) == (600, 300)


@needs_data
def test_true_q2_is_annotated_wow() -> None:
    _here("wow_q2")
    _here("true/q2")
    ours = [(i.example.response, i.example.knowledge, i.consistent) for i in read_annotated()]
    theirs = [(i.example.response, i.example.knowledge, i.consistent) for i in read_true("q2")]
    assert ours == theirs


@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "consistent"),
    [
        ("summeval", 1600, 1306),
        ("qags_cnndm", 235, 113),
        ("dialfact_a", 4473, 1703),
    ],
)
def test_real_true(name: str, rows: int, consistent: int) -> None:
    _here(f"true/{name}")
    items = read_true(name)
    assert (len(items), sum(item.consistent for item in items)) == (rows, consistent)
