"""Reports: shown, written, read back; figures drawn from them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from optional import agreement

from q2_metric.cli.render import print_report
from q2_metric.errors import InputError
from q2_metric.evaluation import tables
from q2_metric.evaluation.agreement import detection_curves
from q2_metric.evaluation.scores import ScoreSummary
from q2_metric.evaluation.statistics import Interval
from q2_metric.evaluation.tables import Cell, Column, Kind, Report, Table

pytestmark = agreement()

TABLE = Table(
    "auc",
    "ROC-AUC × 100",
    (Column("metric", "text"), Column("a|b", "hundred"), Column("n", "count"), Column("p", "p")),
    (("Q²", Interval(0.7124, 0.6821, 0.7392), 1088, 0.0004), ("[bold]x", None, 0, 0.25)),
    "A note.",
)
CURVES = {"roc": {"rows": {"q2": {"x": [0.123456789, 1], "y": [0.5, 1.0], "auc": 0.7}}}}
REPORT = Report(
    "demo", "A report", (TABLE,), {"q2": "q2|version:1", "q2_no_nli": "q2|version:1"}, CURVES,
    {"date": "2026-11-22", "command": "q2 meta-eval demo"},
)


@pytest.mark.parametrize(
    ("cell", "kind", "wanted"),
    [
        (None, "number", "–"),
        ("Q²", "number", "Q²"),
        (0.12345, "number", "0.123"),
        (Interval(0.5, 0.25, 1.0), "number", "0.500 [0.250, 1.000]"),
        (0.5, "percent", "50.0 %"),
        (12345, "count", "12,345"),
        (0.0004, "p", "< 0.001"),
        (0.04, "p", "0.040"),
        (float("nan"), "number", "–"),
    ],
)
def test_show(cell: Cell, kind: Kind, wanted: str) -> None:
    assert tables.show(cell, kind) == wanted


def test_rows_fit_their_columns() -> None:
    with pytest.raises(ValueError, match="auc: 1 cells for 4 columns"):
        Table("auc", "t", TABLE.columns, (("Q²",),))


def test_json_has_the_whole_report(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    tables.write(REPORT, path)
    found = json.loads(path.read_text())
    assert (found["name"], found["title"], found["facts"]) == ("demo", "A report", REPORT.facts)
    assert [len(table["rows"]) for table in found["tables"]] == [
        len(table.rows) for table in REPORT.tables]
    assert found["curves"]["roc"]["rows"]["q2"]["x"] == [0.12346, 1]


def test_csv_has_a_line_for_each_figure() -> None:
    found = list(csv.reader(io.StringIO(tables.to_csv(REPORT))))
    assert found == [
        ["table", "row", "column", "value", "low", "high"],
        ["auc", "Q²", "a|b", "0.7124", "0.6821", "0.7392"],
        ["auc", "Q²", "n", "1088"],
        ["auc", "Q²", "p", "0.0004"],
        ["auc", "[bold]x", "n", "0"],
        ["auc", "[bold]x", "p", "0.25"],
    ]


def test_markdown() -> None:
    page = tables.to_markdown(REPORT, note="Read it so.")
    assert page.splitlines() == [
        "# A report", "", "date: 2026-11-22.", "", "```console", "$ q2 meta-eval demo", "```", "",
        "Read it so.", "", "## ROC-AUC × 100", "",
        "| metric | a\\|b | n | p |", "|---|---:|---:|---:|",
        "| Q² | 71.2 [68.2, 73.9] | 1,088 | < 0.001 |", "| [bold]x | – | 0 | 0.250 |", "",
        "A note.", "", "## Signatures", "", "```", "q2|version:1", "```",
    ]  # fmt: skip


def test_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    print_report(REPORT)
    shown = capsys.readouterr().out
    assert "71.2 [68.2, 73.9]  1,088  < 0.001" in shown, "nothing is cut on a narrow terminal"
    assert "[bold]x" in shown
    assert shown.count("q2|version:1") == 1


@pytest.mark.parametrize("name", ["r.txt", "r", "nowhere/r.json"])
def test_outputs_that_cannot_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        tables.write(REPORT, tmp_path / name)


# --- figures --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib", reason="figures need q2-metric[meta]")
    from q2_metric.evaluation.figures import draw

    truth = [True, True, False, True, False, False]
    scores = {
        "q2": [ScoreSummary(value) for value in (0.9, 0.7, 0.6, 0.4, 0.3, 0.0)],
        "mine <b>": [ScoreSummary(value) for value in (5.0, 3.0, -1.0, 2.0, 2.0, 0.5)],
    }
    curves = detection_curves({"first": (truth, scores), "second": (truth, {"q2": scores["q2"]})})
    line = {"x": [0, 0.5, 1], "y": [0.9, 0.5, 0.1], "low": [0.8, 0.4, 0], "high": [1, 0.6, 0.2]}
    curves["robustness"] = {"first": {"q2": line}}
    folder = tmp_path_factory.mktemp("figures")
    report = Report("demo", "t", (), {}, curves)
    again = tmp_path_factory.mktemp("again")
    assert len(draw(report, folder)) == 10
    draw(Report("demo", "t", (), {}, {"roc": curves["roc"]}), again)
    for path in again.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name
    return folder


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("precision_recall", ["recall", "precision", "consistent: first", "inconsistent: second"]),
        # Of 3 x 3 pairs, one is in the wrong order by Q².
        ("roc", ["Q² (88.9)", "false positive rate", "first"]),
        ("reliability", ["share consistent", "Q²"]),  # the other's scores are outside [0, 1]
        ("robustness", ["share of inconsistent responses", "Q²"]),
        ("histogram", ["consistent", "inconsistent", "mine &lt;b&gt;", "second"]),
    ],
)
def test_figures(kind: str, texts: list[str], drawn: Path) -> None:
    svg = (drawn / f"demo_{kind}.svg").read_text(encoding="utf-8")
    for text in texts:
        assert f">{text}<" in svg, text
    png = (drawn / f"demo_{kind}.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) > 500, "wide enough to be read"


def test_curves_keep_few_points() -> None:
    truth = [i % 3 == 0 for i in range(1000)]
    scores = {"q2": [ScoreSummary((i * 7919 % 1000) / 1000) for i in range(1000)]}
    curves = detection_curves({"rows": (truth, scores)})
    found = curves["precision_recall"]["rows"]["q2"]["consistent"]
    assert {len(found[key]) for key in ("x", "y", "threshold")} == {201}
    assert found["x"][0] == 1.0
    assert sum(curves["histogram"]["rows"]["q2"]["consistent"]) == sum(truth)
    json.dumps(curves, allow_nan=False)
