"""``q2 reproduce`` with stand-ins of the papers' models, from a local Hub."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("sklearn")

from local_hub import LocalHub
from published_models import build_preset

ROOT = Path(__file__).parents[3]
CONTEXTS = [
    ("The ship sails north.", "the ship sails north .", "the ship sails south ."),
    ("She has red hair and freckles.", "she has red hair", "she is the king of france"),
    ("Paris is the capital of France.", "i love paris ! it is in france", "hello !"),
]


def test_each_model_is_downloaded_and_its_auc_stands_beside_the_published_one(
    stand_ins: Path, tmp_path: Path
) -> None:
    # A Hub of its own: the shared one may have the models of "modern", which must be missing here.
    hub_folder = tmp_path / "hub"
    for folder in build_preset("paper-exact", stand_ins).values():
        copy = hub_folder / folder.relative_to(stand_ins)
        if not copy.exists():
            shutil.copytree(folder, copy)
    data = tmp_path / "data" / "true"
    data.mkdir(parents=True)
    with (data / "q2.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["grounding", "generated_text", "label"])
        for knowledge, supported, other in CONTEXTS:
            writer.writerows([[knowledge, supported, 1], [knowledge, other, 0]])
    with LocalHub(hub_folder).serving() as hub:
        def run(preset: str, out: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, "-m", "q2_metric", "reproduce", "scale-3", "--preset", preset,
                 "-m", "q2,scale", "--device", "cpu", "--no-cache", "--out", str(tmp_path / out)],
                env={**hub.environment(tmp_path), "Q2_DATA_DIR": str(tmp_path / "data")},
                cwd=ROOT, capture_output=True, text=True, check=False)

        done, other = run("paper-exact", "found.json"), run("modern", "modern.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    table = found["tables"][1]
    place = [column["title"] for column in table["columns"]].index("q2")
    figures = {(row[0], row[2]): row[place] for row in table["rows"]}
    assert figures["Q²", "published: the paper's models"] == 0.809
    assert figures["SCALE", "published: flan-t5-xl"] == 0.863
    ours = figures["SCALE", "ours: flan-t5-xl"]
    assert 0 <= ours["low"] <= ours["value"] <= ours["high"] <= 1
    assert all("|recipe:authors|" in found["signatures"][name] for name in ("q2", "scale"))
    assert "google/flan-t5-xl/model-00002-of-00002.safetensors" in hub.downloads()
    # The other preset's models are not on this Hub.
    assert other.returncode == 2
    assert "q2: error: no table could be measured: scale-3: not run: " in other.stderr
    assert "SCALE was left out" in other.stderr
