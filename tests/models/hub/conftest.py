"""Tiny models of each architecture, made and loaded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from local_models import bart, encoder, t5

if TYPE_CHECKING:
    from q2_metric.models.hub.loading import LoadedModel


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folders of saved models by name, made at first use."""
    from hub_models import NLI, QA, THREE

    root = tmp_path_factory.mktemp("models")
    made: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in made:
            kind, _, task = name.partition("/")
            if kind == "t5":
                made[name] = t5(root / name, tied=task == "tied", marks=["<hl>"])
            elif kind == "bart":
                made[name] = bart(root / name)
            elif task == "qa":
                made[name] = encoder(root / name, kind, QA)
            else:
                made[name] = encoder(root / name, kind, NLI, id2label=THREE)
        return made[name]

    return build


@pytest.fixture(scope="session")
def loaded(folders: Callable[[str], Path]) -> Callable[[str], LoadedModel]:
    """Loaded models by name."""
    from hub_models import NLI, QA

    from q2_metric.models.hub.loading import load_pretrained

    made: dict[str, LoadedModel] = {}

    def load(name: str) -> LoadedModel:
        if name not in made:
            auto: Any = {"qa": QA, "nli": NLI}.get(name.split("/")[1], "AutoModelForSeq2SeqLM")
            made[name] = load_pretrained(auto, str(folders(name)), "cpu")
        return made[name]

    return load
