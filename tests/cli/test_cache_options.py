"""Which cache ``q2 score`` uses, and that what came out of it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fakes import FakeMetric

from q2_metric import metrics
from q2_metric.cli.main import main

ROWS = [{"response": f"it has {i} hills", "knowledge": "Rome has 7 hills."} for i in range(3)]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMetric:
    metric = FakeMetric("scale")

    def load(_names: object, _preset: str, **_keywords: Any) -> list[FakeMetric]:
        return [metric]

    monkeypatch.setattr(metrics, "load_metrics", load)
    return metric


def score(folder: Path, *options: str) -> str:
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    arguments = ["score", str(rows), "--metrics", "scale", *options]
    result = CliRunner().invoke(main, arguments, prog_name="q2")
    assert result.exit_code == 0, result.output
    return result.output


def test_no_cache_is_stronger_than_the_environments_cache(
    tmp_path: Path, fake: FakeMetric, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "cache.sqlite"
    monkeypatch.setenv("Q2_CACHE", str(named))
    score(tmp_path, "--no-cache")
    assert not named.exists()
    monkeypatch.delenv("Q2_NO_CACHE")
    score(tmp_path)
    assert named.exists()
    assert fake.batches == [1, 2, 1, 2]


def test_a_cache_on_the_command_line_is_stronger_than_no_cache(
    tmp_path: Path, fake: FakeMetric
) -> None:
    named = tmp_path / "cache.sqlite"
    for _ in range(2):
        score(tmp_path, "--no-cache", "--cache", str(named))
    assert fake.batches == [1, 2]


def test_a_speed_that_is_the_caches_says_so(tmp_path: Path, fake: FakeMetric) -> None:
    cache = ("--cache", str(tmp_path / "cache.sqlite"))
    assert "from the cache" not in score(tmp_path, *cache)
    assert "rows per second with 3 scores from the cache" in score(tmp_path, *cache)
    [file] = json.loads(score(tmp_path, "--json", *cache))["files"]
    assert file["scores_from_cache"] == 3


def test_a_score_that_is_used_again_is_not_the_caches(
    tmp_path: Path, fake: FakeMetric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROWS", ROWS * 5)
    cache = ("--cache", str(tmp_path / "cache.sqlite"))
    assert "from the cache" not in score(tmp_path, *cache)
    assert sum(fake.batches) == 3
    assert "rows per second with 15 scores from the cache" in score(tmp_path, *cache)


def test_an_empty_file_among_others_is_an_error(tmp_path: Path, fake: FakeMetric) -> None:
    full, empty = tmp_path / "full.jsonl", tmp_path / "empty.jsonl"
    full.write_text(json.dumps(ROWS[0]) + "\n")
    empty.write_text("")
    for files, code in (([full, empty], 1), ([empty], 2), ([full], 0)):
        result = CliRunner().invoke(
            main, ["score", *map(str, files), "--metrics", "scale", "--quiet"], prog_name="q2")
        assert result.exit_code == code
        assert (f"q2: error: {empty}: has no rows" in result.output) == (empty in files)
    alone = CliRunner().invoke(main, ["score", str(empty), "--metrics", "scale"], prog_name="q2")
    assert (alone.exit_code, alone.stdout) == (2, "")  # no empty table
