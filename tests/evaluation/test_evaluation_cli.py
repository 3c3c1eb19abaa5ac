"""q2 meta-eval: what a person types, what is written."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import FakeMetric
from optional import agreement

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.types import Metric

pytestmark = agreement()

TABLE = {"a": 0.9, "b": 0.4, "c": 0.6, "d": 0.1}


class Loader:
    def __init__(self) -> None:
        self.asked: list[tuple[list[str], dict[str, Any]]] = []

    def __call__(self, names: Sequence[str], preset: str, **options: Any) -> list[Metric]:
        self.asked.append((list(names), options))
        return [FakeMetric(name, TABLE) for name in names]


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Loader:
    fake = Loader()
    monkeypatch.setattr(metrics, "load_metrics", fake)
    return fake


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("grounding,generated_text,label\nk,a,1\nk,b,1\nk,c,0\nk,d,0\n")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="q2")


def test_a_csv_of_ones_own(loader: Loader, rows: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    outs = [tmp_path / f"r.{suffix}" for suffix in ("json", "csv", "md")]
    given = ["meta-eval", "true", rows, "--metrics", "scale,knowledge_f1", "--cache", cache]
    given += [part for out in outs for part in ("--out", out)]
    first = run(*given)
    assert first.exit_code == 0, first.output
    assert "75.0 [" in first.stdout
    assert "scale|version:test" in first.stdout
    report = json.loads(outs[0].read_text())
    assert report["facts"]["seed"] == "12345"
    # The arguments behind it are those of the process, here of the test run.
    assert report["facts"]["command"].split()[0] == "q2"
    assert "auc,SCALE,mine,0.75," in outs[1].read_text()
    assert "\n## ROC-AUC" in outs[2].read_text()

    second = run(*given, "--quiet", "--overwrite")
    assert second.exit_code == 0
    assert second.stdout == ""
    assert len(loader.asked) == 3, "the second run scores nothing"
    assert json.loads(outs[0].read_text())["tables"] == report["tables"]


def test_your_own_metric(loader: Loader, rows: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("response,knowledge,better,worse\na,k,4,0\nb,k,3,0\nc,k,2,0\nd,k,1,1\n")
    out = tmp_path / "r.json"
    found = run("meta-eval", "true", rows, "--metrics", "scale", "--scores", own, "--column",
                "better", "--column", "worse", "--against", "better", "--no-cache",
                "--figures", tmp_path / "figures", "--out", out)
    assert found.exit_code == 0, found.output
    report = json.loads(out.read_text())
    auc = {row[0]: row[1]["value"] for row in report["tables"][0]["rows"] if row[1]}
    overlap = {"token F1": 0.75, "content words found": 0.75}
    assert auc == {"SCALE": 0.75, **overlap, "better": 1.0, "worse": 0.25}
    compared = report["tables"][1]
    assert compared["columns"][2]["title"] == "AUC minus that of better"
    assert report["signatures"]["better"] == "better|file:own.csv|version:unknown"
    assert "better (100.0)" in (tmp_path / "figures" / "true_roc.svg").read_text()


def test_settings_reach_the_metric(loader: Loader, rows: Path) -> None:
    run("meta-eval", "true", rows, "--metrics", "q2,scale", "--no-cache",
        *"-s personal=keep -s reader_model=./mine -s chunk_size=64 --device cpu".split())
    asked = {name: options for (name,), options in loader.asked}
    q2, scale = asked["q2"], asked["scale"]
    given = {"personal": "keep", "reader_model": "./mine", "chunk_size": 64, "device": "cpu"}
    assert q2 == scale == given


def test_the_default_is_what_the_preset_computes_beside_word_overlap(
    loader: Loader, rows: Path
) -> None:
    assert run("meta-eval", "true", rows, "--preset", "paper", "--no-cache").exit_code == 0
    assert [asked for (asked,), _ in loader.asked] == ["q2", "scale", "knowledge_f1", "word_share"]
    run("meta-eval", "true", rows, "--no-cache")
    assert ["groundedness"] in [names for names, _ in loader.asked]


@pytest.mark.parametrize("full", ["q2_metric.evaluation.tables.write_text",
                                  "q2_metric.cli.experiments.print_report"])
def test_a_full_disk_or_a_closed_output_loses_half_of_the_result_only(
    loader: Loader, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "r.json")

    monkeypatch.setattr(full, fail)
    out = tmp_path / "r.json"
    done = run("meta-eval", "true", rows, "--metrics", "knowledge_f1", "--no-cache", "--out", out)
    assert (done.exit_code, "No space left on device" in done.stderr) == (3, True)
    assert ("token F1" in done.stdout, out.exists()) == (full.endswith("write_text"),
                                                         full.endswith("print_report"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "r.txt"], "cannot tell the format"),
        (["--column", "x"], "--scores FILE and --column COL belong together"),
        (["--scores", "x.csv"], "--scores FILE and --column COL belong together"),
        (["--scores", "x.csv", "--column", "x"], "x.csv: there is no such file"),
        (["--against", "knowledge_bleu"], "there is no metric 'knowledge_bleu' to compare with"),
    ],
)
def test_one_line_errors(
    arguments: list[str], message: str, loader: Loader, rows: Path, tmp_path: Path
) -> None:
    found = run("meta-eval", "true", rows, "--metrics", "knowledge_f1", "--no-cache", *arguments)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_the_sets_that_are_here(
    loader: Loader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("q2_metric.data.catalogue.cache_folder", lambda: tmp_path / "none")
    given = ["meta-eval", "true", "--metrics", "knowledge_f1", "--no-cache"]
    assert "run: q2 data download true" in run(*given).stderr
    (tmp_path / "true").mkdir()
    text = "grounding,generated_text,label\nk,a,1\nk,b,0\n"
    for name in ("dialfact_a", "q2"):
        (tmp_path / "true" / f"{name}.csv").write_text(text)
    found = run(*given)
    assert found.stdout.splitlines()[1].split() == ["metric", "q2", "dialfact_a", "average"]
    assert "dialfact_a is a part of dialfact" in found.stdout
    (tmp_path / "true" / "dialfact.csv").write_text(text)
    assert run(*given).stdout.splitlines()[1].split() == ["metric", "q2", "dialfact", "average"]


def test_an_unknown_set(loader: Loader) -> None:
    found = run("meta-eval", "true", "nothing", "--no-cache")
    assert found.exit_code == 2
    assert "q2: error: there is no data set 'true/nothing'" in found.stderr
    assert not loader.asked, "nothing is loaded for it"


def test_the_list_of_commands_is_light() -> None:
    code = (
        "import sys; from q2_metric.cli.main import main;"
        "main(['--help'], standalone_mode=False);"
        "sys.exit(bool({'scipy','sklearn','matplotlib','numpy','torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "meta-eval" in done.stdout
    assert "calibrate" in done.stdout


def test_without_the_extra(loader: Loader, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    found = run("meta-eval", "true", rows, "--no-cache")
    assert found.exit_code == 3
    assert 'pip install "q2-metric[meta]"' in found.stderr
    assert not loader.asked
