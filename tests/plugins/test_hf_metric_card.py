"""The folder that is pushed as a Space: its module, card, cases and page."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

evaluate = pytest.importorskip("evaluate")
CARD = Path(__file__).parents[2] / "hf_metric_card"


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"card_{path.parent.name}_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def spaces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both Spaces as they would be pushed."""
    folder = tmp_path_factory.mktemp("spaces")
    _module(CARD / "scale_space.py").build(folder / "scale")
    (folder / "q2").mkdir()
    for file in CARD.glob("*.*"):
        (folder / "q2" / file.name).write_bytes(file.read_bytes())
    return {name: folder / name for name in ("q2", "scale")}


@pytest.mark.parametrize("name", ["q2", "scale"])
def test_a_space_loads_and_gives_the_scores_of_its_cases(
    name: str, spaces: dict[str, Path]
) -> None:
    metric = evaluate.load(str(spaces[name]))
    assert metric.name == name
    tests = _module(spaces[name] / "tests.py")
    assert tests.is_scale is (name == "scale")
    assert tests.test_cases
    for case in tests.test_cases:
        found = metric.compute(predictions=case["predictions"], references=case["references"])
        for key, value in case["result"].items():
            assert found[key] == pytest.approx(value, abs=tests.TOLERANCE[name]), (case, found)


@pytest.mark.parametrize("name", ["q2", "scale"])
def test_the_front_matter_is_what_the_hub_reads(name: str, spaces: dict[str, Path]) -> None:
    yaml = pytest.importorskip("yaml")
    text = (spaces[name] / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["title"] == {"q2": "Q²", "scale": "SCALE"}[name]
    assert front["sdk"] == "gradio"
    assert (spaces[name] / front["app_file"]).is_file()
    assert {"evaluate", "metric"} <= set(front["tags"])
    assert front["description"].strip()
    for section in ("Metric description", "How to use", "Inputs", "Output values",
                    "Values from popular papers", "Examples", "Limitations and bias", "Citation"):
        assert re.search(rf"^##+ {section}$", text, re.M), section


def test_the_examples_of_the_card_run() -> None:
    import q2_metric.hf.register

    q2_metric.hf.register.register()
    found = doctest.testfile(
        str(CARD / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= 10
    assert found.failed == 0


def test_the_page_answers(tmp_path: Path) -> None:
    pytest.importorskip("gradio")
    from gradio_client import Client

    process = subprocess.Popen(
        [sys.executable, str(CARD / "app.py")], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "GRADIO_SERVER_PORT": "7879", "HF_HUB_OFFLINE": "1"})
    try:
        _wait("http://127.0.0.1:7879/config", process)
        client = Client("http://127.0.0.1:7879", verbose=False)
        found = client.predict(
            "it aired <b>on pbs</b> until 1991 .", "The show aired until 1994 on PBS.", "",
            api_name="/explain")
        q2, _, scale, note, questions, sentences, signature = found
        assert 0 <= float(q2) <= 1
        assert 0 <= float(scale) <= 1
        assert len(questions["data"]) >= 1
        assert len(sentences["data"]) == 1
        assert "<b>" in sentences["data"][0][1]
        assert signature.startswith("q2|preset:bundled|")
        assert note == ""
        with pytest.raises(Exception, match="response is empty"):
            client.predict(" ", "The show.", "", api_name="/explain")
    finally:
        process.kill()
        process.communicate()


def _wait(url: str, process: subprocess.Popen[str]) -> Any:
    for _ in range(240):
        assert process.poll() is None, process.communicate()[0]
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the page did not start")
