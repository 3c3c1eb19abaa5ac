"""Marks by folder, and caches of Hugging Face libraries in a folder of the run.

The environment is set before anything imports those libraries. A file whose mark is deselected
(``-m "not slow"``) is not even opened: importing torch, Ray or ParlAI costs more than many tests.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test depends on how quick the machine is.
settings.register_profile("q2", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("q2")

_CACHE = tempfile.mkdtemp(prefix="q2-tests-")
os.environ["HF_MODULES_CACHE"] = os.path.join(_CACHE, "modules")
os.environ["HF_METRICS_CACHE"] = os.path.join(_CACHE, "metrics")
os.environ["HF_EVALUATE_OFFLINE"] = "1"  # no waiting for a hub that is not there
os.environ["Q2_NO_CACHE"] = "1"  # fakes share names and signatures; --cache FILE still works
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # TRL too
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["WANDB_ERROR_REPORTING"] = "false"
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Networks of a few hundred weights: threads only get into each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

SLOWEST = 25
TESTS = Path(__file__).parent
MARKED = {
    "slow": (
        "cli/test_beside_a_users_files.py",
        "docs/test_contributing.py",
        "engine/test_killed.py",
        "engine/test_ray*.py",
        "evaluation/test_agreement.py",
        "fuzz/*",
        "gaming/*",
        "knowledge/test_knowledge_bundled.py",
        "knowledge/test_knowledge_training.py",
        "metrics/test_authors_q2.py",
        "metrics/test_reference_q2.py",
        "metrics/test_scale_score.py",
        "metrics/test_streaming.py",
        "models/bundled/test_any_text.py",
        "models/bundled/test_bundled_torch.py",
        "models/bundled/test_eight_bits.py",
        "models/test_forks.py",
        "models/hub/*",
        "serve/test_on_ray.py",
        "training/*",
    ),
    "browser": ("report/test_report_browser.py",),
    "plugins": ("plugins/*",),
}
"""Whole files, by what they need; single tests carry their mark themselves."""


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for stand-ins of the published models (``published_models.build``), shared."""
    return tmp_path_factory.mktemp("published")


def marks(path: Path) -> set[str]:
    """The marks of a whole file."""
    name = path.relative_to(TESTS).as_posix()
    return {mark for mark, files in MARKED.items() if any(fnmatch(name, file) for file in files)}


def pytest_configure(config: pytest.Config) -> None:
    if "slow" in _deselected(config):  # the rest has its models in the package, or none
        from q2_metric.english.parse import parser

        os.environ["HF_HUB_OFFLINE"] = "1"
        parser.LIGHT = True  # as on the command line: spaCy without torch


def _deselected(config: pytest.Config) -> set[str]:
    return set(re.findall(r"not (\w+)", config.getoption("markexpr") or ""))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.suffix == ".py" and _deselected(config) & marks(collection_path):
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        opens_pages = {"browser"} & {*getattr(item, "fixturenames", ())}
        for mark in marks(item.path) | opens_pages:
            item.add_marker(mark)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files that take longest: each is the work of one process of ``make test``."""
    took: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took[report.nodeid.partition("::")[0]] += report.duration
    if len(took) > SLOWEST:
        terminalreporter.section(f"slowest {SLOWEST} files, of {sum(took.values()):.0f} s in all")
        for file, seconds in took.most_common(SLOWEST):
            terminalreporter.write_line(f"{seconds:7.1f} s  {file}")


@pytest.fixture(autouse=True, scope="module")
def _frozen_heap() -> None:
    """Each collection of garbage would look through all that the files before it imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _sigterm_as_it_was() -> Iterator[None]:
    """Ray leaves a handler of SIGTERM in Python. A forked child that waits for a lock may never run
    it, and then the pool of a later test never ends."""
    yield
    if "ray" in sys.modules:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
