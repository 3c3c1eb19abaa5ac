"""docs/architecture.md counts the functions that a row passes on its way to a network."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import q2_metric
from q2_metric.cli.main import main
from q2_metric.models.bundled.models import BundledEntailment
from q2_metric.types import Verdict

PACKAGE = Path(q2_metric.__file__).parent
WORDS = r"passes (\d+) functions of this\s+package\s+without a cache and (\d+) with one"


def test_a_row_passes_as_many_functions_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[int] = []
    judge = BundledEntailment.judge

    def counted(self: BundledEntailment, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        files = [Path(frame.filename) for frame in traceback.extract_stack()]
        if self.network == "entailment":
            passed.append(sum(PACKAGE in file.parents for file in files))
        return judge(self, pairs)

    monkeypatch.setattr(BundledEntailment, "judge", counted)
    rows, counts = tmp_path / "rows.jsonl", []
    rows.write_text(json.dumps({"response": "Rome has seven hills.",
                                "knowledge": "Rome has 7 hills."}))
    for cache in (["--no-cache"], ["--cache", str(tmp_path / "scores.db")]):
        passed.clear()
        done = CliRunner().invoke(main, ["score", str(rows), "--metrics", "scale", *cache])
        assert done.exit_code == 0, done.output
        counts.append(str(passed[0]))
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = re.search(WORDS, page)
    assert found is not None
    assert counts == [*found.groups()]
