"""A fresh user with a Hub gets numbers from one command, with each preset."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from local_hub import LocalHub
from published_models import build, names

ROWS = [
    {"response": "Rome has seven hills, e.g. the “ﬁne” one.", "knowledge": "Rome has many hills."},
    {"response": "The tower opened in 1889 in Paris.",
     "knowledge": "The tower in Paris opened in 1889. " * 40},
]
PICKLES = "published models without safetensors: torch's weights-only reader, which runs no code"
SIZE = "google/flan-t5-xl in float32 needs 11 GB of memory"


def score(rows: Path, environment: dict[str, str], *options: str) -> tuple[Any, list[str]]:
    """What ``q2 score rows.jsonl --json`` prints, and the lines of its stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "default", "-m", "q2_metric", "score", str(rows), "--json",
         *options],
        env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["files"][0], done.stderr.splitlines()


@pytest.mark.parametrize(("preset", "said"), [
    ("paper", [PICKLES, SIZE]), ("paper-small", [PICKLES]), ("modern", [PICKLES])])
def test_one_command_gives_numbers(
    preset: str, said: list[str], stand_ins: Path, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    models = names([preset])
    for model in models:
        build(model, stand_ins)
    with LocalHub(stand_ins).serving() as hub:
        environment = hub.environment(tmp_path / "home")
        started = time.monotonic()
        first, told = score(rows, environment, "--preset", preset)
        took = time.monotonic() - started
        assert [line for line in told if not line.startswith(tuple(said))] == []
        assert len(told) == len(said)
        pickled = [name for name in models if not any((stand_ins / name).glob("*.safetensors*"))]
        first_line, _, said_of = told[0].partition(", reads the pickles of ")
        assert (first_line, sorted(said_of.split(", "))) == (PICKLES, sorted(pickled))
        for metric in ("q2", "scale"):
            assert first["scores"][metric]["n"] == len(ROWS)
            assert 0 <= first["scores"][metric]["value"] <= 1
        loaded = {file.rsplit("/", 1)[0] for file in hub.downloads()
                  if file.endswith((".safetensors", ".bin"))}
        assert loaded == set(models)
        read = [file for file in hub.downloads() if file.endswith((".bin", ".safetensors"))]
        assert len(read) == len(set(read))  # none twice, and no pickle beside safetensors
        assert not [one for one in hub.requests if "discussions" in one or "POST" in one]
    if preset != "modern":  # which has both kinds of files, pickles and safetensors
        return
    # Then all is in the cache: without a network, and no variable set, the same to the last bit.
    started = time.monotonic()
    again, _ = score(rows, environment, "--preset", preset, "--no-cache")
    assert again["scores"] == first["scores"]
    # huggingface_hub would try for half a minute each time.
    assert time.monotonic() - started < took + 20
