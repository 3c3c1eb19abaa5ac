"""The rooms of docs/architecture.md: imports point one way, files and functions stay short."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHELLS = ("parlai_plugin", "parlai_internal", "hf_metric_card")
BESIDE = ("tools",)
# From the ground up; of those on one line, no two import each other.
ORDER = [
    {"types", "errors", "_version", "runtime_config", "files", "forks",
     "memory", "processors", "registration"},
    {"text"},
    {"models"},
    {"english"},
    {"metrics"},
    {"rows", "data"},
    {"scoring"},
    {"engine", "report", "evaluation", "knowledge", "testing"},
    {"serve"},
    {"cli", "integrations"},
]
# Beside models/: what trains an encoder (torch is its subject), and another package's own model.
WITH_MODELS = {"q2_metric/metrics/bertscore.py", *(
    f"q2_metric/knowledge/{name}.py"
    for name in ("detection", "encoder", "respond", "rss", "training")
)}
MODEL_LIBRARIES = {"spacy", "thinc", "onnxruntime", "torch", "transformers", "tokenizers"}


def paths(*folders: str) -> list[str]:
    """The modules in the folders."""
    return [str(path.relative_to(ROOT)) for folder in folders
            for path in sorted((ROOT / folder).rglob("*.py"))]


PACKAGE = paths("q2_metric")
ALL = [*PACKAGE, *paths(*SHELLS, *BESIDE)]


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


MODULES = {module(path) for path in ALL}


@cache
def imports(path: str) -> list[str]:
    """What a file imports, also within functions, but not for types alone."""
    return list(_imports(path, parsed(path)))


def _imports(path: str, tree: ast.Module) -> Iterator[str]:
    for_types = {
        id(inner) for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by dots"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else str(node.module)


def room(name: str) -> str:
    """Of a module of the package: its folder, or itself."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "q2_metric"


def level(name: str) -> int:
    return next((i for i, rooms in enumerate(ORDER) if name in rooms), len(ORDER))


def test_every_room_has_its_place() -> None:
    found = {room(module(path)) for path in PACKAGE} - {"q2_metric", "__main__"}
    assert found == set().union(*ORDER)


def test_imports_point_one_way() -> None:
    wrong = [
        f"{path} imports {name}"
        for path in PACKAGE
        for name in imports(path)
        if name.startswith("q2_metric.") and room(name) != room(module(path))
        and level(room(name)) > level(room(module(path)))
    ]
    assert wrong == []


def test_no_two_rooms_import_each_other() -> None:
    pairs = {
        (room(module(path)), room(name))
        for path in PACKAGE
        for name in imports(path)
        if name.startswith("q2_metric.")
    }
    assert sorted((a, b) for a, b in pairs if a < b and (b, a) in pairs) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Counting imports within functions; a package's own ``__init__`` is part of it."""
    graph = {
        module(path): {name for name in imports(path) if name in MODULES}
        for path in ALL
    }
    open_, done = set[str](), set[str]()

    def visit(name: str, way: list[str]) -> None:
        assert name not in open_, " -> ".join([*way[way.index(name):], name])
        if name in done:
            return
        open_.add(name)
        for other in sorted(graph[name] - {name}):
            visit(other, [*way, name])
        open_.remove(name)
        done.add(name)

    for name in sorted(graph):
        visit(name, [])


def test_the_package_imports_no_shell_and_nothing_beside_it() -> None:
    outside = {*SHELLS, *BESIDE, "tests"}
    wrong = [f"{path} imports {name}" for path in PACKAGE
             for name in imports(path)
             if name.split(".")[0] in outside
             or (room(name) == "integrations" != room(module(path)))]
    assert wrong == []


def test_only_models_import_model_libraries() -> None:
    wrong = [f"{path} imports {name}" for path in PACKAGE
             for name in imports(path)
             if name.split(".")[0] in MODEL_LIBRARIES
             and room(module(path)) not in ("english", "models", "integrations")
             and path not in WITH_MODELS]
    assert wrong == []


def test_functions_are_short() -> None:
    """Without their decorators: a command's options are declarations."""
    found = {
        f"{path}: {node.name}": node.end_lineno - node.lineno + 1
        for path in ALL
        for node in ast.walk(parsed(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno
    }
    assert {name: n for name, n in found.items() if n > 60} == {}


def test_no_two_classes_have_one_name() -> None:
    """``evaluate`` names a module by its class, so its modules are named as the metrics are."""
    classes: dict[str, list[str]] = {}
    for path in ALL:
        if path != "q2_metric/integrations/evaluate/__init__.py":
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.ClassDef):
                    classes.setdefault(node.name, []).append(path)
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}


def test_files_are_the_same_on_every_system() -> None:
    """Texts are UTF-8, and their lines end with a line feed, also on Windows."""
    assert [f"{path}:{node.lineno}" for path in paths("q2_metric", *SHELLS[:2])
            for node in ast.walk(parsed(path))
            if isinstance(node, ast.Call) and not _portable(node)] == []


def _portable(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    named = {keyword.arg for keyword in call.keywords}
    if name in ("read_text", "write_text"):
        ours = isinstance(function, ast.Name)  # q2_metric.files
        given = "encoding" in named or len(call.args) > (name == "write_text")
        return ours or (given and (name == "read_text" or "newline" in named))
    if name not in ("open", "NamedTemporaryFile", "TemporaryFile"):
        return True
    mode = next((str(one.value) for one in call.args
                 if isinstance(one, ast.Constant) and _MODE.fullmatch(str(one.value))), "r")
    module = function.value.id if isinstance(function, ast.Attribute) and isinstance(
        function.value, ast.Name) else ""
    if "b" in mode or module == "os" or (isinstance(function, ast.Attribute) and not module):
        return True
    if "encoding" not in named and module in ("", "tempfile"):
        return False
    # A temporary file that is read back by the same process keeps its line ends to itself.
    return mode == "r" or name == "TemporaryFile" or "newline" in named or module not in (
        "", "tempfile")


_MODE = re.compile("[rwax][bt+]*")
