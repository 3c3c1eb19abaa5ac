"""The table of a score in a terminal of any width, and the same numbers on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from q2_metric.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
ROWS = str(ROOT / "examples" / "dialogues.jsonl")
METRICS = "knowledge_f1,word_share,knowledge_bleu"


@pytest.mark.parametrize("columns", [20, 60, 80, 200])
def test_no_width_loses_a_name_or_a_number(columns: int) -> None:
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(
        main, ["score", ROWS, "--metrics", METRICS])
    assert done.exit_code == 0, done.stderr
    table = done.stdout.split(" rows scored")[0]
    for word in ("token", "content", "words", "found", "BLEU", "interval"):
        assert re.search(rf"\b{word}\b", table), table
    assert "…" not in re.sub(r"\d … \d", "", table)
    assert len(re.findall(r"0\.\d{3} … 0\.\d{3}", table)) == 3, table


def test_the_page_says_what_the_terminal_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fallback was 30.0 % here and 9 there."""
    monkeypatch.setenv("COLUMNS", "200")
    page = tmp_path / "page.html"
    rows = [line for line in Path(ROWS).read_text(encoding="utf-8").splitlines()[:12] if line]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = CliRunner().invoke(main, [
        "score", str(tmp_path / "rows.jsonl"), "--metrics", "q2", "--report", str(page),
        "--no-evidence"])
    assert done.exit_code == 0, done.output
    [line] = [line for line in done.output.splitlines() if line.startswith("Q²  ")]
    shown = re.findall(r"\d+\.\d%", line)
    text = page.read_text(encoding="utf-8")
    assert len(shown) >= 3
    for name, said in zip(("coverage", "no answer", "fallback"), shown, strict=False):
        [cell] = re.findall(rf'data-label="{name}">([^<]*)<', text)[:1]
        assert cell.replace("\u2009", "").replace("\xa0", "").replace(" ", "") == said, name


def test_the_public_names_are_listed() -> None:
    import q2_metric

    assert {"Q2", "Example", "Scale", "InputError"} <= {*dir(q2_metric)}
    assert all(getattr(q2_metric, name) is not None for name in q2_metric.__all__)


def test_values_are_explained_in_their_order() -> None:
    words = " ".join(CliRunner().invoke(main, ["score", "--help"]).output.split())
    assert "--no-claim [zero|exclude]" in words
    assert "as 0 (zero), or not at all (exclude)" in words
