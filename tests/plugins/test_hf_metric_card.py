"""The folder that is pushed as a Space: its module, card, cases and page."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from browsers import chromium

from q2_metric.registration import NAMES

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
    """The Spaces as they would be pushed."""
    folder = tmp_path_factory.mktemp("spaces")
    for name in NAMES:
        _module(CARD / "space.py").build(name, folder / name)
    return {name: folder / name for name in NAMES}


def test_the_script_in_the_folder_is_the_packages() -> None:
    import q2_metric

    assert (CARD / "q2.py").read_bytes() == Path(q2_metric.path("q2"), "q2.py").read_bytes()


def test_the_requirements_install_the_wheel_beside_them(tmp_path: Path) -> None:
    """A wheel with nothing but its name: pip reads what it would install."""
    wheel = tmp_path / "q2_metric-0.1.0-py3-none-any.whl"
    info = "q2_metric-0.1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: q2-metric\n"
                      "Version: 0.1.0\nProvides-Extra: evaluate\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    _module(CARD / "space.py").build("q2", tmp_path / "space", wheel)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps",
         "--ignore-installed", "-r", "requirements.txt"],
        cwd=tmp_path / "space", capture_output=True, text=True)
    assert "Would install q2-metric-0.1.0" in done.stdout, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_space_loads_and_gives_the_scores_of_its_cases(
    name: str, spaces: dict[str, Path]
) -> None:
    metric = evaluate.load(str(spaces[name]))
    assert metric.name == name
    tests = _module(spaces[name] / "tests.py")
    assert tests.name == name
    assert tests.test_cases
    for case in tests.test_cases:
        found = metric.compute(predictions=case["predictions"], references=case["references"])
        for key, value in case["result"].items():
            assert found[key] == pytest.approx(value, abs=tests.TOLERANCE[name]), (case, found)


@pytest.mark.parametrize("name", NAMES)
def test_the_front_matter_is_what_the_hub_reads(name: str, spaces: dict[str, Path]) -> None:
    yaml = pytest.importorskip("yaml")
    text = (spaces[name] / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["title"] == _module(CARD / "space.py").TITLES[name]
    assert front["sdk"] == "gradio"
    assert front["python_version"] == "3.11"
    assert (spaces[name] / front["app_file"]).is_file()
    assert {"evaluate", "metric"} <= set(front["tags"])
    assert front["description"].strip()
    for section in ("Metric description", "How to use", "Inputs", "Output values",
                    "Values from popular papers", "Examples", "Limitations and bias", "Citation"):
        assert re.search(rf"^##+ {section}$", text, re.M), section


def test_the_examples_of_the_card_run() -> None:
    import q2_metric.registration

    q2_metric.registration.register()
    found = doctest.testfile(
        str(CARD / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= 10
    assert found.failed == 0


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app, running as a user runs it."""
    pytest.importorskip("gradio")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(CARD / "app.py")], cwd=tmp_path_factory.mktemp("app"), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "GRADIO_SERVER_PORT": str(port), "HF_HUB_OFFLINE": "1"})
    try:
        _wait(f"http://127.0.0.1:{port}/config", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


RESPONSE = "it aired <b>on pbs</b> until 1991 ."
KNOWLEDGE = "The show aired until 1994 on PBS."


def test_the_page_answers(app: str) -> None:
    from gradio_client import Client

    client = Client(app, verbose=False)
    shown = client.predict(RESPONSE, KNOWLEDGE, "", api_name="/explain")
    assert "It aired on PBS until 1991." in unescape(shown)
    assert "<b>" not in shown
    assert shown.count("<") == 2  # the frame; its page is an attribute
    for texts, message in (
        ((" ", KNOWLEDGE, ""), "“answer” is empty"),
        (("r", "k" * 200_001, ""), "at most 200,000"),
    ):
        with pytest.raises(Exception, match=message):
            client.predict(*texts, api_name="/explain")


@pytest.mark.browser
def test_the_page_shows_the_explanation_and_asks_nobody_else(app: str) -> None:
    with chromium() as browser:
        page = browser.new_page()
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(app)
        frame = page.frame_locator("iframe[title=Explanation]")
        page.get_by_role("button", name="Score").click(timeout=240_000)
        page.get_by_text("The field “answer” is empty.").wait_for(timeout=240_000)
        page.get_by_label("Answer").fill(RESPONSE)
        page.get_by_label("Sources").fill(KNOWLEDGE)
        page.get_by_role("button", name="Score").click()
        frame.locator(".sentences").first.wait_for(timeout=240_000)
        assert "It aired on PBS until 1991." in frame.locator(".sentences").first.inner_text()
        assert "<b>on pbs" in frame.locator(".response").inner_text()  # a text, no markup
        assert "groundedness|preset:bundled" in frame.locator(".signatures").text_content()
        assert wrong == []
        assert [url for url in asked if not url.startswith((app, "data:", "about:"))] == []


def _wait(url: str, process: subprocess.Popen[str]) -> Any:
    for _ in range(1200):
        assert process.poll() is None, process.communicate()[0]
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the page did not start")
