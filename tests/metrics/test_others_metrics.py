"""A metric of somebody else: "package.module:Class", or brought by an installed package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from q2_metric import Example, ModelError, scoring
from q2_metric.cli.main import main
from q2_metric.errors import InputError
from q2_metric.metrics import registry
from q2_metric.metrics.registry import METRICS, check_names
from q2_metric.rows.fields import Layout

ROOT = Path(__file__).resolve().parents[2]
METRIC = '''
from q2_metric import Score


class Length:
    """Counts letters; notes what it was asked about."""

    name = "letters"
    signature = "letters|version:1"

    def score(self, examples):
        for one in examples:
            assert one.response.strip() and "hello" not in one.response, "is not to be asked"
        return [Score(one, min(1.0, len(one.response) / 100)) for one in examples]


class Broken(Length):
    name = "broken"
    signature = "broken|version:1"

    def score(self, examples):
        return {GIVES}


class Needy(Length):
    name = "needy"

    def __init__(self, model):
        pass


class Unsigned(Length):
    name = "unsigned"
    signature = "letters|version:1"


class Taken(Length):
    name = "q2"


class Reserved(Length):
    name = "error"


class Capital(Length):
    name = "Letters"


number = 3
'''
ROWS = [{"id": "a", "response": "Rome has seven hills.", "knowledge": "Rome has seven hills."},
        {"id": "b", "response": "hello there!", "knowledge": "Rome has seven hills."},
        {"id": "c", "response": " ", "knowledge": "Rome has seven hills."}]


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder has the user's module and rows."""
    (tmp_path / "letters_of_a_user.py").write_text(METRIC.replace("{GIVES}", "GIVES"))
    (tmp_path / "broken_of_a_user.py").write_text("import a_package_that_is_not_there")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("letters_of_a_user", "broken_of_a_user"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    before = dict(METRICS)
    yield tmp_path
    METRICS.clear()
    METRICS.update(before)


def q2(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """The command, as it is installed: the current folder is not in its search path."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("q2")), *words], cwd=folder, capture_output=True,
        text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "Q2_NO_REGISTER": "1", **settings})


def test_a_class_of_the_current_folder(own: Path) -> None:
    done = q2(own, "score", "rows.jsonl", "--metrics", "letters_of_a_user:Length,knowledge_f1",
              "--out", "scores.jsonl", "--report", "page.html", "--signature")
    assert done.returncode == 0, done.stderr
    assert "letters|version:1" in done.stdout
    rows = [json.loads(line) for line in (own / "scores.jsonl").read_text().splitlines()]
    assert [(row["letters"], row["reason"]) for row in rows] == [
        (0.21, None), (None, "no_claim"), (None, "empty")]
    # Another process does not know the metric, and shows its scores.
    done = q2(own, "report", "scores.jsonl", "--out", "later.html")
    assert done.returncode == 0, done.stderr
    assert "letters" in (own / "later.html").read_text()


@pytest.mark.parametrize(("where", "words"), [
    ("letters_of_a_user:Width", "module 'letters_of_a_user' has no attribute 'Width'"),
    ("letters_of_a_user:number", "is not a class with a name, a signature and a method score"),
    ("letters_of_a_user:Taken", "has the name 'q2', which belongs to the metric "
                                "q2_metric.metrics.q2:Q2"),
    ("letters_of_a_user:Reserved", "the name 'error' already belongs to a column of outputs"),
    ("letters_of_a_user:Capital", "a name may contain only small letters, digits and _"),
    ("nobody.knows:This", "This cannot be imported: ModuleNotFoundError: No module named"),
    ("broken_of_a_user:This", "No module named 'a_package_that_is_not_there'"),
    ("letters_of_a_user:", "is not of the form package.module:Class"),
    (":Length", "is not of the form package.module:Class"),
    ("C:\\metrics.py:Length", "is not of the form package.module:Class"),
])
def test_what_is_no_metric_is_said(where: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        check_names(f"knowledge_f1,{where}")
    assert words in str(caught.value)
    done = CliRunner().invoke(main, ["score", "rows.jsonl", "--metrics", where])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


@pytest.mark.parametrize(("name", "words"), [
    ("Needy", "cannot be called without arguments: .*'model'"),
    ("Unsigned", "has the signature 'letters|version:1'; .* begins with 'unsigned'"),
])
def test_what_cannot_be_made_is_said(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        scoring.load(f"letters_of_a_user:{name}", {})


@pytest.mark.parametrize(("gives", "words"), [
    ("[]", "broken returned 0 scores for 1 responses"),
    ("None", "broken returned null for 1 responses"),
    ("[0.5] * len(examples)", "broken returned a number, not a Score"),
    ("[Score(one, 'high') for one in examples]", "whose value is a string, not a number"),
])
def test_what_is_no_score_is_said(gives: str, words: str, own: Path) -> None:
    (own / "letters_of_a_user.py").write_text(METRIC.replace("{GIVES}", gives))
    (metric,) = scoring.load("letters_of_a_user:Broken", {})
    with pytest.raises(ModelError, match=words):
        scoring.score([metric], [Example("Rome has seven hills.", "Rome has seven hills.")])


def test_numbers_of_other_libraries_become_plain(own: Path) -> None:
    gives = "[Score(one, __import__('numpy').float32(0.5)) for one in examples]"
    (own / "letters_of_a_user.py").write_text(METRIC.replace("{GIVES}", gives))
    run = scoring.ScoredRows.over(scoring.load("letters_of_a_user:Broken", {}),
                                  [Example("Rome has seven hills.", "Rome has seven hills.")])
    assert type(run.column("broken")[0]) is float


def test_our_own_class_by_its_path_is_the_metric_itself() -> None:
    assert check_names("q2_metric.metrics.scale:Scale,scale") == ["scale"]


def test_a_job_takes_a_strangers_metric_to_another_process(own: Path) -> None:
    from q2_metric.engine.job import Job
    from q2_metric.rows.columns import Columns

    (name,) = check_names("letters_of_a_user:Length")
    job = Job(("rows.jsonl",), Columns(), (name,))
    del METRICS[name]
    assert job.load().signatures == {"letters": "letters|version:1"}


def test_names_of_outputs_are_kept_for_them() -> None:
    every = tuple(METRICS)
    plain = {field.name for field in Layout(
        every, with_file=True, texts=True, selected=True).fields} - set(registry.columns())
    assert plain <= registry.RESERVED
    assert set(scoring.share_names(every)) <= registry.RESERVED


# --- an installed package -------------------------------------------------------------------

PACKAGE = {
    "pyproject.toml": '''
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "letters-for-q2"
version = "1.0"

[project.entry-points."q2_metric.metrics"]
letters = "letters_for_q2:ENTRY"
plain = "letters_for_q2:Plain"
gone = "letters_for_q2:Gone"

[tool.setuptools]
py-modules = ["letters_for_q2"]
''',
    "letters_for_q2.py": '''
from dataclasses import dataclass

from q2_metric.metrics.entry import Entry
from q2_metric.metrics.settings import settings_and_runtime
from q2_metric.metrics.signature import signature
from q2_metric.types import Score


@dataclass(frozen=True)
class Settings:
    longest: int = 100


class Letters:
    name = "letters"

    def __init__(self, settings=None):
        self.settings = settings or Settings()
        self.signature = signature(self.name, {"longest": self.settings.longest})

    @classmethod
    def from_preset(cls, preset="bundled", **keywords):
        return cls(settings_and_runtime(Settings, keywords)[0])

    def score(self, examples):
        return [Score(one, len(one.response) / self.settings.longest) for one in examples]


class Plain:
    name = "plain"
    signature = "plain|version:1"

    def score(self, examples):
        return [Score(one, 1.0) for one in examples]


ENTRY = Entry("letters", "Letters", "letters_for_q2:Letters", settings="letters_for_q2:Settings",
              gloss="letters of the response; 1 is the longest")
''',
}
SHELLS = '''
import json, sys
import letters_for_q2  # before q2_metric has looked for metrics
found = {}
from q2_metric import Example, scoring
run = scoring.ScoredRows.over(scoring.load("letters,plain", {"longest": 42}), [
    Example("Rome has seven hills.", "Rome has seven hills."), Example("", "Rome has hills.")])
found["scoring"] = run.system()["letters"]
try:
    from q2_metric.integrations.evaluate import Q2
    found["evaluate"] = Q2().compute(
        predictions=["Rome has seven hills.", ""], references=["Rome has seven hills."] * 2,
        metrics="letters", longest=42)["letters"]
except ImportError:
    pass
try:
    from q2_metric.integrations.trainer import Q2ComputeMetrics
    class Tokenizer:
        pad_token_id = 0
        def batch_decode(self, ids, **_):
            return ["Rome has seven hills." if row[0] else "" for row in ids]
    import numpy as np
    from types import SimpleNamespace
    ids = np.array([[1], [0]])
    found["trainer"] = Q2ComputeMetrics(
        Tokenizer(), ["Rome has seven hills."] * 2, metrics=("letters",), longest=42,
    )(SimpleNamespace(predictions=ids, label_ids=ids))["letters"]
except ImportError:
    pass
try:
    from parlai_plugin.scores import names
    found["parlai"] = 0.25 if names(["letters"])["letters"] == "letters" else None
except ImportError:
    pass
from q2_metric.integrations.lm_eval import tables
found["lm_eval"] = 0.25 if "letters" in [line["metric"] for line in tables.GROUP] else None
print(json.dumps(found))
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package is installed into."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    for name, text in PACKAGE.items():
        (source / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation",
         "--no-index", "--disable-pip-version-check", "--target", str(target), str(source)],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.slow
def test_an_installed_metric_is_in_the_command(own: Path, installed: Path) -> None:
    settings = {"PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
    shown = q2(own, "presets", "--settings", **settings)
    assert "longest" in shown.stdout
    assert "letters" in q2(own, "score", "--help", **settings).stdout
    said = "the metric 'gone' of the package letters-for-q2 is left out: the metric " \
           "letters_for_q2:Gone cannot be imported: AttributeError: module 'letters_for_q2' " \
           "has no attribute 'Gone'"
    assert said in shown.stderr
    done = q2(own, "score", "rows.jsonl", "--metrics", "letters", "-s", "longest=42",
              "--out", "scores.csv", "--report", "page.html", **settings)
    assert done.returncode == 0, done.stderr
    assert "letters of the response" in done.stdout + (own / "page.html").read_text()
    first, *rest = (own / "scores.csv").read_text().splitlines()[1:]
    assert "0.5" in first
    assert ["no_claim" in row or "empty" in row for row in rest] == [True, True]


@pytest.mark.plugins
def test_an_installed_metric_is_in_every_shell(own: Path, installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHELLS], cwd=own, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{ROOT}", "Q2_NO_REGISTER": "1"})
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert set(found.values()) == {0.25}
    packages = {"evaluate": "evaluate", "trainer": "transformers", "parlai": "parlai"}
    assert set(found) == {"scoring", "lm_eval", *(
        shell for shell, package in packages.items() if find_spec(package))}
