"""Models named by a commit: what is loaded, what the signature says, what kept scores are of."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from click.testing import CliRunner
from forking import in_fork

from q2_metric.cli.main import main
from q2_metric.models.hub import names

FIRST, SECOND = "1" * 40, "2" * 40
ROW = {"response": "Rome has seven hills.", "knowledge": "Rome has many hills."}


@pytest.fixture
def hub(
    tmp_path: Path, folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The local cache of the Hub, with two commits of a model, the first as its main branch."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = tmp_path / "hub" / "models--owner--tiny"
    for commit, kind in ((FIRST, "bert/nli"), (SECOND, "roberta/nli")):
        shutil.copytree(folders(kind), model / "snapshots" / commit)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(FIRST)
    (model / "refs" / "v2").write_text(SECOND)
    return tmp_path / "hub"


def score(hub: Path, model: str) -> Any:
    """In a process of its own, which need not import torch again."""
    rows = hub / "rows.jsonl"
    rows.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    said = hub / "said.json"

    def child() -> None:
        done = CliRunner().invoke(main, [
            "score", str(rows), "--metrics", "nli", "--json", "--device", "cpu",
            "-s", f"nli_model={model}", "--cache", str(hub / "cache")])
        said.write_text(done.stderr if done.exit_code else done.stdout, encoding="utf-8")

    in_fork(child)
    told = said.read_text(encoding="utf-8")
    return told if told.startswith("q2: ") else json.loads(told)["files"][0]


def test_a_model_of_the_hub_is_known_by_its_commit(hub: Path) -> None:
    first = score(hub, "owner/tiny")
    assert f"nli:owner/tiny@{FIRST[:8]}|" in first["scores"]["nli"]["signature"]
    again = score(hub, "owner/tiny")
    assert again["scores_from_cache"] == 1
    second = score(hub, "owner/tiny@v2")
    assert second["scores_from_cache"] == 0
    assert f"nli:owner/tiny@{SECOND[:8]}|" in second["scores"]["nli"]["signature"]
    assert second["scores"]["nli"]["value"] != first["scores"]["nli"]["value"]

    (hub / "models--owner--tiny" / "refs" / "main").write_text(SECOND)
    moved = score(hub, "owner/tiny")
    assert moved["scores_from_cache"] == 0
    assert moved["scores"]["nli"] == second["scores"]["nli"]
    assert score(hub, f"owner/tiny@{FIRST}")["scores"]["nli"] == first["scores"]["nli"]


@pytest.mark.parametrize("model", ["owner/none", "owner/tiny@v3", "@v2", "a@b@c"])
def test_what_the_hub_does_not_have_is_one_line(hub: Path, model: str) -> None:
    told = score(hub, model)
    assert told.startswith(f"q2: error: {model}: ")
    assert told.count("\n") == 1


def test_without_a_network_there_is_one_line_in_seconds(tmp_path: Path) -> None:
    """huggingface_hub itself tries for half a minute, and a run asks for each model."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "q2_metric", "score", str(rows), "--preset", "paper", "--no-cache"],
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"},
        capture_output=True, text=True, check=False)
    assert time.monotonic() - started < 20  # 2 s on a quiet machine
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "the Hub cannot be reached" in done.stderr
    assert "'bundled', which needs no network" in done.stderr


def test_a_hub_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody takes the connection: no refusal, no answer."""
    from huggingface_hub import constants
    from huggingface_hub.errors import LocalEntryNotFoundError

    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(
            constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        names._answers.cache_clear()
        monkeypatch.setattr(names, "MOMENT", 0.2)
        started = time.monotonic()
        for name in ("nobody/a", "nobody/b", "nobody/a"):
            with pytest.raises(LocalEntryNotFoundError):
                names.commit(name)
        assert time.monotonic() - started < 5
    names._answers.cache_clear()


def test_a_look_up_of_the_hub_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of host names does not answer, so the resolver asks it again and again."""
    def hangs(*_: object, **__: object) -> None:
        time.sleep(4)
        raise socket.gaierror("Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    monkeypatch.setattr(names, "MOMENT", 0.2)
    started = time.monotonic()
    assert not names._answers.__wrapped__(0)
    assert time.monotonic() - started < 2
