"""``benchmarks published_models`` on stand-ins of the models, from a local Hub."""

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
COLUMNS = ["episode_idx", "round", "message", "knowledge", "gold", "dodeca_response",
           "dodeca_label", "memnet_response", "memnet_label"]
FILES = ["LICENSE.txt", *(f"{system}_{kind}consistent.csv" for system in ("dodeca", "memnet")
                          for kind in ("", "in"))]
"""The other files of the data set, which are not read here."""
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
    data = tmp_path / "data" / "wow_q2"
    data.mkdir(parents=True)
    for name in FILES:
        (data / name).touch()
    with (data / "cross_annotation.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for i, (knowledge, supported, other) in enumerate(CONTEXTS):
            writer.writerow([i, 0, "hi", knowledge, knowledge, supported, 0, other, 1])
    with LocalHub(hub_folder).serving() as hub:
        done = subprocess.run(
            [sys.executable, "-m", "tools.benchmarks", "published_models",
             "--presets", "paper-exact",
             "modern", "--metrics", "q2", "scale", "--device", "cpu", "--rows", "4",
             "--json", str(tmp_path / "found.json")],
            env={**hub.environment(tmp_path), "Q2_DATA_DIR": str(tmp_path / "data")},
            cwd=ROOT, capture_output=True, text=True, check=False)
    assert (tmp_path / "found.json").is_file(), done.stderr
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert [(row["preset"], row["metric"], row["published"], row["scored"]) for row in found] == [
        ("paper-exact", "q2", 0.809, 4), ("paper-exact", "scale", 0.863, 4)], done.stderr
    assert all(0 <= row["low"] <= row["auc"] <= row["high"] <= 1 for row in found)
    assert "|recipe:authors|" in found[0]["signature"]
    assert "|recipe:authors|" in found[1]["signature"]
    assert "google/flan-t5-xl/model-00002-of-00002.safetensors" in hub.downloads()
    assert "  80.9  " in done.stdout
    # The other preset's models are not on this Hub.
    assert "modern: " in done.stderr
    assert done.returncode == 1
