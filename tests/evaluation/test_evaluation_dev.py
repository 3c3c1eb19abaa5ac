"""q2 meta-eval dev: the development sets, from small files of their form."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import FakeMetric
from optional import agreement

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.data.readers import dev_files, read_dev
from q2_metric.errors import DataError
from q2_metric.types import Example, Metric

pytestmark = agreement()

KNOWLEDGE = "Rome has seven hills."
ROWS = {
    "Rome has hills.": "supported",
    "Seven hills.": "supported",
    "Rome has lakes.": "not_supported",
    "Paris has lakes.": "contradicted",
}
SCALE = dict(zip(ROWS, (0.95, 0.85, 0.9, 0.0), strict=True))
"""Three of four pairs are in the right order."""


def write(folder: Path, name: str, rows: dict[str, str] = ROWS) -> None:
    (folder / "dev").mkdir(exist_ok=True)
    with gzip.open(folder / "dev" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
        for text, label in rows.items():
            row = {"premise": KNOWLEDGE, "hypothesis": text, "label": label, "source": name}
            file.write(json.dumps(row) + "\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    return tmp_path


def test_a_set_is_read(folder: Path) -> None:
    write(folder, "b")
    write(folder, "a")
    assert list(dev_files()) == ["a", "b"]
    rows = read_dev(dev_files()["a"])
    assert [row.consistent for row in rows] == [True, True, False, False]
    assert rows[1].example == Example("Seven hills.", KNOWLEDGE)
    assert [row.example.id for row in rows] == ["0", "1", "2", "3"]


def test_a_quick_look_takes_the_same_rows_each_time(folder: Path) -> None:
    write(folder, "a", {f"text {i}": "supported" for i in range(50)})
    some = read_dev(dev_files()["a"], 10)
    places = [int(row.example.id or "") for row in some]
    assert len(set(places)) == 10
    assert places == sorted(places)
    assert places != list(range(10)), "not just the first"
    assert read_dev(dev_files()["a"], 10) == some
    assert len(read_dev(dev_files()["a"], 50)) == 50


@pytest.mark.parametrize("text", ["[]", '{"premise": "k"}', "no JSON", '{"premise": 1}'])
def test_files_of_another_form(text: str, folder: Path) -> None:
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DataError, match=r"a\.jsonl\.gz"):
        read_dev(folder / "a.jsonl.gz")
    (folder / "a.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="cannot be read"):
        read_dev(folder / "a.jsonl.gz")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["meta-eval", "dev", "--no-cache", *map(str, arguments)])


def test_no_sets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there is no development set on this machine" in run().stderr
    monkeypatch.delenv("Q2_DATA_DIR")
    found = run()
    assert found.exit_code == 2
    assert "there is no development set on this machine" in found.stderr


def test_the_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = metrics.load_metrics

    def loaded(names: Sequence[str], *given: Any, **keywords: Any) -> list[Metric]:
        if names == ["scale"]:
            return [FakeMetric("scale", SCALE)]
        return load(names, *given, **keywords)

    monkeypatch.setattr(metrics, "load_metrics", loaded)
    write(folder, "ais_wow")
    write(folder, "other", {**ROWS, "Rome has lakes.": "supported"})
    out, page = folder / "dev.json", folder / "dev.md"
    found = run("--metrics", "scale", "--out", out, "--out", page)
    assert found.exit_code == 0, found.output
    auc, calibration = json.loads(out.read_text())["tables"]
    assert [column["title"] for column in auc["columns"]] == [
        "metric", "ais_wow", "other", "mean", "below token F1 on", "below content words found on"]
    lines = {row[0]: row[1:] for row in auc["rows"]}
    # Both counts are always there, and both put the two supported responses first.
    assert list(lines) == ["SCALE", "token F1", "content words found"]
    assert [one["value"] for one in lines["SCALE"][:2]] == [0.75, 1.0]
    assert lines["SCALE"][2] == pytest.approx(0.875)
    assert lines["SCALE"][3:] == ["ais_wow", "ais_wow"]
    assert lines["token F1"][0]["value"] == lines["content words found"][0]["value"] == 1.0
    # Only probabilities are held to be calibrated: bins of 0.95 and 0.9 (one of two right),
    # of 0.85 (right) and of 0 (wrong).
    (line,) = calibration["rows"]
    assert line[0] == "SCALE"
    assert line[1] == pytest.approx((2 * abs(0.5 - 0.925) + 0.15) / 4)
    assert "Supported responses: ais_wow 2 of 4, other 3 of 4" in page.read_text()


def test_without_probabilities(folder: Path) -> None:
    write(folder, "ais_wow")
    out = folder / "dev.json"
    assert run("--metrics", "knowledge_f1", "--limit", 4, "--out", out).exit_code == 0
    assert [table["name"] for table in json.loads(out.read_text())["tables"]] == ["auc"]


def test_one_class(folder: Path) -> None:
    write(folder, "ais_wow", {"Rome has hills.": "supported"})
    assert "ais_wow: all labels are the same" in run("--metrics", "knowledge_f1").stderr
